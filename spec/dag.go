package spec

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/dag"
)

// KindDAG is the kind of a document that defines a [DAG].
const KindDAG = "DAG"

// DAG is a definition of tasks that need each other. The tasks without needs
// are its roots; they start a wave, by their schedules or manually.
//
// The order of the fields is the order in which [EncodeDAG] writes them. What a
// task leaves out is in Defaults, and what is not there either has the default
// of a [Job]; [DAG.TaskJob] puts both together. A DAG is plain data; it may be
// copied with [DAG.Clone] and is not safe for concurrent changes.
type DAG struct {
	// Kind is always "DAG".
	Kind string `json:"kind"`
	// Name identifies the DAG inside its namespace; see [ValidName].
	Name string `json:"name"`
	// Description is for people, at most 4,096 characters.
	Description string `json:"description,omitempty"`
	// Payload is any JSON value: that of the tasks which have none of their own. A manual wave may bring another.
	Payload json.RawMessage `json:"payload,omitempty"`
	// Args are what conditions see as args. A manual wave may bring others.
	Args map[string]string `json:"args,omitempty" spec:"scalar"`

	// Schedule holds cron expressions for the roots without a schedule of their own.
	Schedule Strings `json:"schedule,omitempty"`
	// Timezone is the IANA zone of all schedules, and of the expressions in Exclude.
	Timezone string `json:"timezone,omitempty"`
	// Active bounds the time in which slots exist at all.
	Active *Window `json:"active,omitempty"`
	// Overlap defines what happens to a slot of a root while a wave runs: waves of one DAG never overlap.
	Overlap WaveOverlap `json:"overlap,omitempty"`
	// CatchUp defines which slots missed in an outage or a pause start a wave afterwards.
	CatchUp CatchUp `json:"catch_up,omitzero"`
	// Exclude takes slots out of all schedules.
	Exclude []Exclusion `json:"exclude,omitempty"`
	// MaxParallel bounds the runs of one wave that are under way at once; 0 is no bound.
	MaxParallel int `json:"max_parallel,omitempty"`

	// Triggers define which events start a wave, besides the schedules.
	Triggers *Triggers `json:"triggers,omitempty"`
	// Alerts define what people are notified of about the DAG; nil leaves that to its namespace.
	Alerts *Alerts `json:"alerts,omitempty"`
	// Retention defines how long waves that have ended are kept, with their runs.
	Retention Retention `json:"retention,omitzero"`
	// Labels are for finding and grouping.
	Labels map[string]string `json:"labels,omitempty" spec:"scalar"`
	// Defaults are what tasks leave out.
	Defaults TaskDefaults `json:"defaults,omitzero"`
	// Tasks are in the order of the document; see [Tasks].
	Tasks Tasks `json:"tasks"`
}

// TaskDefaults are what the tasks of a DAG leave out. Env, RunsOn, Retry and
// Limits are merged with the task's key by key, everything else is taken whole.
type TaskDefaults struct {
	Binary      string            `json:"binary,omitempty"`
	Interpreter string            `json:"interpreter,omitempty"`
	Env         map[string]string `json:"env,omitempty" spec:"scalar"`
	Tier        Tier              `json:"tier,omitempty"`
	RunsOn      map[string]string `json:"runs_on,omitempty" spec:"scalar"`
	Class       Class             `json:"class,omitempty"`
	Timeout     Duration          `json:"timeout,omitzero"`
	Grace       Duration          `json:"grace,omitzero"`
	Retry       Retry             `json:"retry,omitzero"`
	Delivery    Delivery          `json:"delivery,omitempty"`
	Stderr      Stderr            `json:"stderr,omitempty"`
	Limits      Limits            `json:"limits,omitzero"`
}

