package wave

import (
	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/dag/condition"
	"github.com/tidewheel/tidewheel/spec"
)

// Definition is one generation of a DAG.
type Definition struct {
	Generation int64
	Spec       *spec.DAG
	Graph      *dag.Graph // nil where the tasks are no graph: the API refuses such, so it came by another way
	jobs       map[int]*spec.Job
	conditions map[int]*condition.Condition
	lists      map[int]*condition.List
}

// NewDefinition takes a generation. It keeps definition, which must not change any more.
func NewDefinition(generation int64, definition *spec.DAG) *Definition {
	d := &Definition{
		Generation: generation, Spec: definition,
		jobs: map[int]*spec.Job{}, conditions: map[int]*condition.Condition{}, lists: map[int]*condition.List{},
	}
	if graph, err := definition.Graph(); err == nil {
		d.Graph = graph
	}
	return d
}

// Job returns a task as a job, with the schedule of a root.
func (d *Definition) Job(task int) *spec.Job {
	if known := d.jobs[task]; known != nil {
		return known
	}
	all, t := d.Spec, &d.Spec.Tasks[task]
	made := all.TaskJob(task)
	made.CatchUp, made.Overlap = all.CatchUp, spec.OverlapSkip
	if all.Overlap == spec.WaveQueue {
		made.Overlap = spec.OverlapQueue
	}
	if t.Root() {
		made.Schedule, made.Timezone, made.Active, made.Exclude = all.Schedule, all.Timezone, all.Active, all.Exclude
		if len(t.Schedule) > 0 {
			made.Schedule = t.Schedule
			if t.Timezone != "" {
				made.Timezone = t.Timezone
			}
		}
	}
	d.jobs[task] = made
	return made
}

// Root reports whether a name is that of a root.
func (d *Definition) Root(name string) bool {
	task, ok := d.Task(name)
	return ok && d.Graph.Root(task)
}

// Task returns the index of the task of this name; false where this generation has none.
func (d *Definition) Task(name string) (int, bool) {
	if d.Graph == nil {
		return 0, false
	}
	return d.Graph.Index(name)
}
