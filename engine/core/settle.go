package core

// A run that ends lets others go: the next one of its job, the tasks after it, the wave after its own. What ends one does not
// call these, which lie above it and end runs in their turn. It adds to c.ended, c.idle and c.idleDAGs, and Step goes
// through these at its end.

// settle does all that is left.
func (c *Core) settle() {
	c.settleRuns()
	for _, j := range c.idle {
		c.forgetIfIdle(j)
	}
	clear(c.idle)
	c.idle = c.idle[:0]
	for i := 0; i < len(c.idleDAGs); i++ { // settling one may add to them
		c.settleDAG(c.idleDAGs[i])
		c.settleRuns()
	}
	clear(c.idleDAGs)
	c.idleDAGs = c.idleDAGs[:0]
}

// settleRuns continues with the jobs and waves of which runs have ended.
func (c *Core) settleRuns() {
	for i := 0; i < len(c.ended); i++ { // what happens may end more of them
		r := c.ended[i]
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
	clear(c.ended)
	c.ended = c.ended[:0]
}

// settleDAG checks a DAG that something has happened to: whether its wave still waits for slots that will
// not come, whether the deletion is done, whether it can be forgotten.
func (c *Core) settleDAG(d *dagState) {
	if c.dags[d.uid] != d {
		return
	}
	for _, j := range d.jobs() {
		c.startNextWaitingSlot(j)
	}
	if d.open != nil {
		c.skipRootsWithoutSlot(d.open)
	}
	if d.open != nil {
		c.pump(d.open)
	}
	if d.open == nil { // a run that was prepared may have been dropped, and nothing is in the way any more
		c.nextWave(d)
		for _, j := range d.jobs() {
			if j.postpone {
				c.prepare(j)
			}
		}
	}
	c.forgetOver(d)
	if d.tombstone != nil && !d.busy() {
		c.handled(*d.tombstone, true)
		d.tombstone = nil
	}
	c.forgetDAGIfIdle(d)
}