// Task is one task of a DAG. The fields that a [Job] has too mean the same.
type Task struct {
	// Name is the key of the task; it follows [ValidName].
	Name        string            `json:"-"`
	Description string            `json:"description,omitempty"`
	Binary      string            `json:"binary,omitempty"`
	Interpreter string            `json:"interpreter,omitempty"`
	Args        []string          `json:"args,omitempty" spec:"scalar"`
	Env         map[string]string `json:"env,omitempty" spec:"scalar"`
	Secrets     map[string]string `json:"secrets,omitempty"`
	Payload     json.RawMessage   `json:"payload,omitempty"`

	// Needs are the tasks that come before this one. A task without needs is a root.
	Needs []string `json:"needs,omitempty"`
	// Schedule is that of a root; see [DAG.Schedule].
	Schedule Strings `json:"schedule,omitempty"`
	// Timezone is the zone of the task's own Schedule.
	Timezone string `json:"timezone,omitempty"`
	// Trigger is the rule by which the task starts; empty is all_success.
	Trigger dag.Trigger `json:"trigger,omitempty"`
	// When is a condition, ForEach gives the list that the task runs over; see package dag/condition.
	When    string `json:"when,omitempty"`
	ForEach string `json:"for_each,omitempty"`
	// MaxParallel bounds the runs of a ForEach that are under way at once; 0 is no bound.
	MaxParallel int `json:"max_parallel,omitempty"`

	Tier     Tier              `json:"tier,omitempty"`
	RunsOn   map[string]string `json:"runs_on,omitempty" spec:"scalar"`
	Class    Class             `json:"class,omitempty"`
	Timeout  Duration          `json:"timeout,omitzero"`
	Grace    Duration          `json:"grace,omitzero"`
	Retry    Retry             `json:"retry,omitzero"`
	Delivery Delivery          `json:"delivery,omitempty"`
	Stderr   Stderr            `json:"stderr,omitempty"`
	Limits   Limits            `json:"limits,omitzero"`
	// Alerts define what people are notified of about the task, besides the alerts of its DAG.
	Alerts *Alerts           `json:"alerts,omitempty"`
	Labels map[string]string `json:"labels,omitempty" spec:"scalar"`
}

// Root reports whether the task needs no other.
func (t *Task) Root() bool { return len(t.Needs) == 0 }

// Graph is the graph of the tasks, whose indexes are those of Tasks. The error
// is a [dag.Faults]; a valid DAG has none.
func (d *DAG) Graph() (*dag.Graph, error) { return dag.New(d.nodes()) }

func (d *DAG) nodes() []dag.Task {
	nodes := make([]dag.Task, len(d.Tasks))
	for i := range d.Tasks {
		task := &d.Tasks[i]
		nodes[i] = dag.Task{
			Name: task.Name, Needs: task.Needs, Trigger: task.Trigger,
			Scheduled: len(task.Schedule) > 0 || len(d.Schedule) > 0,
		}
	}
	return nodes
}

// TaskJob is what a run of a task is: the task as a job without a schedule, with
// the DAG's defaults and those of a job applied. It shares nothing with the DAG.
func (d *DAG) TaskJob(task int) *Job {
	job := d.merged(&d.Tasks[task])
	job.ApplyDefaults()
	return job
}

