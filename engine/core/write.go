package core

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/attempt"
	"github.com/tidewheel/tidewheel/engine/wheel"
)

// unwritten returns what is to be written about a job or DAG, to add to it.
func (c *Core) unwritten(uid string) *unwritten { return c.pending.about(uid, c.now) }

// perform adds an effect that needs nothing to be durable first.
func (c *Core) perform(e Effect) { c.effects = append(c.effects, e) }

// afterCommit adds an effect that must wait until all that has been decided so far of the run's job or DAG is durable.
func (c *Core) afterCommit(r *run, e Effect) {
	p := c.unwritten(r.job.owner())
	p.after = append(p.after, e)
}

// touch has a run written. It is called after each change of a run.
func (c *Core) touch(r *run) {
	c.count(r, r.counts())
	if !r.dirty {
		r.dirty = true
		r.job.writes++
		u := c.unwritten(r.job.owner())
		u.runs = append(u.runs, r)
	}
}

func (c *Core) touchTask(j *job) {
	if !j.taskDirty {
		j.taskDirty = true
		j.writes++
		u := c.unwritten(j.owner())
		u.jobs = append(u.jobs, j)
	}
}

func (c *Core) touchWave(w *waveState) {
	if !w.dirty {
		w.dirty = true
		w.dag.writes++
		p := c.unwritten(w.dag.uid)
		p.waves = append(p.waves, w)
	}
}

// handled records that a revision of a job or DAG has been handled.
func (c *Core) handled(handled engine.JobHandled, ofDAG bool) {
	c.acting[handled.UID]++
	u := c.unwritten(handled.UID)
	u.handled, u.ofDAG = append(u.handled, handled), ofDAG
}

func (c *Core) commandDone(command engine.Command) {
	u := c.unwritten(command.JobUID)
	u.done = append(u.done, engine.CommandDone{ID: command.ID, At: command.At})
}

// putLetter leaves the dead letter of a run.
func (c *Core) putLetter(r *engine.Run) {
	u := c.unwritten(r.JobUID)
	u.letters = append(u.letters, attempt.Letter(r, c.now))
}

// dropLetter removes the dead letter of a run that is not dead any more. It is in the store, as the end of the run is.
func (c *Core) dropLetter(r *engine.Run) {
	u := c.unwritten(r.JobUID)
	u.unletter = append(u.unletter, r.ID)
}

func (c *Core) setTimer(slot **wheel.Timer[timer], at time.Time, t timer) {
	c.wheel.Cancel(*slot)
	*slot = c.wheel.Schedule(at, t)
}

func (c *Core) stopTimer(slot **wheel.Timer[timer]) {
	c.wheel.Cancel(*slot)
	*slot = nil
}
