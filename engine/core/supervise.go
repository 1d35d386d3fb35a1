package core

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/attempt"
)

// lookLater sets the timer that makes sure that a queued task is still in the queue: JetStream acknowledges before it
// syncs to disk, so a power cut may take what it had acknowledged.
func (c *Core) lookLater(r *run) {
	wait := c.config.Requeue << min(r.looks, 2)
	r.looks++
	c.setTimer(&r.timer, c.now.Add(wait), timer{kind: timerInspect, run: r})
}

// published takes the queue's answer to a Publish.
func (c *Core) published(e TaskPublished) {
	r := c.runs[e.Run]
	if r == nil || r.Attempt != e.Attempt || r.Status != engine.StatusQueued || !e.Failed {
		return
	}
	c.setTimer(&r.timer, c.now.Add(time.Second), timer{kind: timerInspect, run: r})
}

// dropped gives a run whose task the queue has let go another attempt. Published once more under the same number its task
// would have to be let go again, behind a backlog that is as long: nobody could tell it from a copy of a claimed one. Of the
// next attempt there is no other copy, so that it may wait for as long as it takes.
func (c *Core) dropped(e TaskDropped) {
	r := c.runs[e.Run]
	if r == nil || r.Attempt != e.Attempt || r.Status != engine.StatusQueued {
		return
	}
	r.outlived = true
	c.revokeAttempt(r, r.Attempt)
}

// Awaits reports whether an attempt is to be claimed, as far as the core has heard. What was to be published once
// something is durable may have been claimed meanwhile, by a copy from before, and have ended: a copy that came after
// that would wait in the queue until nobody remembers the claim.
func (c *Core) Awaits(run string, attempt int) bool {
	r := c.runs[run]
	return r != nil && r.Attempt == attempt && r.Status == engine.StatusQueued && r.CancelBy == "" // else it is being taken back
}

// inspect asks the queue how the current attempt stands.
func (c *Core) inspect(r *run) {
	switch r.Status {
	case engine.StatusQueued:
		if r.dirty || r.writing { // it waits for the store, and most likely it is published after that
			c.setTimer(&r.timer, c.now.Add(c.config.Requeue), timer{kind: timerInspect, run: r})
			return
		}
		c.lookLater(r)
	case engine.StatusRunning:
		// The answer sets the timer anew; without an answer the question is asked again.
		c.setTimer(&r.timer, c.now.Add(c.config.LockTTL), timer{kind: timerInspect, run: r})
	default:
		return
	}
	look := Inspect{Shard: r.Shard, Run: r.ID, Attempt: r.Attempt, Locks: attempt.Locks(&r.Run, r.spec)}
	if r.Status == engine.StatusQueued {
		look.Tier, look.Class, look.RunsOn = string(r.Tier), string(r.Class), r.RunsOn
	}
	c.atOnce(look)
}

// inspected acts on the queue's answer.
func (c *Core) inspected(e AttemptInspected) {
	r := c.runs[e.Run]
	if r == nil || r.Attempt != e.Attempt || (r.Status != engine.StatusQueued && r.Status != engine.StatusRunning) {
		return // the attempt has ended meanwhile: the run's timer is for what comes next
	}
	if e.Failed {
		c.setTimer(&r.timer, c.now.Add(time.Second), timer{kind: timerInspect, run: r})
		return
	}
	if e.State.Last == "" || e.State.LockHeld { // else what has come of it is on the way
		r.unheard = false
	}
	found := attempt.Inspected(&r.Run, e.State, r.revoke, attempt.Times{LockTTL: c.config.LockTTL, Margin: c.config.Margin}, c.now)
	if !found.LookAt.IsZero() {
		c.setTimer(&r.timer, found.LookAt, timer{kind: timerInspect, run: r})
	}
	switch {
	case found.Unknown:
		c.afterCommit(r, c.publish(r, true))
	case found.Withdrawn:
		c.follow(r, attempt.Revoked(&r.Run, c.now, r.outlived, c.now))
	case found.Lost:
		c.atOnce(DeclareLost{Shard: r.Shard, Run: r.ID, Attempt: r.Attempt, After: e.State.Sequence})
	}
}

func sooner(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
