package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// tasksNamed is how many tasks a hindrance of a DAG names; it counts the others.
const tasksNamed = 5

// TaskHindrances returns why no wave of a DAG opens, and why tasks would wait or fail when it is their turn: that it is
// paused or outside of its active time, that no engine takes up what is due, that no executor has their tier or their labels,
// or that a program is not there. Each is listed once, with the tasks that it concerns, in the order of the definition. What its
// definition asks for in vain comes last. That the executors cannot be asked is a hindrance of its own, not an error.
func (s *Service) TaskHindrances(ctx context.Context, dag *engine.DAG) ([]Hindrance, error) {
	now := s.now()
	behind, err := s.DAGs.engineHindrance(ctx, dag, now)
	if err != nil {
		return nil, err
	}
	found := slices.Concat(pausedHindrances(dag), activeHindrances(dag.Spec.Active, now), behind)
	executors, err := s.queue.Executors(ctx)
	if err != nil {
		unreachable := Hindrance{Code: "queue_unreachable", Stops: true, Words: "The executors cannot be asked: " + err.Error() + "."}
		return append(found, unreachable), nil
	}
	tasks := map[string][]string{} // by words
	tell := func(code, words, task string) {
		if tasks[words] == nil {
			found = append(found, Hindrance{Code: code, Stops: true, Words: words})
		}
		tasks[words] = append(tasks[words], task)
	}
	programs := map[string]*Error{} // nil: it is there
	places := map[string]string{}   // why no executor would run it, by tier and labels: the tasks of a DAG mostly want the same
	for i := range dag.Spec.Tasks {
		job, name := taskDefaults(&dag.Spec, i), dag.Spec.Tasks[i].Name
		missing, known := programs[job.Binary]
		if !known {
			if _, err := s.ResolveBinary(ctx, dag.Namespace, job); err != nil && !errors.As(err, &missing) {
				return nil, err
			}
			programs[job.Binary] = missing
		}
		if missing != nil {
			tell(missing.Code, missing.Detail, name)
		}
		place := string(job.Tier) + " " + labelWords(job.RunsOn, ",")
		why, known := places[place]
		if !known {
			why = placed(executors, job.Tier, job.RunsOn).why
			places[place] = why
		}
		if why != "" {
			tell("no_executor", why+": its runs wait until one comes", name)
		}
	}
	for i := range found {
		if concerned := tasks[found[i].Words]; concerned != nil {
			found[i].Words = taskList(concerned) + ": " + found[i].Words + "."
		}
	}
	undelivered, err := s.dagAlertFaults(ctx, dag.Namespace, &dag.Spec)
	if err != nil {
		return nil, err
	}
	return slices.Concat(found, unsupportedHindrances(dag.Spec.Unsupported()), alertHindrances(undelivered),
		s.unsentHindrances(ctx, dag.Namespace, spec.Document{DAG: &dag.Spec})), nil
}

// taskDefaults is the job that a task is executed as.
func taskDefaults(definition *spec.DAG, task int) *spec.Job {
	job := definition.TaskJob(task).Clone()
	job.ApplyDefaults()
	return job
}

// taskList names tasks: "Task a", "Tasks a, b", "Tasks a, b, c, d, e and 7 more".
func taskList(names []string) string {
	switch more := len(names) - tasksNamed; {
	case len(names) == 1:
		return "Task " + names[0]
	case more > 0:
		return fmt.Sprintf("Tasks %s and %d more", strings.Join(names[:tasksNamed], ", "), more)
	}
	return "Tasks " + strings.Join(names, ", ")
}
