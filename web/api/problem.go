package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
)

// ProblemType is the media type of problems.
const ProblemType = "application/problem+json"

// StatusClientGone is logged when the client has disconnected. It is nginx's code, and never sent.
const StatusClientGone = 499

// Problem is an answer that is not a success.
type Problem struct {
	wire.Problem
	// Header goes with the answer; NewProblem makes it.
	Header http.Header `json:"-"`
}

// GetHeaders returns Header, for huma.
func (p *Problem) GetHeaders() http.Header { return p.Header }

// RetryAfter says in the header when it makes sense to try again; 0 says nothing.
func (p *Problem) RetryAfter(wait time.Duration) *Problem {
	if wait > 0 {
		p.Header.Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
	return p
}

// Error returns the detail.
func (p *Problem) Error() string { return p.Detail }

// GetStatus returns the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType returns the media type of a problem.
func (p *Problem) ContentType(string) string { return ProblemType }

// NewProblem makes a problem.
func NewProblem(status int, code, detail string, fields ...wire.FieldError) *Problem {
	return &Problem{Header: http.Header{}, Problem: wire.Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: detail, Errors: fields,
	}}
}

// Huma's own errors take the form of all others. Its hook is a variable of its package; every huma API in this
// process is ours.
func init() {
	huma.DefaultArrayNullable = false
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return requestProblem(status, message, errs)
	}
}

// requestProblem reports what huma found wrong with a request.
func requestProblem(status int, message string, errs []error) *Problem {
	var fields []wire.FieldError
	for _, err := range errs {
		var known *huma.ErrorDetail
		var problem *Problem
		switch {
		case err == nil:
		case errors.As(err, &problem):
			return problem
		case errors.As(err, &known) && known.Location == "body" && status == http.StatusBadRequest:
			fields = append(fields, wire.FieldError{Location: "body", Message: "the body is not JSON: " + known.Message})
		case errors.As(err, &known):
			fields = append(fields, wire.FieldError{Location: known.Location, Message: known.Message})
		default:
			fields = append(fields, wire.FieldError{Location: "body", Message: err.Error()})
		}
	}
	code := "invalid_request"
	switch status {
	case http.StatusRequestEntityTooLarge:
		code = "body_too_large"
	case http.StatusRequestTimeout:
		code = "request_timeout"
	case http.StatusUnsupportedMediaType:
		code = "unsupported_media_type"
	}
	if len(fields) > 0 {
		message = fields[0].Message
		if fields[0].Location != "body" {
			message = fields[0].Location + ": " + message
		}
		if len(fields) > 1 {
			message = fmt.Sprintf("the request has %d faults; the first: %s", len(fields), message)
		}
	}
	return NewProblem(status, code, message, fields...)
}

// statuses is the one mapping from what users did to HTTP.
var statuses = map[service.Kind]int{
	service.KindInvalid:     http.StatusUnprocessableEntity,
	service.KindForbidden:   http.StatusForbidden,
	service.KindNotFound:    http.StatusNotFound,
	service.KindExists:      http.StatusConflict,
	service.KindConflict:    http.StatusConflict,
	service.KindFenced:      http.StatusPreconditionFailed,
	service.KindTooLarge:    http.StatusRequestEntityTooLarge,
	service.KindUnavailable: http.StatusServiceUnavailable,
	service.KindBusy:        http.StatusTooManyRequests,
}

// ProblemOf returns an error of the service as a problem; false for errors that the client did not cause.
func ProblemOf(err error) (*Problem, bool) {
	var problem *Problem
	if errors.As(err, &problem) {
		return problem, true
	}
	var known *service.Error
	if errors.As(err, &known) {
		status, ok := statuses[known.Kind]
		if !ok {
			return nil, false
		}
		var fields []wire.FieldError
		for _, f := range known.Fields {
			fields = append(fields, wire.FieldError{Location: f.Location, Message: f.Message, File: f.File, Line: f.Line, Column: f.Column})
		}
		return NewProblem(status, known.Code, known.Detail, fields...).RetryAfter(known.RetryAfter), true
	}
	var throttled *access.ThrottledError
	if errors.As(err, &throttled) {
		return NewProblem(http.StatusTooManyRequests, "too_many_logins", throttled.Error()).RetryAfter(throttled.After), true
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return NewProblem(http.StatusRequestEntityTooLarge, "body_too_large", tooLarge(large.Limit)), true
	}
	if errors.Is(err, engine.ErrCursor) {
		return invalid("invalid_cursor", "query.cursor", "%s", engine.ErrCursor), true
	}
	return nil, false
}

func invalid(code, location, format string, args ...any) *Problem {
	message := fmt.Sprintf(format, args...)
	return NewProblem(http.StatusUnprocessableEntity, code, message, wire.FieldError{Location: location, Message: message})
}

// answerTo turns the error of a handler into a problem. It logs an error that the client did not cause, with the id that
// the answer names; the answer does not show its details.
func (a *API) answerTo(ctx context.Context, err error) *Problem {
	if problem, ok := ProblemOf(err); ok {
		return problem
	}
	if ctx.Err() != nil {
		return NewProblem(StatusClientGone, "client_gone", "the request was given up")
	}
	id := a.config.RequestID(ctx)
	a.config.Log.Error("a request failed", "request_id", id, "error", err)

	// If a part is gone, that is the answer, and trying again will help.
	look, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if problem, ok := ProblemOf(a.service.Ready(look)); ok {
		problem.RequestID = id
		return problem
	}
	problem := NewProblem(http.StatusInternalServerError, "internal_error",
		"something went wrong inside the server; its log says more under this request_id")
	problem.RequestID = id
	return problem
}
