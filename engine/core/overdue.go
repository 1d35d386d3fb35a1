package core

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/plan"
)

// overdue accounts for slots up to an instant that have passed without being prepared: those within the grace fire as
// if nothing had happened, older ones and those of a pause as the catch-up policy says, and what is not brought back is
// noted in the ledger. Of more than plan.Chunk slots that reach until now the rest is left for the next step, and what comes one
// wave after the other for when it is its turn.
func (c *Core) overdue(j *job, until time.Time, reason engine.SlotReason) {
	if until.Equal(c.now) {
		if !j.task.Slot.After(until) && !c.waitsItsTurn(j) {
			c.overdueSome(j, until, reason)
		}
		return
	}
	c.allOverdue(j, until, reason)
}

// allOverdue is overdue, and leaves nothing for the next step: a schedule that is replaced, or stopped, has none.
func (c *Core) allOverdue(j *job, until time.Time, reason engine.SlotReason) {
	for !j.task.Slot.After(until) {
		c.overdueSome(j, until, reason)
	}
}

func (c *Core) overdueSome(j *job, until time.Time, reason engine.SlotReason) {
	overdue := plan.Overdue{
		Schedule: j.schedule, Task: j.task, CatchUp: j.def.Spec.CatchUp, Until: until, Now: c.now, Reason: reason,
		Grace: c.config.Grace, Most: c.config.MaxCatchUp, Lapsed: reason == engine.ReasonPaused && j.def.Paused, OneByOne: j.dag != nil,
	}
	passed := overdue.Passed()
	for _, note := range passed.Notes {
		c.note(j, note.Slot, note.Outcome, note.Reason)
	}
	c.setSlot(j, passed.Next, passed.More)
	for _, slot := range passed.CatchUp {
		c.begin(j, slot, engine.TriggerCatchUp, "")
	}
	for _, slot := range passed.OnTime {
		c.begin(j, slot, engine.TriggerSchedule, "")
	}
}
