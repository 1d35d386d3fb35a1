package core

// runEnded continues with a job of which a run has ended.
func (c *Core) runEnded(r *run) {
	j := r.job
	c.afterRun(j, r)
	c.startNextWaiting(j)
	if j.tombstone != nil && len(j.live) == 0 {
		c.handled(*j.tombstone, false)
		j.tombstone = nil
	}
}

// startNextWaiting lets go what waited for a run of the job to end.
func (c *Core) startNextWaiting(j *job) {
	for next := j.nextWaiting(); next != nil && c.blocker(j, next) == nil; next = j.nextWaiting() {
		c.enqueue(next)
	}
	if j.postpone && j.def != nil && j.schedule != nil && c.blocker(j, nil) == nil {
		c.prepare(j)
	}
}
