package core

import (
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/attempt"
	"github.com/tidewheel/tidewheel/spec"
)

// takeBackPrepared undoes prepared runs whose slot has not come, after an edit, a pause or a deletion. A slot that
// the new definition names too keeps its run, made anew.
func (c *Core) takeBackPrepared(j *job) {
	for _, r := range append([]*run(nil), j.live...) {
		if r.Status != engine.StatusScheduled || r.Trigger != engine.TriggerSchedule || r.Waiting || r.back != "" || !r.Slot.After(c.now) {
			continue
		}
		if j.dag != nil && r.awaitsTurn() { // the clock went back behind its slot
			continue
		}
		if j.def != nil && !j.def.Paused && r.Generation == j.def.Generation {
			continue
		}
		if j.def != nil && !j.def.Paused && j.schedule != nil && names(j.schedule, r.Slot) && !j.schedule.Excluded(r.Slot) {
			c.pin(r)
			c.touch(r)
			continue
		}
		reason := engine.ReasonEdited
		switch {
		case j.def != nil && j.def.Paused:
			reason = engine.ReasonPaused
		case j.def != nil && j.schedule != nil && j.schedule.Excluded(r.Slot):
			reason = engine.ReasonBlackout
		}
		c.giveUp(r, reason)
		if r.gone() {
			c.afterRun(j, r) // before the next slot is planned
		}
	}
}

// outdated says why a run that was prepared before a crash is not to be fired, "" if it is.
func (c *Core) outdated(r *run) engine.SlotReason {
	def := r.job.def
	switch {
	case r.Trigger != engine.TriggerSchedule || r.Waiting || r.Attempt > 0:
		return ""
	case def.Paused && r.Slot.After(r.job.pausedAt(r.Slot)):
		return engine.ReasonPaused
	case def.Generation != r.Generation && r.Slot.After(def.UpdatedAt) && (r.job.schedule == nil || !names(r.job.schedule, r.Slot)):
		return engine.ReasonEdited
	}
	return ""
}

// superseded reports whether a prepared run whose slot passed in an outage is not to be brought back.
func (c *Core) superseded(r *run) bool {
	if r.spec == nil || !r.Slot.Before(c.now.Add(-c.config.Grace)) {
		return false
	}
	policy := r.spec.CatchUp
	if policy.Window > 0 && r.Slot.Before(c.now.Add(-time.Duration(policy.Window))) {
		return true
	}
	switch policy.Policy {
	case spec.CatchUpNone:
		return true
	case spec.CatchUpAll:
		return false
	case spec.CatchUpLast:
	}
	for _, other := range r.job.live {
		if other.Slot.After(r.Slot) && !other.Slot.After(c.now) {
			return true
		}
	}
	return false
}

// giveUp takes a run that has not been queued out of the way.
func (c *Core) giveUp(r *run, reason engine.SlotReason) {
	if r.doubt {
		c.takeBack(r, reason)
		return
	}
	c.dropPrepared(r, reason)
}

// takeBack gives up a run that a crashed engine may have published: its attempt is revoked first, and if an executor
// was faster the run goes on.
func (c *Core) takeBack(r *run, reason engine.SlotReason) {
	if r.back != "" {
		return
	}
	r.back = reason
	c.stopTimer(&r.timer)
	c.revokeAttempt(r, 1)
}

// tookBack ends what takeBack began: nobody will ever execute the run.
func (c *Core) tookBack(r *run) {
	if r.CancelBy != "" && r.job.dag == nil && (r.Waiting || r.Slot.IsZero()) {
		r.back = ""
		c.beginAttempt(r, c.now) // a retry by hand must not use its number again
		a := r.Current()
		a.Status, a.FinishedAt = engine.StatusCancelled, c.now.Truncate(time.Microsecond)
		c.end(r, engine.StatusCancelled, attempt.CancelReason(&r.Run))
		return
	}
	c.dropPrepared(r, r.back)
}

// names reports whether slot is one of the schedule's.
func names(s *cron.Schedule, slot time.Time) bool {
	if s.Kind() == cron.KindAfter {
		return true
	}
	next, ok := s.Next(slot.Add(-time.Millisecond))
	return ok && next.Equal(slot)
}

// dropPrepared removes a run that nobody has been asked to execute, and says in the ledger what became of its slot.
func (c *Core) dropPrepared(r *run, reason engine.SlotReason) {
	if !r.Slot.IsZero() && r.Trigger != engine.TriggerUpstream { // what its wave began has the slot of that
		outcome := engine.OutcomeSkipped
		if reason == engine.ReasonOutage {
			outcome = engine.OutcomeMissed
		}
		c.note(r.job, r.Slot, outcome, reason)
		if def := r.job.def; def != nil && def.Generation != r.Generation {
			r.job.open = nil // a slot of another schedule is no part of a range
		}
	}
	c.drop(r)
}

// drop removes a run that nobody has been asked to execute, and whose slot is accounted for otherwise.
func (c *Core) drop(r *run) {
	if r.Revision > 0 {
		u := c.unwritten(r.job.owner())
		u.drops = append(u.drops, r)
		r.job.writes++
	}
	r.Status = engine.StatusInvalid
	c.release(r)
}
