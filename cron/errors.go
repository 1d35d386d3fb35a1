package cron

import (
	"fmt"
	"strings"
)

// Error is one fault in a definition.
type Error struct {
	// Field says where, in the words of a job document: "schedule[1]",
	// "timezone", "active.until", "exclude[0].from".
	Field string
	// Message reports what is wrong and what to do about it.
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Field + ": " + e.Message }

// Errors is what [Compile] returns for a definition with faults: all of them,
// in the order of the fields. It is never empty.
type Errors []*Error

// Error implements error, one line a fault.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, fault := range e {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the single faults.
func (e Errors) Unwrap() []error {
	wrapped := make([]error, len(e))
	for i, fault := range e {
		wrapped[i] = fault
	}
	return wrapped
}

func (e *Errors) add(field, format string, args ...any) {
	*e = append(*e, &Error{Field: field, Message: fmt.Sprintf(format, args...)})
}
