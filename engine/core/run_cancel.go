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
		case r.PendingSkip != "":
			c.revokeAttempt(r, 1)
		case r.maybePublished:
			c.takeBack(r, engine.ReasonCancelled)
		case r.job.dag != nil && r.awaitsTurn(): // its wave ends it then
		case r.job.dag != nil && (r.Attempt > 0 || r.Item != nil), r.job.dag == nil && (r.Waiting || r.Slot.IsZero()):
			c.end(r, engine.StatusCancelled, attempt.CancelReason(&r.Run))
		default:
			c.dropPrepared(r, engine.ReasonCancelled)
		}
	case engine.StatusRetrying:
		c.end(r, engine.StatusCancelled, attempt.CancelReason(&r.Run))
	case engine.StatusQueued, engine.StatusRunning:
		c.askToCancel(r)
	default:
	}
}

// askToCancel asks for the end of a run that is to be cancelled: the queue while the attempt is not claimed, its executor
// afterwards, again and again until it ends.
func (c *Core) askToCancel(r *run) {
	if r.PendingSkip != "" {
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
		c.perform(Ask{engine.Control{Kind: engine.ControlCancel, Run: r.ID, Attempt: r.Attempt}})
		c.setTimer(&r.resend, c.now.Add(c.config.Resend), timer{kind: timerResend, of: r})
	default:
	}
}

func (c *Core) revokeAttempt(r *run, attempt int) {
	if r.revoke {
		return
	}
	r.revoke = true
	c.afterCommit(r, Revoke{Shard: r.Shard, Run: r.ID, Attempt: attempt, Tier: string(r.Tier), Class: string(r.Class), RunsOn: r.RunsOn})
}

// giveUp takes a run that has not been queued out of the way.
func (c *Core) giveUp(r *run, reason engine.SlotReason) {
	if r.maybePublished {
		c.takeBack(r, reason)
		return
	}
	c.dropPrepared(r, reason)
}

// takeBack gives up a run that a crashed engine may have published: its attempt is revoked first, and if an executor was faster
// the run continues. The decision is durable before that, as what led to it is: an edit or a pause that is said to be acted on.
func (c *Core) takeBack(r *run, reason engine.SlotReason) {
	if r.PendingSkip != "" {
		return
	}
	r.PendingSkip = reason
	c.touch(r)
	c.stopTimer(&r.timer)
	c.revokeAttempt(r, 1)
}

// tookBack ends what takeBack began: no executor will ever execute the run.
func (c *Core) tookBack(r *run) {
	if r.CancelBy != "" && (r.Waiting || r.Slot.IsZero()) {
		r.PendingSkip = ""
		c.beginAttempt(r, c.now) // a manual retry must not use its number again
		a := r.Current()
		a.Status, a.FinishedAt = engine.StatusCancelled, c.now.Truncate(time.Microsecond)
		c.end(r, engine.StatusCancelled, attempt.CancelReason(&r.Run))
		return
	}
	c.dropPrepared(r, r.PendingSkip)
}
