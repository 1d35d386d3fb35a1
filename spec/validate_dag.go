package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/dag/condition"
)

const (
	maxParallel = dag.MaxItems
	// maxGuesses bounds the search for what an unknown name may mean, which looks at every task.
	maxGuesses = 20
)

// Validate returns every fault of the DAG, each with its Path, or nil. A field
// at its zero value counts as not given, so it may be called before or after
// [DAG.ApplyDefaults]. Whether binaries and secrets exist is not its subject.
func (d *DAG) Validate() Problems {
	v := &dagValidator{dag: d, validator: &validator{}}
	v.head()
	v.defaults()
	v.graph()
	for i := range d.Tasks {
		v.task(i)
	}
	v.schedules()
	return v.problems
}

type dagValidator struct {
	*validator
	dag            *DAG
	faultyDefaults bool
	names          []string
	index          map[string]int
	graphOf        *dag.Graph // nil if it has faults
	reach          *dag.Reach // made when it is first asked for
	guesses        int
}

// under collects faults below a path.
func (v *validator) under(prefix string, check func(*validator)) int {
	inner := &validator{}
	check(inner)
	for _, problem := range inner.problems {
		// Every message begins with its path.
		problem.Message = strings.Replace(problem.Message, problem.Path, join(prefix, problem.Path), 1)
		problem.Path = join(prefix, problem.Path)
		v.problems = append(v.problems, problem)
	}
	return len(inner.problems)
}

func (v *dagValidator) head() {
	d := v.dag
	if d.Kind != KindDAG {
		v.add("kind", "must be %s, not %s", KindDAG, quote(d.Kind))
	}
	v.identity(KindDAG, d.Name, d.Description)
	// What a job has too is judged as a job's.
	like := &Job{Payload: d.Payload, CatchUp: d.CatchUp, Labels: d.Labels}
	v.payload(like)
	v.policies(like)
	v.labels(like)
	v.triggers(d.Name, d.Triggers)
	v.alerts(d.Alerts)
	v.retention("retention", d.Retention)
	v.oneOf("overlap", d.Overlap, string(d.Overlap))
	v.atMost("args", len(d.Args), maxArguments, "arguments")
	for _, key := range sortedKeys(d.Args) {
		path := join("args", key)
		if fault := nameFault(key); fault != "" {
			v.add(path, "has a name that %s", fault)
		}
		v.argument(path, d.Args[key])
	}
	v.parallel("max_parallel", d.MaxParallel)
}

func (v *validator) parallel(path string, n int) {
	if n != 0 && (n < 1 || n > maxParallel) {
		v.add(path, "must be from 1 to %d, not %d", maxParallel, n)
	}
}

func (v *dagValidator) defaults() {
	given := (&DAG{Defaults: v.dag.Defaults}).merged(&Task{})
	v.faultyDefaults = v.under("defaults", func(inner *validator) {
		if given.Binary != "" {
			inner.binary(given)
		}
		inner.command(given)
		inner.policies(given)
		inner.limits(given)
		inner.runsOn(given)
	}) > 0
}

// graph judges how the tasks need each other.
func (v *dagValidator) graph() {
	v.index = make(map[string]int, len(v.dag.Tasks))
	for i := range v.dag.Tasks {
		v.names = append(v.names, v.dag.Tasks[i].Name)
		v.index[v.dag.Tasks[i].Name] = i
	}
	needs := 0
	for i := range v.dag.Tasks {
		needs += len(v.dag.Tasks[i].Needs)
	}
	if needs > dag.MaxNeeds {
		v.add("tasks", "have %d needs together: use at most %d; where all of many tasks need all of many others, put one task between them that needs the ones and that the others need", needs, dag.MaxNeeds)
		return
	}
	graph, err := v.dag.Graph()
	v.graphOf = graph
	faults, _ := errors.AsType[dag.Faults](err)
	for _, fault := range faults {
		switch {
		case fault.Task < 0:
			v.add("tasks", "%s", fault.Message)
			continue
		case fault.Kind == dag.UnknownTrigger:
			continue // reported with the existing values, below
		}
		path := join("tasks", v.names[fault.Task])
		switch {
		case fault.Need >= 0:
			path += fmt.Sprintf(".needs[%d]", fault.Need)
		case fault.Kind == dag.RootTrigger:
			v.add(path+".trigger", "says by what needs the task starts, and it has none: remove trigger, or add needs")
			continue
		}
		message := fault.Message
		if fault.Kind == dag.UnknownNeed {
			message += v.guess(fault.Name)
		}
		v.add(path, "%s", message)
	}
}

