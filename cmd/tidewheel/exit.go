package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tidewheel/tidewheel/client"
)

// The exit statuses, as `tidewheel help` lists them.
const (
	exitDone        = 0
	exitFailed      = 1 // what was asked about failed, or something broke
	exitRefused     = 2 // bad usage, or input that was refused
	exitUnreachable = 3 // no server answered
	exitInterrupted = 130
)

// usageError is a mistake in the command that the user typed.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// outcomeError reports that the command worked, and that what it was asked about has failed. Its text may be empty where
// the output has said it all.
type outcomeError struct{ text string }

func (e *outcomeError) Error() string { return e.text }

// refusedError is an outcomeError for input that was refused.
type refusedError struct{ text string }

func (e *refusedError) Error() string { return e.text }

// exitStatus maps an error to the status that scripts see. It is the only place that does.
func exitStatus(err error) int {
	var (
		misuse  *usageError
		outcome *outcomeError
		refused *refusedError
		answer  *client.APIError
	)
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &misuse), errors.As(err, &refused):
		return exitRefused
	case errors.As(err, &outcome):
		return exitFailed
	case errors.As(err, &answer):
		if answer.Status >= 400 && answer.Status < 500 {
			return exitRefused
		}
		return exitFailed
	case errors.Is(err, client.ErrUnreachable):
		return exitUnreachable
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitFailed
}

// explainError returns an error as a person at a terminal reads it: the reason in a line, and a line for each further
// fault of a refused input.
func explainError(err error) string {
	var answer *client.APIError
	if errors.As(err, &answer) {
		text := answer.Detail
		if text == "" {
			text = answer.Error()
		}
		for _, fault := range answer.Errors {
			if fault.Message == "" || (len(answer.Errors) == 1 && strings.Contains(text, fault.Message)) {
				continue
			}
			text += "\n  " + fieldPlace(fault) + fault.Message
		}
		return text
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}
