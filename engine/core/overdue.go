package core

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/plan"
	"github.com/tidewheel/tidewheel/spec"
)

// overdue accounts for slots up to an instant that have passed without being prepared: those within the grace fire as
// if nothing had happened, older ones and those of a pause as the catch-up policy says, and what is not brought back is
// noted in the ledger. What plan.Overdue leaves comes in the next step.
func (c *Core) overdue(j *job, until time.Time) {
	if j.task.Slot.After(until) {
		return
	}
	overdue := plan.Overdue{
		Schedule: j.schedule, Task: j.task, CatchUp: j.def.Spec.CatchUp, Until: until, Now: c.now,
		Grace: c.config.Grace, Most: c.config.MaxCatchUp - len(j.task.Waiting),
	}
	passed := overdue.Passed()
	for _, note := range passed.Notes {
		c.note(j, note.Slot, note.Outcome, note.Reason)
	}
	c.setSlot(j, passed.Next, passed.More)
	for _, slot := range passed.CatchUp {
		if j.catchesUpInOrder() {
			c.enqueueSlot(j, slot)
		} else {
			c.begin(j, slot, engine.TriggerCatchUp, "")
		}
	}
	for _, slot := range passed.OnTime {
		if len(j.task.Waiting) > 0 { // it runs after those
			c.enqueueSlot(j, slot)
		} else {
			c.begin(j, slot, engine.TriggerSchedule, "")
		}
	}
}

// allOverdue is overdue, and leaves nothing for the next step: a schedule that is replaced, or stopped, has none.
func (c *Core) allOverdue(j *job, until time.Time) {
	for !j.task.Slot.After(until) {
		c.overdue(j, until)
	}
}

// catchesUpInOrder reports whether missed slots are run one wave after the other: for a root that catches up all of them.
func (j *job) catchesUpInOrder() bool {
	return j.dag != nil && j.scheduled() && j.def.Spec.CatchUp.Policy == spec.CatchUpAll
}

// enqueueSlot appends a slot to those that wait for an earlier wave.
func (c *Core) enqueueSlot(j *job, slot time.Time) {
	if len(j.task.Waiting) >= c.config.MaxCatchUp {
		c.note(j, slot, engine.OutcomeSkipped, engine.ReasonQueueFull)
		return
	}
	j.task.Waiting = append(j.task.Waiting, slot)
	c.account(j, slot)
	c.touchTask(j)
}

// startNextWaitingSlot starts the longest waiting slot of a root, if the root has no run in the wave that the slot belongs to.
func (c *Core) startNextWaitingSlot(j *job) {
	for j.task != nil && !j.def.Paused && len(j.task.Waiting) > 0 && c.runs[j.nextRunID()] == nil {
		slot := j.task.Waiting[0]
		j.task.Waiting = j.task.Waiting[1:]
		c.touchTask(j)
		c.begin(j, slot, engine.TriggerCatchUp, "")
	}
}
