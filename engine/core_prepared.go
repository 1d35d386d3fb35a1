package engine

import (
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/spec"
)

// takeBackPrepared undoes prepared runs whose slot has not come, after an edit, a pause or a deletion. A slot that
// the new definition names too keeps its run, made anew.
func (c *Core) takeBackPrepared(j *job) {
	for _, r := range append([]*run(nil), j.live...) {
		if r.Status != StatusScheduled || r.Trigger != TriggerSchedule || r.Waiting || r.back != "" || !r.Slot.After(c.now) {
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
		reason := ReasonEdited
		switch {
		case j.def != nil && j.def.Paused:
			reason = ReasonPaused
		case j.def != nil && j.schedule != nil && j.schedule.Excluded(r.Slot):
			reason = ReasonBlackout
		}
		c.giveUp(r, reason)
	}
}

// outdated says why a run that was prepared before a crash is not to be fired, "" if it is.
func (c *Core) outdated(r *run) SlotReason {
	def := r.job.def
	switch {
	case r.unpassed():
		return ReasonPaused
	case r.Trigger != TriggerSchedule || r.Waiting || r.Attempt > 0:
		return ""
	case def.Paused && r.Slot.After(r.job.pausedAt(r.Slot)):
		return ReasonPaused
	case def.Generation != r.Generation && r.Slot.After(def.UpdatedAt) && (r.job.schedule == nil || !names(r.job.schedule, r.Slot)):
		return ReasonEdited
	}
	return ""
}

// unpassed reports whether a run that has not begun is of a slot at which the job's clock stands still: the engine that made
// it had not heard of the pause, and its task was refused.
func (r *run) unpassed() bool {
	return r.Attempt == 0 && (r.Trigger == TriggerSchedule || r.Trigger == TriggerCatchUp) && r.job.stands() && !r.Slot.Before(r.job.task.Slot)
}

// stands reports whether a job's clock stands still, at its next slot.
func (j *job) stands() bool {
	return j.def.Paused && j.task != nil && j.task.RunAt.Equal(Parked) && j.schedule != nil && j.schedule.Kind() != cron.KindAfter
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
func (c *Core) giveUp(r *run, reason SlotReason) {
	if c.mayBePublished(r) {
		c.takeBack(r, reason)
		return
	}
	c.dropPrepared(r, reason)
}

// mayBePublished reports whether somebody else may publish what this engine has only prepared: one that crashed, or another
// owner at its slot, before that one's write is refused.
func (c *Core) mayBePublished(r *run) bool {
	return r.doubt || c.config.Writer != 0 && r.Task == "" && r.Attempt == 0 && r.Revision > 0
}

// takeBack gives up a run that a crashed engine may have published: its attempt is revoked first, and if an executor
// was faster the run goes on.
func (c *Core) takeBack(r *run, reason SlotReason) {
	if r.back != "" {
		return
	}
	r.back = reason
	c.stopTimer(&r.timer)
	c.revokeAttempt(r, 1)
}

// tookBack ends what takeBack began: nobody will ever execute the run.
func (c *Core) tookBack(r *run) {
	noted := !r.Slot.IsZero() && r.told() // it was to be dropped before a crash
	if r.CancelBy != "" && r.job.dag == nil && (r.Waiting || r.Slot.IsZero()) && !noted {
		r.back = ""
		c.beginAttempt(r, c.now) // a retry by hand must not use its number again
		a := r.Current()
		a.Status, a.FinishedAt = StatusCancelled, c.now.Truncate(time.Microsecond)
		c.end(r, StatusCancelled, cancelReason(&r.Run))
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
func (c *Core) dropPrepared(r *run, reason SlotReason) {
	if !r.Slot.IsZero() && r.Trigger != TriggerUpstream && !r.told() { // what its wave began has the slot of that
		outcome, by := OutcomeSkipped, r
		if reason == ReasonOutage {
			outcome = OutcomeMissed
		}
		// Made when the scheduled task passed its slot over, which is not written either; or the run has to tell of another.
		if r.Revision == 0 || r.GivenUp != nil {
			by = nil
		}
		if slots := c.noteBy(by, r.job, r.Slot, outcome, reason); by != nil {
			given := slots.SlotRange
			r.GivenUp = &given
		}
		if def := r.job.def; def != nil && def.Generation != r.Generation {
			r.job.open = nil // a slot of another schedule is no part of a range
		}
	}
	c.drop(r)
}

// isGivenUp reports whether the run is about to be removed: what it tells of is its own slot.
func (r *run) isGivenUp() bool {
	return r.GivenUp != nil && r.Trigger != TriggerUpstream && r.GivenUp.To.Equal(r.Slot)
}

// tellBefore says once more what became of the slot of the run in whose place this one is, if it is in one's.
func (c *Core) tellBefore(r *run) {
	if r.GivenUp != nil && !r.isGivenUp() {
		c.putAgain(r.job, r, *r.GivenUp)
	}
}

// giveUpAgain removes a run that another engine has given up, and says of its slot what that one did.
func (c *Core) giveUpAgain(r *run) {
	c.putAgain(r.job, r, *r.GivenUp)
	c.drop(r)
}

// drop removes a run that nobody has been asked to execute, and whose slot is accounted for otherwise.
func (c *Core) drop(r *run) {
	if r.Revision > 0 {
		p := c.unwritten(r.job.owner())
		p.drops = append(p.drops, r)
		r.job.writes++
	}
	r.Status = StatusInvalid
	c.release(r)
}

// undrop takes back a run whose removal has not been written, to begin anew in its place; nil if there is none. What became
// of its slot comes to the ledger after this write: so a run of a task, whose id any slot may have, goes on telling it.
func (c *Core) undrop(j *job, id string) *run {
	p := c.pending.of[j.owner()]
	at := p.dropOf(id)
	if at < 0 {
		return nil
	}
	r := &run{job: j, Run: p.drops[at].Run.Clone()}
	p.drops = slices.Delete(p.drops, at, at+1)
	j.writes--
	r.Status, r.Slot, r.Waiting, r.Reason = StatusScheduled, time.Time{}, false, ""
	if r.Task == "" {
		r.GivenUp = nil
	}
	c.hold(r)
	c.touch(r)
	return r
}
