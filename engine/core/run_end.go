package core

import (
	"slices"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/attempt"
)

// rules is what decides, beside the run, what follows the end of its attempt.
func (c *Core) rules(r *run) attempt.Rules {
	rules := attempt.Rules{Spec: r.spec, MaxLosses: c.config.MaxLosses, Unfetched: c.config.Unfetched, Random: c.rand}
	if r.job.def == nil {
		rules.Spec = nil
	}
	return rules
}

// follow does what follows an attempt that has ended.
func (c *Core) follow(r *run, next attempt.Next) {
	if next.Status != engine.StatusRetrying {
		c.end(r, next.Status, next.Reason)
		return
	}
	attempt.Retry(&r.Run, next.At, next.Reason)
	c.touch(r)
	c.setTimer(&r.timer, r.RetryAt, timer{kind: timerRetry, of: r})
}

// end gives a run its terminal status. One whose tries are used up leaves a dead letter.
func (c *Core) end(r *run, status engine.Status, reason string) {
	attempt.End(&r.Run, status, reason, c.now)
	if status == engine.StatusDead {
		c.putLetter(&r.Run)
	}
	c.touch(r)
	c.release(r)
}

// dropPrepared removes a run that was not published, and records in the ledger what happened to its slot.
func (c *Core) dropPrepared(r *run, reason engine.SlotReason) {
	if !r.Slot.IsZero() && r.Trigger != engine.TriggerUpstream { // what its wave began has the slot of that
		outcome := engine.OutcomeSkipped
		if reason == engine.ReasonOutage {
			outcome = engine.OutcomeMissed
		}
		c.noteOf(r.job, r.Generation, r.Slot, outcome, reason)
	}
	c.drop(r)
}

// drop removes a run that was not published, and whose slot is accounted for otherwise.
func (c *Core) drop(r *run) {
	if r.Revision > 0 {
		u := c.unwritten(r.job.owner())
		u.drops = append(u.drops, r)
		r.job.writes++
	}
	r.Status = engine.StatusInvalid
	c.release(r)
}

// release takes a run out of the core. Its job, or its wave, continues at the end of the step.
func (c *Core) release(r *run) {
	c.stopTimer(&r.timer)
	c.stopTimer(&r.resend)
	if r.watch != nil {
		c.stopTimer(&r.watch.timer)
	}
	delete(c.runs, r.ID)
	c.count(r, engine.RunCount{})
	j := r.job
	j.live = slices.DeleteFunc(j.live, func(other *run) bool { return other == r })
	if !r.gone() {
		c.alertOfEnd(r)
		if j.endedRuns == nil {
			j.endedRuns = map[string]int64{}
		}
		j.endedRuns[r.ID] = r.Revision
		if r.dirty {
			j.endedRuns[r.ID]++ // with the write to come
		}
	}
	c.ended = append(c.ended, r)
}
