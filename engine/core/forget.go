package core

// Hold tells the core that a job is about to be read. Until LetGo the core does not forget it: what is read now would be out of
// date once the job has been worked on, and only a job in memory shows that.
func (c *Core) Hold(uid string) { c.held[uid]++ }

func (c *Core) letGo(uid string) {
	if c.held[uid]--; c.held[uid] > 0 {
		return
	}
	delete(c.held, uid)
	if j := c.jobs[uid]; j != nil {
		c.forgetEnded(j)
		c.idle = append(c.idle, j)
	}
	if d := c.dags[uid]; d != nil {
		for _, j := range d.jobs() {
			c.forgetEnded(j)
			c.idle = append(c.idle, j)
		}
		c.idleDAGs = append(c.idleDAGs, d)
	}
}

// forgetEnded forgets runs that have ended once every read of the store brings them so.
func (c *Core) forgetEnded(j *job) {
	if j.writes == 0 && c.held[j.owner()] == 0 {
		j.endedRuns = nil
	}
}

// forgetIfIdle drops a job from memory once the store knows all of it and its next slot is beyond the horizon.
func (c *Core) forgetIfIdle(j *job) {
	if j.dag != nil {
		c.forgetTask(j)
		return
	}
	if len(j.live) > 0 || j.writes > 0 || c.held[j.uid] > 0 || c.jobs[j.uid] != j {
		return
	}
	if j.task != nil && !j.task.RunAt.After(c.horizon) {
		return
	}
	c.stopTimer(&j.timer)
	delete(c.jobs, j.uid)
}

// forgetTask drops the job of a task without anything active.
func (c *Core) forgetTask(j *job) {
	d := j.dag
	if len(j.live) == 0 && j.writes == 0 && j.task == nil && j.endedRuns == nil && !j.taskStored && d.tasks[j.taskName] == j {
		delete(d.tasks, j.taskName)
	}
	c.forgetDAGIfIdle(d)
}

// forgetOver forgets waves that were resumed once every read of the store brings them so.
func (c *Core) forgetOver(d *dagState) {
	if d.writes == 0 && c.held[d.uid] == 0 && len(d.resumes) == 0 {
		d.resumed = nil
	}
}

// forgetDAGIfIdle drops a DAG from memory once the store knows all of it and its next slots are beyond the horizon.
func (c *Core) forgetDAGIfIdle(d *dagState) {
	waits := d.open != nil || len(d.asked) > 0 || len(d.resumes) > 0
	if waits || d.tombstone != nil || d.writes > 0 || c.held[d.uid] > 0 || c.dags[d.uid] != d {
		return
	}
	for _, j := range d.tasks {
		if len(j.live) > 0 || j.writes > 0 || j.task != nil && !j.task.RunAt.After(c.horizon) {
			return
		}
	}
	for _, j := range d.tasks {
		c.stopTimer(&j.timer)
	}
	delete(c.dags, d.uid)
}
