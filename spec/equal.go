package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Clone is a copy that shares nothing with the job.
func (j *Job) Clone() *Job {
	clone := *j
	clone.Args = slices.Clone(j.Args)
	clone.Env = maps.Clone(j.Env)
	clone.Secrets = maps.Clone(j.Secrets)
	clone.Payload = slices.Clone(j.Payload)
	clone.Schedule = slices.Clone(j.Schedule)
	clone.At = cloneTime(j.At)
	if j.Active != nil {
		clone.Active = &Window{From: cloneTime(j.Active.From), Until: cloneTime(j.Active.Until)}
	}
	clone.Retry.On = slices.Clone(j.Retry.On)
	clone.Retry.NotOn = slices.Clone(j.Retry.NotOn)
	clone.Exclude = slices.Clone(j.Exclude)
	clone.Triggers = j.Triggers.clone()
	clone.Alerts = j.Alerts.clone()
	clone.RunsOn = maps.Clone(j.RunsOn)
	clone.Labels = maps.Clone(j.Labels)
	return &clone
}

func cloneTime(instant *time.Time) *time.Time {
	if instant == nil {
		return nil
	}
	clone := *instant
	return &clone
}

// Canonical is the JSON of the job in which all that does not change its
// meaning is made the same: defaults are filled in, instants are in UTC, sets
// and the keys of the payload are sorted, empty parts are left out. Two jobs
// mean the same exactly if their canonical forms are the same bytes. It fails
// only if the payload is not JSON.
func (j *Job) Canonical() ([]byte, error) {
	job := j.Clone()
	job.ApplyDefaults()
	if err := job.normalize(); err != nil {
		return nil, fmt.Errorf("spec: payload of job %s: %w", quote(j.Name), err)
	}
	canonical, err := json.Marshal(job)
	if err != nil {
		return nil, fmt.Errorf("spec: encode job %s: %w", quote(j.Name), err)
	}
	return canonical, nil
}

// normalize makes the same what means the same, in place: instants, sets and
// the payload.
func (j *Job) normalize() error {
	if j.At != nil {
		*j.At = j.At.UTC()
	}
	j.Active = canonicalWindow(j.Active)
	for i := range j.Exclude {
		j.Exclude[i].From = j.Exclude[i].From.UTC()
		j.Exclude[i].To = j.Exclude[i].To.UTC()
	}
	slices.Sort(j.Retry.On)
	slices.Sort(j.Retry.NotOn)
	j.Triggers = j.Triggers.canonical()
	j.Alerts = j.Alerts.canonical()
	if len(j.Payload) > 0 {
		payload, err := sortedJSON(j.Payload)
		if err != nil {
			return err
		}
		j.Payload = payload
	}
	return nil
}

// Equal reports whether both definitions mean the same, however they were
// written. A job whose payload is not JSON equals nothing.
func (j *Job) Equal(other *Job) bool {
	if j == nil || other == nil {
		return j == other
	}
	mine, err := j.Canonical()
	if err != nil {
		return false
	}
	theirs, err := other.Canonical()
	return err == nil && bytes.Equal(mine, theirs)
}

func canonicalWindow(window *Window) *Window {
	if window == nil || window.From == nil && window.Until == nil {
		return nil
	}
	for _, end := range []*time.Time{window.From, window.Until} {
		if end != nil {
			*end = end.UTC()
		}
	}
	return window
}

// sortedJSON keeps numbers as they are written: 1.0 and 1 may differ to a program.
func sortedJSON(data []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}
