package core

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/attempt"
)

// cancel ends a run, by whichever way its status leaves.
func (c *Core) cancel(r *run, by string) {
	if r.CancelBy == "" {
		r.CancelBy = by
		c.touch(r)
	}
	switch r.Status {
	case engine.StatusScheduled:
		switch {
		case r.back != "":
		case r.doubt:
			c.takeBack(r, engine.ReasonCancelled)
		case r.job.dag != nil && r.awaitsTurn(): // its wave ends it then
		case r.job.dag != nil && r.Attempt == 0 && r.Item == nil:
			c.dropPrepared(r, engine.ReasonCancelled)
		case r.job.dag != nil:
			c.end(r, engine.StatusCancelled, attempt.CancelReason(&r.Run))
		case r.Waiting || r.Slot.IsZero():
			c.end(r, engine.StatusCancelled, attempt.CancelReason(&r.Run))
		default:
			c.dropPrepared(r, engine.ReasonCancelled)
		}
	case engine.StatusRetrying:
		c.end(r, engine.StatusCancelled, attempt.CancelReason(&r.Run))
	case engine.StatusQueued, engine.StatusRunning:
		c.askToCancel(r)
	case engine.StatusInvalid, engine.StatusSucceeded, engine.StatusFailed, engine.StatusTimedOut, engine.StatusCancelled, engine.StatusLost, engine.StatusDead, engine.StatusSkipped:
	}
}

// awaitsTurn reports whether a scheduled run is of a task that the open wave will come to: one that is run again, or an
// item beyond max_parallel. The run that was prepared for a root's slot is not.
func (r *run) awaitsTurn() bool {
	w := r.openWave()
	if w == nil {
		return false
	}
	task, ok := w.TaskOf(&r.Run)
	if ok && r.Attempt == 0 && !w.Definition.Graph.Root(task) && (r.Trigger == engine.TriggerSchedule || r.Trigger == engine.TriggerCatchUp) {
		return false // an edit has given the root needs: the run goes with its slot
	}
	return ok && (r.Item != nil || r.Attempt > 0 || w.ByHand() || w.Had(r.Task))
}

// askToCancel asks whoever can to end a run that is to be cancelled: the queue while nobody has claimed the attempt,
// its executor afterwards, again and again until it ends.
func (c *Core) askToCancel(r *run) {
	if r.back != "" {
		c.revokeAttempt(r, r.Attempt+1)
		return
	}
	if r.CancelBy == "" {
		return
	}
	switch r.Status {
	case engine.StatusQueued:
		c.revokeAttempt(r, r.Attempt)
	case engine.StatusRunning:
		c.atOnce(Ask{engine.Control{Kind: engine.ControlCancel, Run: r.ID, Attempt: r.Attempt}})
		c.setTimer(&r.resend, c.now.Add(c.config.Resend), timer{kind: timerResend, run: r})
	case engine.StatusInvalid, engine.StatusScheduled, engine.StatusRetrying, engine.StatusSucceeded, engine.StatusFailed, engine.StatusTimedOut, engine.StatusCancelled,
		engine.StatusLost, engine.StatusDead, engine.StatusSkipped:
	}
}

func (c *Core) revokeAttempt(r *run, attempt int) {
	if r.revoke {
		return
	}
	r.revoke = true
	c.afterCommit(r, Revoke{Shard: r.Shard, Run: r.ID, Attempt: attempt, Tier: string(r.Tier), Class: string(r.Class), RunsOn: r.RunsOn})
}

// revoked takes the answer to a Revoke. What follows from success comes as a result, too; whichever is first acts.
func (c *Core) revoked(e AttemptRevoked) {
	r := c.runs[e.Run]
	if r == nil || !r.revoke {
		return
	}
	r.revoke = false
	switch {
	case e.Failed:
		c.setTimer(&r.resend, c.now.Add(c.config.Resend), timer{kind: timerResend, run: r})
	case e.Attempt < r.Attempt: // that one has ended meanwhile
		c.askToCancel(r)
	case !e.Revoked:
		// An executor was faster: its claim is on the way, or somebody else has had it. Of a queued run that is found out.
		if r.back != "" {
			r.back = ""
			r.Waiting = false
			c.beginAttempt(r, c.now)
		} else if r.Status == engine.StatusQueued {
			c.setTimer(&r.timer, c.now.Add(time.Second), timer{kind: timerInspect, run: r})
		}
	case r.back != "":
		c.tookBack(r)
	case e.Attempt == r.Attempt && r.Status == engine.StatusQueued:
		c.follow(r, attempt.Revoked(&r.Run, c.now, r.outlived, c.now))
	}
}
