package core

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/plan"
)

// A fixed delay (`after`) has no slots of its own: the next one is the end of the last run plus the delay. While a run
// is under way the scheduled task stays at that run's slot, with a RunAt at which the engine checks
// it from time to time.
const afterCheck = time.Minute

func (c *Core) prepareAfter(j *job) {
	if j.hasRunAt() {
		c.checkAfter(j)
		return
	}
	slot := j.task.Slot
	if j.schedule.Excluded(slot) {
		c.note(j, slot, engine.OutcomeSkipped, engine.ReasonBlackout)
		c.nextAfter(j, slot)
		return
	}
	c.checkAfter(j)
	c.begin(j, slot, engine.TriggerSchedule, "")
}

// checkAfter leaves the scheduled task where it is, to be checked again.
func (c *Core) checkAfter(j *job) {
	j.task.RunAt = c.now.Add(afterCheck).Truncate(time.Millisecond)
	c.touchTask(j)
	c.setTimer(&j.timer, j.task.RunAt, timer{kind: timerPrepare, of: j})
}

// afterRun plans what follows a run's end: the next slot; or that which came while the run, one of an earlier slot that was
// retried, was in its way.
func (c *Core) afterRun(j *job, r *run) {
	if j.def == nil || !j.delays() || j.task == nil || j.task.Slot.Equal(engine.Parked) {
		return
	}
	switch {
	case r.Slot.Equal(j.task.Slot):
		c.nextAfter(j, r.FinishedAt)
	case !r.Slot.IsZero() && !j.def.Paused && !j.hasRunAt() && !j.task.RunAt.Equal(j.task.Slot):
		c.lookAt(j)
		c.arm(j)
	}
}

// nextAfter plans the slot that follows a run's end.
func (c *Core) nextAfter(j *job, end time.Time) {
	if end.IsZero() {
		end = c.now
	}
	// No slot comes again: not where the wall clock went back; nor where the run had ended long before an edit, was tried
	// again manually, and is cancelled while it waits; nor where a version before an edit had it.
	end = plan.Later(plan.Later(end, j.task.Accounted), plan.Later(j.task.Slot, j.def.UpdatedAt))
	for _, taken := range j.task.Taken {
		end = plan.Later(end, taken)
	}
	slot, ok := j.schedule.Next(end)
	c.setSlot(j, slot, ok)
	c.arm(j)
}
