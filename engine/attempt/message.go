package attempt

import (
	"maps"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Message is what asks an executor to run the current attempt, without what belongs to a wave. s is the definition of the
// run, nil if it is not known.
func Message(r *engine.Run, s *spec.Job) *engine.Task {
	t := &engine.Task{
		Run: r.ID, Attempt: r.Attempt, Shard: r.Shard, JobUID: r.JobUID, Namespace: r.Namespace, Job: r.Job,
		Lock: lock(r, s), Slot: planned(r), Tier: r.Tier, Class: r.Class, RunsOn: r.RunsOn, QueuedAt: r.QueuedAt, Generation: r.Generation,
		Digest: r.Digest, Size: r.Size, Kind: r.Kind, Payload: r.Payload,
	}
	if s == nil {
		return t
	}
	t.Interpreter, t.Args, t.Env, t.Secrets, t.Limits, t.Stderr = s.Interpreter, s.Args, s.Env, s.Secrets, s.Limits, s.Stderr
	t.Once = Once(s)
	t.Timeout, t.Grace = time.Duration(s.Timeout), time.Duration(s.Grace)
	if len(t.Payload) == 0 {
		t.Payload = s.Payload
	}
	if len(r.Args) > 0 {
		t.Env = make(map[string]string, len(s.Env)+len(r.Args))
		maps.Copy(t.Env, s.Env)
		maps.Copy(t.Env, r.Args)
	}
	return t
}

// planned is the instant that a program runs for: its slot; without one, when it was asked for, or to begin.
// Definitions use it in arguments, and work manually, too.
func planned(r *engine.Run) time.Time {
	for _, instant := range []time.Time{r.Slot, r.NotBefore} {
		if !instant.IsZero() {
			return instant
		}
	}
	return r.CreatedAt
}

// lock is what an executor must hold to execute the run: the job's, or the run's own where runs may overlap.
func lock(r *engine.Run, s *spec.Job) string {
	switch {
	case r.Item != nil, r.Task == "" && s != nil && s.Overlap == spec.OverlapAllow:
		return r.ID
	case r.Task != "":
		return engine.RootID(r.JobUID, r.Task)
	}
	return r.JobUID
}

// Locks returns those that an executor of the run may hold: its own, and for a run of a job the other one too. By an edit
// runs may overlap, or no longer may, and a former owner that has not seen the edit may publish the run in its earlier version.
func Locks(r *engine.Run, s *spec.Job) []string {
	lock := lock(r, s)
	switch {
	case r.Task != "":
		return []string{lock}
	case lock == r.ID:
		return []string{lock, r.JobUID}
	}
	return []string{lock, r.ID}
}
