package core

import (
	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/plan"
)

// plan makes the job's scheduled task say what its definition says, accounts for slots that have passed, and sets
// the timer for the next.
func (c *Core) plan(j *job) {
	c.stopTimer(&j.timer)
	j.postpone = false
	if j.def == nil {
		if j.task != nil {
			j.task = nil
			c.touchTask(j)
		}
		return
	}
	if j.schedule == nil || j.schedule.Kind() == cron.KindManual {
		c.stopPlanning(j)
		return
	}
	switch {
	case j.task == nil:
		c.firstSlot(j)
	case j.task.Generation != j.def.Generation:
		c.replan(j)
	}
	c.park(j, c.now)
	switch {
	case j.def.Paused || j.task.Slot.Equal(engine.Parked):
	case j.delays() && j.hasRunAt():
		c.checkAfter(j)
	case j.delays():
		c.arm(j)
	default:
		c.overdue(j, c.now)
		c.arm(j)
	}
}

// stopPlanning parks the task of a definition that has no schedule any more.
func (c *Core) stopPlanning(j *job) {
	if j.task == nil {
		return
	}
	if j.task.Generation != j.def.Generation {
		c.moveTo(j, c.closeOld(j), engine.Parked, true)
	}
	c.park(j, c.now)
}

// takeBackPrepared undoes prepared runs whose slot has not come, after an edit, a pause or a deletion. A slot that
// the new definition names too keeps its run, recreated.
func (c *Core) takeBackPrepared(j *job) {
	for _, r := range append([]*run(nil), j.live...) {
		if r.Status != engine.StatusScheduled || r.Trigger != engine.TriggerSchedule || r.Waiting || r.PendingSkip != "" || !r.Slot.After(c.now) {
			continue
		}
		if j.dag != nil && r.awaitsTurn() { // the clock went back behind its slot
			continue
		}
		if j.def != nil && !j.def.Paused && r.Generation == j.def.Generation {
			continue
		}
		if j.def != nil && !j.def.Paused && j.schedule != nil && plan.Names(j.schedule, r.Slot) && !j.schedule.Excluded(r.Slot) {
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
