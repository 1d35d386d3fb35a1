package core

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/attempt"
)

// inspect asks the queue how the current attempt stands.
func (c *Core) inspect(r *run) {
	switch r.Status {
	case engine.StatusQueued:
		if r.dirty || r.writing { // it waits for the store, and most likely it is published after that
			c.setTimer(&r.timer, c.now.Add(c.config.Requeue), timer{kind: timerInspect, of: r})
			return
		}
		c.checkLater(r)
	case engine.StatusRunning:
		// The answer resets the timer; without an answer the question is asked again.
		c.setTimer(&r.timer, c.now.Add(c.config.LockTTL), timer{kind: timerInspect, of: r})
	default:
		return
	}
	question := Inspect{Shard: r.Shard, Run: r.ID, Attempt: r.Attempt, Locks: attempt.Locks(&r.Run, r.spec)}
	if r.Status == engine.StatusQueued {
		question.Tier, question.Class, question.RunsOn = string(r.Tier), string(r.Class), r.RunsOn
	}
	c.perform(question)
}

// inspected acts on the queue's answer.
func (c *Core) inspected(e AttemptInspected) {
	r := c.runs[e.Run]
	if r == nil || r.Attempt != e.Attempt || (r.Status != engine.StatusQueued && r.Status != engine.StatusRunning) {
		return // the attempt has ended meanwhile: the run's timer is for what comes next
	}
	if e.Failed {
		c.setTimer(&r.timer, c.now.Add(time.Second), timer{kind: timerInspect, of: r})
		return
	}
	if e.State.Last == "" || e.State.LockHeld { // else what has come of it is on the way
		r.unheard = false
	}
	found := attempt.Inspected(&r.Run, e.State, r.revoke, attempt.Times{LockTTL: c.config.LockTTL, Margin: c.config.Margin}, c.now)
	if !found.AskAt.IsZero() {
		c.setTimer(&r.timer, found.AskAt, timer{kind: timerInspect, of: r})
	}
	switch {
	case found.Unknown:
		c.afterCommit(r, c.publish(r, true))
	case found.Withdrawn:
		c.follow(r, attempt.Revoked(&r.Run, c.now, c.now))
	case found.Lost:
		c.perform(DeclareLost{Shard: r.Shard, Run: r.ID, Attempt: r.Attempt, After: e.State.Sequence})
	}
}

// abandon ends what a deleted job left behind, as far as no executor has it.
func (c *Core) abandon(r *run) {
	switch r.Status {
	case engine.StatusRunning:
		c.inspect(r)
		c.askToCancel(r) // where a user had cancelled it
	default:
		c.cancel(r, "the deletion of its job")
	}
}