// guess returns what an unknown name of a task may mean.
func (v *dagValidator) guess(name string) string {
	if strings.Contains(name, ".") {
		return ": tasks of another DAG cannot be needed; put both into one DAG"
	}
	if v.guesses++; v.guesses > maxGuesses {
		return ""
	}
	if near := nearest(name, v.names); near != "" {
		return ": did you mean " + near + "?"
	}
	return ""
}

func (v *dagValidator) task(i int) {
	t := &v.dag.Tasks[i]
	if len(v.dag.Tasks) > dag.MaxTasks {
		return
	}
	path := join("tasks", t.Name)
	if fault := nameFault(t.Name); fault != "" {
		v.add(path, "has a name that %s", fault)
	}
	// The defaults' faults are reported once, so a task is judged with them only where they have none.
	like := v.dag
	if v.faultyDefaults {
		like = &DAG{}
	}
	job := like.merged(t)
	job.Payload = t.Payload
	v.under(path, func(inner *validator) {
		if job.Binary != "" || v.dag.Defaults.Binary == "" {
			inner.binary(job)
		}
		inner.description(t.Description)
		inner.command(job)
		inner.payload(job)
		inner.policies(job)
		inner.limits(job)
		inner.runsOn(job)
		inner.labels(job)
		inner.taskAlerts(t.Alerts)
		if t.Trigger != "" && !t.Trigger.Valid() {
			inner.add("trigger", "%s", choiceFault(string(t.Trigger), triggerWords()))
		}
		inner.parallel("max_parallel", t.MaxParallel)
		if t.MaxParallel > 0 && t.ForEach == "" {
			inner.add("max_parallel", "bounds the runs of a for_each, which this task has not: remove it, or put it on the DAG")
		}
		switch {
		case len(t.Schedule) > 0 && !t.Root():
			inner.add("schedule", "belongs on tasks without needs: this one starts when what it needs has ended, so remove schedule or needs")
		case t.Timezone != "" && len(t.Schedule) == 0:
			inner.add("timezone", "is that of the task's own schedule, which it has not: remove it, or put it on the DAG")
		}
	})
	if t.When != "" {
		compiled, err := condition.Compile(t.When)
		if err != nil {
			v.add(path+".when", "%s", err)
		} else {
			v.reads(i, path+".when", compiled.Tasks())
		}
	}
	if t.ForEach != "" {
		compiled, err := condition.CompileList(t.ForEach)
		if err != nil {
			v.add(path+".for_each", "%s", err)
		} else {
			v.reads(i, path+".for_each", compiled.Tasks())
		}
	}
}

// reads judges which outputs an expression of a task reads.
func (v *dagValidator) reads(task int, path string, names []string) {
	for _, name := range names {
		other, known := v.index[name]
		switch {
		case !known:
			v.add(path, "reads the output of %s, which is not a task of this DAG%s", quote(name), v.guess(name))
		case other == task:
			v.add(path, "reads the output of the task itself, which has not run yet: name a task that it needs")
		case v.graphOf == nil || slices.Contains(v.dag.Tasks[task].Needs, name):
		default:
			if v.reach == nil {
				v.reach = v.graphOf.Reach()
			}
			if !v.reach.Before(other, task) {
				v.add(path, "reads the output of %s, which need not have run before this task: add it to needs", quote(name))
			}
		}
	}
}

// schedules lets package cron judge all that says when roots start.
func (v *dagValidator) schedules() {
	d := v.dag
	shared := Job{Schedule: d.Schedule, Timezone: d.Timezone, Active: d.Active, Exclude: d.Exclude}
	_, err := cron.Compile(shared.Definition(d.Name, anyAnchor))
	reported := map[string]bool{}
	for _, fault := range cronFaults(err) {
		v.problems = append(v.problems, Problem{Path: fault.Field, Message: sentence(fault)})
		reported[fault.Field] = true
	}
	if len(d.Tasks) > dag.MaxTasks {
		return
	}
	for i := range d.Tasks {
		t := &d.Tasks[i]
		if len(t.Schedule) == 0 || !t.Root() {
			continue
		}
		path := join("tasks", t.Name)
		_, err := cron.Compile(d.Definition(i, d.Name+"/"+t.Name, anyAnchor))
		for _, fault := range cronFaults(err) {
			// The DAG's own faults were reported above.
			own := strings.HasPrefix(fault.Field, "schedule") || fault.Field == "timezone" && t.Timezone != ""
			if !own && reported[fault.Field] {
				continue
			}
			at := *fault
			if own {
				at.Field = join(path, fault.Field)
			}
			v.problems = append(v.problems, Problem{Path: at.Field, Message: sentence(&at)})
		}
	}
}

func triggerWords() []string {
	var words []string
	for _, trigger := range dag.Triggers() {
		words = append(words, string(trigger))
	}
	return words
}
