package core

import (
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/attempt"
	"github.com/tidewheel/tidewheel/engine/plan"
)

// command acts on what a user asked for. The command is deleted in the same batch, after all that it led to.
func (c *Core) command(e CommandReceived) {
	if e.Command.Kind.AboutWave() {
		c.waveCommand(e)
		return
	}
	if e.DAG != nil { // about the run of a task
		c.loadDAG(e.DAG)
		if r := c.runs[e.Command.RunID]; r != nil && e.Command.Kind == engine.CommandCancel {
			c.cancel(r, e.Command.By)
		}
		c.commandDone(e.Command)
		return
	}
	if e.Snapshot.UID != "" {
		c.loadJob(&e.Snapshot)
	}
	j := c.jobs[e.Command.JobUID]
	if e.Command.Kind == engine.CommandBackfill {
		c.lookUpBackfill(j, e.Command)
		return
	}
	defer c.commandDone(e.Command)
	if j == nil {
		return
	}
	r := c.runs[e.Command.RunID]
	switch e.Command.Kind {
	case engine.CommandStart:
		if e.Run == nil && e.Command.Run != nil {
			c.start(j, e.Command.Run.Clone())
		}
	case engine.CommandCancel:
		if r != nil {
			c.cancel(r, e.Command.By)
		}
	case engine.CommandRetry:
		if e.Run != nil && e.Run.Revision < j.endedRuns[e.Run.ID] {
			e.Run = nil // it was read before its end was written
		}
		c.retryByHand(j, r, e)
	default:
	}
}

// start makes a run that was asked for. Of a job that is deleted meanwhile it ends at once.
func (c *Core) start(j *job, asked engine.Run) {
	r := &run{job: j, Run: asked}
	r.Revision = 0
	c.made(r)
	if j.def == nil {
		c.abandon(r)
		return
	}
	c.pin(r)
	c.resume(r)
}

// retryByHand gives a run that ended another attempt, with its tries counted from zero; one that waits for its next
// attempt gets it now.
func (c *Core) retryByHand(j *job, r *run, e CommandReceived) {
	switch {
	case r != nil && r.Status == engine.StatusRetrying && !r.Waiting:
		c.stopTimer(&r.timer)
		c.admit(r)
	case r == nil && e.Run != nil && e.Run.Status.CanRetry() && j.def != nil && e.Run.Revision == e.Command.Revision:
		if e.Run.Status == engine.StatusDead {
			c.dropLetter(e.Run)
			c.incidents.LetterGone(e.Run)
		}
		r = c.adopt(j, e.Run.Clone())
		attempt.Anew(&r.Run)
		attempt.Retry(&r.Run, c.now, "retried by "+e.Command.By)
		c.touch(r)
		c.admit(r)
	}
}

// lookUpBackfill looks up which slots of the range have a run already.
func (c *Core) lookUpBackfill(j *job, command engine.Command) {
	if j == nil || j.def == nil {
		c.commandDone(command)
		return
	}
	var ids []string
	for _, slot := range plan.Backfill(j.schedule, command.From, command.To, c.now) {
		ids = append(ids, engine.SlotRunID(j.uid, slot))
	}
	if len(ids) == 0 {
		c.commandDone(command)
		return
	}
	c.Hold(j.uid)               // until backfill
	u := c.unwritten(j.owner()) // what is being removed is there no more then
	u.after = append(u.after, LookUpRuns{Command: command, IDs: ids})
}

// backfill makes the runs that are missing in the range.
func (c *Core) backfill(e RunsLookedUp) {
	c.commandDone(e.Command)
	defer c.letGo(e.Command.JobUID)
	j := c.jobs[e.Command.JobUID]
	if j == nil || j.def == nil {
		return
	}
	c.idle = append(c.idle, j)
	for _, slot := range plan.Backfill(j.schedule, e.Command.From, e.Command.To, c.now) {
		if exists, asked := e.Exists[engine.SlotRunID(j.uid, slot)]; asked && !exists { // others have come since it was asked
			c.begin(j, slot, engine.TriggerBackfill, e.Command.By)
		}
	}
}
