package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/dag"
)

// Clone is a copy that shares nothing with the DAG.
func (d *DAG) Clone() *DAG {
	clone := *d
	clone.Payload = slices.Clone(d.Payload)
	clone.Args = maps.Clone(d.Args)
	like := (&Job{Schedule: d.Schedule, Active: d.Active, Exclude: d.Exclude, Triggers: d.Triggers, Alerts: d.Alerts, Labels: d.Labels}).Clone()
	clone.Schedule, clone.Active, clone.Exclude, clone.Triggers, clone.Alerts, clone.Labels = like.Schedule, like.Active, like.Exclude, like.Triggers, like.Alerts, like.Labels
	clone.Defaults.Env = maps.Clone(d.Defaults.Env)
	clone.Defaults.RunsOn = maps.Clone(d.Defaults.RunsOn)
	clone.Defaults.Retry = cloneRetry(d.Defaults.Retry)
	clone.Tasks = slices.Clone(d.Tasks)
	for i := range clone.Tasks {
		task := &clone.Tasks[i]
		task.Args = slices.Clone(task.Args)
		task.Env = maps.Clone(task.Env)
		task.Secrets = maps.Clone(task.Secrets)
		task.Payload = slices.Clone(task.Payload)
		task.Needs = slices.Clone(task.Needs)
		task.Schedule = slices.Clone(task.Schedule)
		task.Retry = cloneRetry(task.Retry)
		task.RunsOn = maps.Clone(task.RunsOn)
		task.Alerts = task.Alerts.clone()
		task.Labels = maps.Clone(task.Labels)
	}
	return &clone
}

func cloneRetry(retry Retry) Retry {
	retry.On = slices.Clone(retry.On)
	retry.NotOn = slices.Clone(retry.NotOn)
	return retry
}

// Canonical is the JSON of the DAG in which all that does not change its
// meaning is made the same, as in [Job.Canonical]; tasks are sorted by name, and
// needs too. What stands in Defaults is not what stands in every task. It fails
// only if a payload is not JSON.
func (d *DAG) Canonical() ([]byte, error) {
	same := d.Clone()
	same.ApplyDefaults()
	// What a job has too is made the same as a job's.
	like := &Job{Active: same.Active, Exclude: same.Exclude, Triggers: same.Triggers, Alerts: same.Alerts, Payload: same.Payload, Retry: same.Defaults.Retry}
	if err := like.normalize(); err != nil {
		return nil, fmt.Errorf("spec: payload of DAG %s: %w", quote(d.Name), err)
	}
	same.Active, same.Exclude, same.Triggers, same.Alerts, same.Payload = like.Active, like.Exclude, like.Triggers, like.Alerts, like.Payload
	for i := range same.Tasks {
		task := &same.Tasks[i]
		like := &Job{Payload: task.Payload, Retry: task.Retry}
		if err := like.normalize(); err != nil {
			return nil, fmt.Errorf("spec: payload of task %s of DAG %s: %w", quote(task.Name), quote(d.Name), err)
		}
		task.Payload = like.Payload
		task.Alerts = task.Alerts.canonical()
		drop(&task.Trigger, dag.AllSuccess)
		slices.Sort(task.Needs)
	}
	slices.SortFunc(same.Tasks, func(a, b Task) int { return strings.Compare(a.Name, b.Name) })
	canonical, err := json.Marshal(same)
	if err != nil {
		return nil, fmt.Errorf("spec: encode DAG %s: %w", quote(d.Name), err)
	}
	return canonical, nil
}

// Equal reports whether both definitions mean the same, however they were
// written. A DAG with a payload that is not JSON equals nothing.
func (d *DAG) Equal(other *DAG) bool {
	if d == nil || other == nil {
		return d == other
	}
	mine, err := d.Canonical()
	if err != nil {
		return false
	}
	theirs, err := other.Canonical()
	return err == nil && bytes.Equal(mine, theirs)
}
