package service

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Kind is what sort of error a user meets; web maps it to an HTTP status, in one place.
type Kind string

// The kinds.
const (
	KindInvalid     Kind = "invalid"     // what was sent is wrong: say what and where
	KindForbidden   Kind = "forbidden"   // who asks may not do it
	KindNotFound    Kind = "not_found"   // what it is about is not there
	KindExists      Kind = "exists"      // the name is taken
	KindConflict    Kind = "conflict"    // another request changed it in between, or its state does not allow it
	KindFenced      Kind = "fenced"      // a later attempt has replaced the caller: stop
	KindTooLarge    Kind = "too_large"   // over a limit
	KindUnavailable Kind = "unavailable" // a part is not reachable: try again
	KindBusy        Kind = "busy"        // there is too much of it already: try again later
)

// Error is an error that a user can act on.
type Error struct {
	Kind   Kind
	Code   string // stable, snake_case: programs may look at it
	Detail string // for people: what is wrong and what to do
	Fields []Field
	Err    error // what it wraps, may be nil
	// RetryAfter is when it makes sense to try again; 0 where that is not known.
	RetryAfter time.Duration
}

// Field is one faulty field.
type Field struct {
	Location string // "body.schedule[1]"
	Message  string
	// Where it stands in a file, as far as that is known; lines and columns count from 1.
	File         string
	Line, Column int
}

// place is "file:line:column: ", as far as they are known.
func (f Field) place() string {
	switch {
	case f.Line == 0:
		return ""
	case f.File == "":
		return fmt.Sprintf("line %d, column %d: ", f.Line, f.Column)
	}
	return fmt.Sprintf("%s:%d:%d: ", f.File, f.Line, f.Column)
}

// fieldOf returns a problem of a definition as a faulty field.
func fieldOf(p spec.Problem) Field {
	location := "body"
	if p.Path != "" {
		location += "." + p.Path
	}
	return Field{Location: location, Message: p.Message, File: p.File, Line: p.Line, Column: p.Column}
}

func (e *Error) Error() string { return e.Detail }
func (e *Error) Unwrap() error { return e.Err }

// invalid turns the problems of a definition into an error.
func invalid(problems spec.Problems) *Error {
	e := &Error{Kind: KindInvalid, Code: "invalid_definition", Err: problems}
	for _, p := range problems {
		e.Fields = append(e.Fields, fieldOf(p))
	}
	switch len(problems) {
	case 1:
		e.Detail = problems[0].Error()
	default:
		e.Detail = fmt.Sprintf("the definition has %d problems; the first: %s", len(problems), problems[0].Error())
	}
	return e
}

func field(code, location, format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	return &Error{Kind: KindInvalid, Code: code, Detail: message, Fields: []Field{{Location: location, Message: message}}}
}

func conflict(code, format string, args ...any) *Error {
	return &Error{Kind: KindConflict, Code: code, Detail: fmt.Sprintf(format, args...)}
}

// briefLimit is how long a reason may be that is shown as it is, in bytes.
const briefLimit = 120

// brief returns the reason of a fault for a user who cannot mend it: what an adapter has as Brief, else a short text as
// it is, else its innermost cause.
func brief(err error) string {
	var known interface{ Brief() string }
	if errors.As(err, &known) {
		return known.Brief()
	}
	text := err.Error()
	for len(text) > briefLimit {
		if err = inner(err); err == nil {
			return strings.ToValidUTF8(text[:briefLimit], "") + "…"
		}
		text = err.Error()
	}
	return text
}

// inner returns what an error wraps, nil if nothing; of several the last: what was wrapped comes after what it is classed as.
func inner(err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok && len(many.Unwrap()) > 0 {
		return many.Unwrap()[len(many.Unwrap())-1]
	}
	return errors.Unwrap(err)
}

// explain puts a store's answer into words about the thing it concerns; other errors pass unchanged.
func explain(err error, what, name string) error {
	code := strings.ToLower(strings.ReplaceAll(what, " ", "_"))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, engine.ErrNotFound):
		return &Error{Kind: KindNotFound, Code: code + "_not_found", Detail: fmt.Sprintf("there is no %s %q", what, name), Err: err}
	case errors.Is(err, engine.ErrExists):
		return &Error{Kind: KindExists, Code: code + "_exists", Detail: fmt.Sprintf("there is a %s %q already", what, name), Err: err}
	case errors.Is(err, engine.ErrConflict):
		return &Error{Kind: KindConflict, Code: code + "_changed", Detail: fmt.Sprintf("%s %q was changed by another user: read it again and retry", what, name), Err: err}
	}
	return err
}