// merged is the task with the DAG's defaults, without those of a job.
func (d *DAG) merged(t *Task) *Job {
	job := (&Job{
		Kind: KindJob, Name: t.Name, Description: t.Description,
		Binary: t.Binary, Interpreter: t.Interpreter, Args: t.Args, Env: t.Env, Secrets: t.Secrets, Payload: t.Payload,
		Tier: t.Tier, RunsOn: t.RunsOn, Class: t.Class, Timeout: t.Timeout, Grace: t.Grace, Retry: t.Retry, Delivery: t.Delivery,
		Stderr: t.Stderr, Limits: t.Limits, Labels: t.Labels,
	}).Clone()
	if len(job.Payload) == 0 {
		job.Payload = slices.Clone(d.Payload)
	}
	given := &d.Defaults
	fill(&job.Binary, given.Binary)
	fill(&job.Interpreter, given.Interpreter)
	for key, value := range given.Env {
		if _, own := job.Env[key]; own {
			continue
		}
		if _, secret := job.Secrets[key]; secret {
			continue // the task asks for another value of the same variable
		}
		if job.Env == nil {
			job.Env = map[string]string{}
		}
		job.Env[key] = value
	}
	for key, value := range given.RunsOn {
		if _, own := job.RunsOn[key]; own {
			continue
		}
		if job.RunsOn == nil {
			job.RunsOn = map[string]string{}
		}
		job.RunsOn[key] = value
	}
	fill(&job.Tier, given.Tier)
	fill(&job.Class, given.Class)
	fill(&job.Timeout, given.Timeout)
	fill(&job.Grace, given.Grace)
	fill(&job.Delivery, given.Delivery)
	fill(&job.Stderr, given.Stderr)
	fill(&job.Retry.MaxAttempts, given.Retry.MaxAttempts)
	fill(&job.Retry.Delay, given.Retry.Delay)
	fill(&job.Retry.MaxDelay, given.Retry.MaxDelay)
	if job.Retry.On == nil && job.Retry.NotOn == nil {
		// Together, or a code may end up in both.
		job.Retry.On, job.Retry.NotOn = slices.Clone(given.Retry.On), slices.Clone(given.Retry.NotOn)
	}
	fill(&job.Limits.Memory, given.Limits.Memory)
	fill(&job.Limits.CPU, given.Limits.CPU)
	fill(&job.Limits.Output, given.Limits.Output)
	fill(&job.Limits.OpenFiles, given.Limits.OpenFiles)
	return job
}

// Definition is the schedule of a root as package cron wants it: its own, or
// the DAG's. key and anchor are as in [Job.Definition]; a root without a
// schedule gives a definition without one.
func (d *DAG) Definition(root int, key string, anchor time.Time) cron.Definition {
	task := &d.Tasks[root]
	job := Job{Schedule: d.Schedule, Timezone: d.Timezone, Active: d.Active, Exclude: d.Exclude}
	if len(task.Schedule) > 0 {
		job.Schedule = task.Schedule
		if task.Timezone != "" {
			job.Timezone = task.Timezone
		}
	}
	return job.Definition(key, anchor)
}

// Manual reports whether no root has a schedule, so that waves start only manually.
func (d *DAG) Manual() bool {
	return len(d.Schedule) == 0 && !slices.ContainsFunc(d.Tasks, func(t Task) bool { return len(t.Schedule) > 0 })
}

// Summary says in words how large the DAG is and when its roots start. The DAG
// is valid.
func (d *DAG) Summary() string {
	const shown = 3
	words := fmt.Sprintf("%d tasks", len(d.Tasks))
	if len(d.Tasks) == 1 {
		words = "1 task"
	}
	if d.Manual() {
		return words + ", manual only"
	}
	roots := 0
	for i := range d.Tasks {
		if !d.Tasks[i].Root() {
			continue
		}
		if roots++; roots > shown {
			continue
		}
		// Valid schedules compile; the anchor is no part of the words.
		if schedule, err := cron.Compile(d.Definition(i, d.Name+"/"+d.Tasks[i].Name, anyAnchor)); err == nil {
			words += fmt.Sprintf("; %s: %s", d.Tasks[i].Name, schedule.Describe())
		}
	}
	if roots > shown {
		words += fmt.Sprintf("; and %d more roots", roots-shown)
	}
	return words
}

// ApplyDefaults fills what the DAG itself leaves out; its tasks stay as they
// are written. It is idempotent, and changes nothing that was given.
func (d *DAG) ApplyDefaults() {
	fill(&d.Kind, KindDAG)
	fill(&d.Timezone, DefaultTimezone)
	fill(&d.Overlap, WaveSkip)
	fill(&d.CatchUp.Policy, CatchUpLast)
	fill(&d.CatchUp.Window, DefaultCatchUpWindow)
}

// dropDefaults is the inverse of ApplyDefaults.
func (d *DAG) dropDefaults() {
	drop(&d.Timezone, DefaultTimezone)
	drop(&d.Overlap, WaveSkip)
	drop(&d.CatchUp.Policy, CatchUpLast)
	drop(&d.CatchUp.Window, DefaultCatchUpWindow)
	for i := range d.Tasks {
		drop(&d.Tasks[i].Trigger, dag.AllSuccess)
	}
}
