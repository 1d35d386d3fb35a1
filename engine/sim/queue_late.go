package sim

import "github.com/tidewheel/tidewheel/engine"

// What arrives at the queue long after it was sent: its sender has asked again meanwhile, has given up, or is dead.

// free is under which revision a lock is free: that of the marker that the one before left, 0 where there is none any more.
func (q *queue) free(key string) uint64 {
	if l := q.locks[key]; l != nil && q.w.elapsed < l.until+markerLife {
		return l.revision
	}
	return 0
}

// lockLate makes a lock if it is free under the revision that its sender knew.
func (q *queue) lockLate(task *engine.Task, executor string, by *attempt, free uint64) {
	if q.held(task.Lock) == nil && q.free(task.Lock) == free {
		q.w.counts.add("queue", "lock made late")
		q.lock(task.Lock, task.Run, task.Attempt, executor, lockTTL, by)
	}
}

// refreshLate extends a lock if no other writer has changed it since.
func (q *queue) refreshLate(key string, revision uint64, task *engine.Task, executor string) {
	if held := q.held(key); held != nil && held.revision == revision {
		q.refresh(key, revision, task, executor)
	}
}
