package engine

import (
	"maps"
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

func overlaps(o spec.Overlap) bool { return o == spec.OverlapAllow }

// planned is the instant that a program is told it runs for: its slot; without one, when it was asked for, or to begin.
// Definitions use it in arguments, and work by hand, too.
func (r *run) planned() time.Time {
	for _, instant := range []time.Time{r.Slot, r.NotBefore} {
		if !instant.IsZero() {
			return instant
		}
	}
	return r.CreatedAt
}

// task is the message for the run's current attempt.
func (c *Core) task(r *run) *Task {
	s := r.spec
	t := &Task{
		Run: r.ID, Attempt: r.Attempt, Shard: r.Shard, JobUID: r.JobUID, Namespace: r.Namespace, Job: r.Job,
		Lock: r.lock(), Slot: r.planned(), Tier: r.Tier, Class: r.Class, RunsOn: r.RunsOn, QueuedAt: r.QueuedAt, Generation: r.Generation,
		Digest: r.Digest, Size: r.Size, Kind: r.Kind, Payload: r.Payload,
	}
	if s == nil {
		return t
	}
	t.Interpreter, t.Args, t.Env, t.Limits = s.Interpreter, s.Args, s.Env, s.Limits
	t.Once = r.once()
	t.Timeout, t.Grace = time.Duration(s.Timeout), time.Duration(s.Grace)
	if len(t.Payload) == 0 {
		t.Payload = s.Payload
	}
	if len(r.Args) > 0 {
		t.Env = make(map[string]string, len(s.Env)+len(r.Args))
		maps.Copy(t.Env, s.Env)
		maps.Copy(t.Env, r.Args)
	}
	if r.Task != "" {
		c.describeTask(t, r)
	}
	return t
}
