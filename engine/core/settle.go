package core

// A run that ends lets others go: the next one of its job, the tasks after it, the wave after its own. What ends one does not
// call these, which lie above it and end runs in their turn. It leaves word in c.ended, c.idle and c.idleDAGs, and Step sees to
// them once it has done what it was at.

// settle does all that is left.
func (c *Core) settle() {
	for c.settleRuns(); len(c.idle)+len(c.idleDAGs) > 0; c.settleRuns() {
		jobs, dags := c.idle, c.idleDAGs
		c.idle, c.idleDAGs = nil, nil
		for _, j := range jobs {
			c.forgetIfIdle(j)
		}
		for _, d := range dags {
			c.settleDAG(d)
			c.settleRuns()
		}
	}
}

// settleRuns goes on with the jobs and waves of which runs have ended.
func (c *Core) settleRuns() {
	for len(c.ended) > 0 {
		r := c.ended[0]
		c.ended = c.ended[1:]
		d := r.job.dag
		if d == nil {
			c.runEnded(r)
			continue
		}
		if d.open == nil { // the wave to come may have waited for this
			c.idleDAGs = append(c.idleDAGs, d)
		}
		if c.taskEnded(r) {
			c.pump(d.open)
		}
	}
}

// settleDAG looks once more at a DAG that something has happened to: whether its wave still waits for slots that will
// not come, whether the deletion is done, whether it can be forgotten.
func (c *Core) settleDAG(d *dagState) {
	if c.dags[d.uid] != d {
		return
	}
	if d.open != nil {
		c.skipRootsWithoutSlot(d.open)
	}
	if d.open != nil {
		c.pump(d.open)
	}
	if d.open == nil { // a run that was prepared may have been dropped, and nothing is in the way any more
		c.nextWave(d)
		for _, name := range d.taskNames() {
			if j := d.tasks[name]; j.postpone {
				c.prepare(j)
			}
		}
	}
	c.forgetOver(d)
	if d.tombstone != nil && !d.busy() {
		c.handledDAG(d.uid, *d.tombstone)
		d.tombstone = nil
	}
	c.forgetDAGIfIdle(d)
}
