package spec

import (
	"errors"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/cron"
)

// The checks need some anchor; whether a schedule is sound does not depend on
// it, except that a schedule which ended before it never fires.
var anyAnchor = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// schedule lets package cron judge all that says when a job runs: what passes
// here is what the engine steps through later.
func (v *validator) schedule(j *Job) {
	definition := j.Definition(j.Name, anyAnchor)
	v.oneSchedule(j, &definition)
	_, err := cron.Compile(definition)
	for _, fault := range cronFaults(err) {
		v.problems = append(v.problems, Problem{Path: fault.Field, Message: sentence(fault)})
	}
}

// oneSchedule refuses all kinds of schedule but the first, and continues with that.
func (v *validator) oneSchedule(j *Job, definition *cron.Definition) {
	first := ""
	for _, field := range []struct {
		name  string
		given bool
		clear func()
	}{
		{"schedule", len(j.Schedule) > 0, func() { definition.Cron = nil }},
		{"every", j.Every != 0, func() { definition.Every = 0 }},
		{"after", j.After != 0, func() { definition.After = 0 }},
		{"at", j.At != nil, func() { definition.At = time.Time{} }},
	} {
		switch {
		case !field.given:
		case first == "":
			first = field.name
		default:
			v.add(field.name, "cannot be given beside %s: a job has one of schedule, every, after and at, or none", first)
			field.clear()
		}
	}
}

// sentence makes a fault of package cron stand by itself.
func sentence(fault *cron.Error) string {
	if strings.HasPrefix(fault.Message, "is ") || strings.HasPrefix(fault.Message, "has ") || strings.HasPrefix(fault.Message, "never ") {
		return fault.Field + " " + fault.Message
	}
	return fault.Field + ": " + fault.Message
}

// cronFaults are the single faults inside an error of package cron.
func cronFaults(err error) []*cron.Error {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var faults []*cron.Error
		for _, one := range many.Unwrap() {
			faults = append(faults, cronFaults(one)...)
		}
		return faults
	}
	if fault, ok := errors.AsType[*cron.Error](err); ok {
		return []*cron.Error{fault}
	}
	return []*cron.Error{{Field: "schedule", Message: err.Error()}}
}
