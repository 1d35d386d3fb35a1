package core

import (
	"slices"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/attempt"
	"github.com/tidewheel/tidewheel/engine/plan"
	"github.com/tidewheel/tidewheel/spec"
)

// resume sets a run's timer as its status says: after it was made, or loaded from the store.
func (c *Core) resume(r *run) {
	if c.runs[r.ID] != r {
		return
	}
	if r.job.def == nil {
		c.abandon(r)
		return
	}
	c.watch(r)
	switch r.Status {
	case engine.StatusScheduled:
		at := plan.Later(r.Slot, r.NotBefore)
		switch {
		case r.Trigger == engine.TriggerUpstream || r.job.dag != nil && r.awaitsTurn(): // its wave lets it go
		case r.PendingSkip != "":
			c.revokeAttempt(r, 1)
		case at.After(c.now):
			c.setTimer(&r.timer, at, timer{kind: timerFire, of: r})
		case c.outdated(r) != "":
			c.giveUp(r, c.outdated(r))
		default:
			c.fire(r)
		}
	case engine.StatusRetrying:
		c.setTimer(&r.timer, r.RetryAt, timer{kind: timerRetry, of: r})
	case engine.StatusQueued, engine.StatusRunning:
		c.inspect(r)
		c.askToCancel(r)
	default:
	}
}

// fire lets a scheduled run go at its slot, unless an earlier run of its job is in the way.
func (c *Core) fire(r *run) {
	if at := r.Slot; at.After(c.now) { // the wall clock went back
		c.setTimer(&r.timer, at, timer{kind: timerFire, of: r})
		return
	}
	if r.untouched() && c.superseded(r) { // the engine was suspended meanwhile
		c.giveUp(r, engine.ReasonOutage)
		return
	}
	c.admit(r)
}

// outdated returns why a run that was prepared before a crash is not to be fired, "" if it is.
func (c *Core) outdated(r *run) engine.SlotReason {
	def := r.job.def
	switch {
	case r.Trigger != engine.TriggerSchedule || r.Waiting || r.Attempt > 0:
		return ""
	case def.Paused && r.Slot.After(r.job.pausedAt(r.Slot)):
		return engine.ReasonPaused
	case def.Generation != r.Generation && r.Slot.After(def.UpdatedAt) && (r.job.schedule == nil || !plan.Names(r.job.schedule, r.Slot)):
		return engine.ReasonEdited
	}
	return ""
}

// superseded reports whether a prepared run whose slot passed in an outage is not to be brought back.
func (c *Core) superseded(r *run) bool {
	if r.spec == nil {
		return false
	}
	later := slices.ContainsFunc(r.job.live, func(other *run) bool { return other.Slot.After(r.Slot) && !other.Slot.After(c.now) })
	return plan.Superseded(r.spec.CatchUp, r.Slot, c.now, c.config.Grace, later)
}

// admit applies the overlap policy to a run whose time has come.
func (c *Core) admit(r *run) {
	j := r.job
	if j.dag != nil && r.Status == engine.StatusScheduled {
		c.admitRoot(r)
		return
	}
	blocker := c.blocker(j, r)
	if blocker == nil || j.dag != nil {
		c.enqueue(r)
		return
	}
	switch plan.Overlap(&r.Run, &blocker.Run, r.spec) {
	case spec.OverlapAllow:
		c.enqueue(r)
	case spec.OverlapSkip:
		if !blocker.underWay() || blocker.unheard && c.now.Before(r.due().Add(hearWithin)) {
			r.hearing = true
			c.setTimer(&r.timer, c.now.Add(hearEvery), timer{kind: timerFire, of: r})
			return
		}
		c.giveUp(r, engine.ReasonOverlap)
	case spec.OverlapReplace:
		var waiting, underWay []*run
		for _, other := range j.live {
			switch {
			case other == r:
			case other.Waiting && other.Status == engine.StatusScheduled && other.Trigger == engine.TriggerSchedule:
				waiting = append(waiting, other)
			case !other.Waiting && other.Status != engine.StatusScheduled:
				underWay = append(underWay, other)
			case other.PendingSkip != "" || other.undecided(c.now) && other.due().Before(r.due()): // should it be under way, it is cancelled
				other.CancelBy = attempt.ReplacedBy(r.ID)
				c.touch(other)
				c.takeBack(other, engine.ReasonReplaced)
			}
		}
		for _, other := range waiting {
			c.giveUp(other, engine.ReasonReplaced)
		}
		for _, other := range underWay {
			c.cancel(other, attempt.ReplacedBy(r.ID))
		}
		if blocker = c.blocker(j, r); blocker == nil {
			blocker = j.nextWaiting() // it came first, and goes now
		}
		if blocker == nil {
			c.enqueue(r)
			return
		}
		c.wait(r, blocker)
	default:
		if r.Trigger == engine.TriggerSchedule && r.Status == engine.StatusScheduled && !r.Waiting && j.countWaiting() >= c.config.MaxWaiting {
			c.giveUp(r, engine.ReasonQueueFull)
			return
		}
		c.wait(r, blocker)
	}
}

func (c *Core) wait(r, blocker *run) {
	r.Waiting = true
	r.Reason = "waits for run " + blocker.ID
	c.touch(r)
}

// blocker returns a live run of the job that must end before another may be queued, nil if there is none.
func (c *Core) blocker(j *job, except *run) *run {
	for _, r := range j.live {
		if r == except {
			continue
		}
		if r.underWay() || r.PendingSkip != "" || except != nil && r.goesBefore(except, c.now) {
			return r
		}
	}
	return nil
}
