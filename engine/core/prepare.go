package core

import (
	"github.com/tidewheel/tidewheel/engine/plan"
	"github.com/tidewheel/tidewheel/spec"
)

// prepare makes the run of the next slot shortly before it, so that at the slot only the task is left to publish.
func (c *Core) prepare(j *job) {
	if j.task == nil || j.def == nil || j.def.Paused || j.schedule == nil {
		return
	}
	slot := j.task.Slot
	if c.now.Before(slot.Add(-c.config.Lead)) { // the wall clock went back
		c.arm(j)
		return
	}
	if j.delays() {
		c.prepareAfter(j)
		return
	}
	skips := c.inTheWay(j) && j.def.Spec.Overlap == spec.OverlapSkip
	if c.now.Before(slot) && (skips || len(j.task.Waiting) > 0) {
		// It would most likely be skipped, or wait for its turn: decide at the slot, or as soon as the live run ends.
		j.postpone = true
		c.setTimer(&j.timer, slot, timer{kind: timerPrepare, of: j})
		return
	}
	j.postpone = false
	c.overdue(j, plan.Later(slot, c.now))
	c.arm(j)
}
