package core

import (
	"maps"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// overdueChunk bounds the slots that one step looks at for one job; the rest follows in the next step, so that a job
// with a slot each second does not hold up all others after a long outage.
const overdueChunk = 50_000

// overdue accounts for slots up to an instant that have passed without being prepared: those within the grace fire as
// if nothing had happened, older ones and those of a pause as the catch-up policy says, and what is not brought back is
// noted in the ledger. Of more than overdueChunk slots that reach until now the rest is left for the next step.
func (c *Core) overdue(j *job, until time.Time, reason engine.SlotReason) {
	if until.Equal(c.now) {
		if j.task != nil && !j.task.Slot.After(until) {
			c.overdueSome(j, until, reason)
		}
		return
	}
	c.allOverdue(j, until, reason)
}

// allOverdue is overdue, and leaves nothing for the next step: a schedule that is replaced, or stopped, has none.
func (c *Core) allOverdue(j *job, until time.Time, reason engine.SlotReason) {
	for j.task != nil && !j.task.Slot.After(until) {
		before := j.task.Slot
		c.overdueSome(j, until, reason)
		if !j.task.Slot.After(before) {
			return
		}
	}
}

func (c *Core) overdueSome(j *job, until time.Time, reason engine.SlotReason) {
	late := c.now.Add(-c.config.Grace)
	if reason == engine.ReasonPaused {
		late = until.Add(1) // what passed in a pause was not late
	}
	policy := j.def.Spec.CatchUp
	keep := 0
	switch policy.Policy {
	case spec.CatchUpNone:
	case spec.CatchUpAll:
		keep = c.config.MaxCatchUp
	case spec.CatchUpLast:
		keep = 1
	default:
		keep = 1
	}
	if reason == engine.ReasonPaused && j.def.Paused { // it was edited meanwhile: nothing of before comes back
		keep = 0
	}
	oldest := time.Time{}
	if policy.Window > 0 {
		oldest = c.now.Add(-time.Duration(policy.Window))
	}

	var passed []time.Time // older than the grace
	var recent []time.Time
	slot, more := j.task.Slot, true
	for more && !slot.After(until) && len(passed) < overdueChunk {
		switch {
		case j.task.Takes(slot):
		case slot.Before(late):
			passed = append(passed, slot)
		default:
			recent = append(recent, slot)
		}
		slot, more = j.schedule.Next(slot)
	}
	unfinished := more && !slot.After(until)

	if policy.Policy != spec.CatchUpAll && !unfinished {
		for _, s := range recent { // a slot that fires now is the last one; older ones are superseded
			if !j.schedule.Excluded(s) {
				keep = 0
			}
		}
	}
	back := map[int]bool{}
	for i := len(passed) - 1; i >= 0 && len(back) < keep; i-- {
		if passed[i].Before(oldest) {
			break
		}
		if !j.schedule.Excluded(passed[i]) {
			back[i] = true
		}
	}
	if unfinished && len(back) > 0 { // later slots may take their place: stop before them and look again
		first := 0
		for first < len(passed) && !back[first] {
			first++
		}
		if first > 0 {
			slot, passed = passed[first], passed[:first]
			back = nil
		}
	}

	if j.dag != nil { // the wave of one slot ends before that of the next begins
		if second := another(back); second > 0 {
			slot, more, passed, recent = passed[second], true, passed[:second], nil
		}
	}

	outcome := engine.OutcomeMissed
	if reason == engine.ReasonPaused {
		outcome = engine.OutcomeSkipped
	}
	var fire []time.Time
	for i, s := range passed {
		switch {
		case back[i]:
			fire = append(fire, s)
		case j.schedule.Excluded(s):
			c.note(j, s, engine.OutcomeSkipped, engine.ReasonBlackout)
		default:
			c.note(j, s, outcome, reason)
		}
	}
	for _, s := range recent {
		if j.schedule.Excluded(s) {
			c.note(j, s, engine.OutcomeSkipped, engine.ReasonBlackout)
		}
	}
	c.setSlot(j, slot, more)
	for _, s := range fire {
		c.begin(j, s, engine.TriggerCatchUp, "")
	}
	for _, s := range recent {
		if !j.schedule.Excluded(s) {
			c.begin(j, s, engine.TriggerSchedule, "")
		}
	}
}

// another gives the second of the slots that are brought back, 0 if there are not two.
func another(back map[int]bool) int {
	indexes := slices.Sorted(maps.Keys(back))
	if len(indexes) < 2 {
		return 0
	}
	return indexes[1]
}
