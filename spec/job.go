package spec

import (
	"encoding/json"
	"time"

	"github.com/tidewheel/tidewheel/cron"
)

// KindJob is the kind of a document that defines a [Job].
const KindJob = "Job"

// Job is a definition: which program runs, when, and under which policies.
//
// The order of the fields is the order in which [Encode] writes them. A Job is
// plain data; it may be copied with [Job.Clone] and is not safe for concurrent
// changes.
type Job struct {
	// Kind is always "Job".
	Kind string `json:"kind"`
	// Name identifies the job inside its namespace; see [ValidName].
	Name string `json:"name"`
	// Description is for people, at most 4,096 characters.
	Description string `json:"description,omitempty"`
	// Binary names the uploaded program: name, name@version, name@alias or
	// sha256:<64 hex digits>. See [Job.Binding].
	Binary string `json:"binary"`
	// Interpreter runs a program that is neither ELF, nor starts with #!, nor
	// is a JAR: one command without arguments, such as python3.
	Interpreter string `json:"interpreter,omitempty"`
	// Args are passed to the program as they stand.
	Args []string `json:"args,omitempty" spec:"scalar"`
	// Env is added to the environment of the program.
	Env map[string]string `json:"env,omitempty" spec:"scalar"`
	// Secrets maps environment variables to names of stored secrets.
	Secrets map[string]string `json:"secrets,omitempty"`
	// Payload is any JSON value, given to the program on standard input.
	Payload json.RawMessage `json:"payload,omitempty"`

	// Schedule, Every, After and At exclude each other; a job with none of
	// them runs only manually. Schedule holds cron expressions, whose slots are
	// united.
	Schedule Strings `json:"schedule,omitempty"`
	// Every is the time between two slots.
	Every Duration `json:"every,omitzero"`
	// After is the time between the end of a run and the next slot.
	After Duration `json:"after,omitzero"`
	// At is the only slot of a one-off job.
	At *time.Time `json:"at,omitempty"`
	// Timezone is the IANA zone of Schedule and of the expressions in Exclude.
	Timezone string `json:"timezone,omitempty"`
	// Active bounds the time in which slots exist at all.
	Active *Window `json:"active,omitempty"`

	// Tier is the queue level; by default it follows from Timeout.
	Tier Tier `json:"tier,omitempty"`
	// RunsOn are the labels that an executor must have to run the job: all of
	// them, with these values.
	RunsOn map[string]string `json:"runs_on,omitempty" spec:"scalar"`
	// Class says whose runs go first inside a tier.
	Class Class `json:"class,omitempty"`
	// Timeout ends an attempt that runs longer.
	Timeout Duration `json:"timeout,omitzero"`
	// Grace is the time between SIGTERM and SIGKILL.
	Grace Duration `json:"grace,omitzero"`
	// Retry defines how often and how soon a failed attempt is retried.
	Retry Retry `json:"retry,omitzero"`
	// Overlap defines what happens to a slot whose predecessor still runs.
	Overlap Overlap `json:"overlap,omitempty"`
	// CatchUp defines which slots missed in an outage or a pause run afterwards.
	CatchUp CatchUp `json:"catch_up,omitzero"`
	// Delivery reports whether a lost attempt is retried.
	Delivery Delivery `json:"delivery,omitempty"`
	// Stderr defines whether lines of standard error are told apart.
	Stderr Stderr `json:"stderr,omitempty"`
	// Limits bound what one attempt may use.
	Limits Limits `json:"limits,omitzero"`
	// Exclude takes slots out of the schedule.
	Exclude []Exclusion `json:"exclude,omitempty"`
	// Triggers define which events start a run, besides the schedule.
	Triggers *Triggers `json:"triggers,omitempty"`
	// Alerts define what people are notified of about the job; nil leaves that to its namespace.
	Alerts *Alerts `json:"alerts,omitempty"`
	// Retention defines how long runs that have ended are kept.
	Retention Retention `json:"retention,omitzero"`
	// Labels are for finding and grouping.
	Labels map[string]string `json:"labels,omitempty" spec:"scalar"`
}

// Window is a span of time; a missing end is open. From is included, Until is not.
type Window struct {
	From  *time.Time `json:"from,omitempty"`
	Until *time.Time `json:"until,omitempty"`
}

// Retry bounds the tries of a run. The wait before a try is random between
// zero and a delay that doubles with each try from Delay up to MaxDelay.
type Retry struct {
	// MaxAttempts counts the first try too.
	MaxAttempts int      `json:"max_attempts,omitempty"`
	Delay       Duration `json:"delay,omitzero"`
	MaxDelay    Duration `json:"max_delay,omitzero"`
	// On lists exit codes that are retried, NotOn those that are not, besides
	// the built-in ones; no code is in both.
	On    []int `json:"on,omitempty"`
	NotOn []int `json:"not_on,omitempty"`
}

// CatchUp defines which missed slots run late: Policy picks among those that are
// younger than Window.
type CatchUp struct {
	Policy CatchUpPolicy `json:"policy,omitempty"`
	Window Duration      `json:"window,omitzero"`
}

// Limits bound one attempt. Zero is no limit, except for Output, whose zero is
// the default.
type Limits struct {
	Memory Size `json:"memory,omitzero"`
	// CPU is in cores: 0.5 is half of one.
	CPU float64 `json:"cpu,omitzero"`
	// Output bounds what is kept of standard output and error together.
	Output    Size `json:"output,omitzero"`
	OpenFiles int  `json:"open_files,omitempty"`
}

// Definition is the job's schedule as package cron wants it. key seeds the H
// of cron expressions and must not change over the life of the job; anchor is
// the instant from which Every counts. A job without a schedule gives a
// definition without one.
func (j *Job) Definition(key string, anchor time.Time) cron.Definition {
	definition := cron.Definition{
		Cron:     j.Schedule,
		Every:    time.Duration(j.Every),
		After:    time.Duration(j.After),
		Timezone: j.Timezone,
		Key:      key,
		Anchor:   anchor,
	}
	if j.At != nil {
		definition.At = *j.At
	}
	if j.Active != nil {
		if j.Active.From != nil {
			definition.From = *j.Active.From
		}
		if j.Active.Until != nil {
			definition.Until = *j.Active.Until
		}
	}
	for _, exclusion := range j.Exclude {
		definition.Exclude = append(definition.Exclude, cron.Exclusion(exclusion))
	}
	return definition
}

// Manual reports whether the job has no schedule and runs only manually.
func (j *Job) Manual() bool {
	return len(j.Schedule) == 0 && j.Every == 0 && j.After == 0 && j.At == nil
}
