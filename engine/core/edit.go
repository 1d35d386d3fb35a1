package core

import (
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/plan"
)

// park stops or restarts the job's clock as Paused says, if that was so at an instant. Slots up to a pause are accounted for; those of
// the pause are left for when it is over.
func (c *Core) park(j *job, at time.Time) {
	changed := plan.Earlier(j.pausedAt(c.now), c.now)
	switch paused := j.task.Paused(); {
	case j.def.Paused && !paused && !changed.After(at):
		if !j.delays() {
			c.allOverdue(j, changed)
		}
		c.setPaused(j, engine.Parked)
	case !j.def.Paused && paused:
		c.setPaused(j, changed)
	}
}

// setPaused writes down until when the job was paused.
func (c *Core) setPaused(j *job, until time.Time) {
	j.task.PausedUntil = until
	c.lookAt(j)
}

// firstSlot plans a job that has no scheduled task: a new one, or one that had no schedule before.
func (c *Core) firstSlot(j *job) {
	c.planAfterEdit(j, nil, plan.Since(j.def, nil, j.schedule.Kind(), j.def.Generation == 1))
	if j.stoppedAfterEdit() {
		c.setPaused(j, engine.Parked)
	}
}

// replan moves a scheduled task from the generation it was made for to the current one.
func (c *Core) replan(j *job) {
	idle := j.task.Slot.Equal(engine.Parked)
	old := j.specs[j.task.Generation]
	c.planAfterEdit(j, c.closeOld(j), plan.Since(j.def, old, j.schedule.Kind(), old == nil))
	if idle && j.stoppedAfterEdit() {
		c.setPaused(j, engine.Parked)
	}
}

// closeOld accounts for the slots of the schedule that an edit replaced, up to the edit, under the rules of before.
// It returns that schedule, nil if it had no fixed slots.
func (c *Core) closeOld(j *job) *cron.Schedule {
	old := j.specs[j.task.Generation]
	if old == nil {
		return nil
	}
	previous := *j.def
	previous.Spec, previous.Generation, previous.UpdatedAt = *old, j.task.Generation, j.def.CreatedAt
	replaced := plan.Compile(old, &previous)
	if replaced == nil || replaced.Kind() == cron.KindAfter || replaced.Kind() == cron.KindManual {
		return nil
	}
	schedule, def, inOrder := j.schedule, j.def, j.catchesUpInOrder()
	j.schedule, j.def = replaced, &previous
	c.park(j, def.UpdatedAt)
	c.allOverdue(j, def.UpdatedAt)
	if !inOrder {
		for _, slot := range j.task.Waiting {
			c.note(j, slot, engine.OutcomeSkipped, engine.ReasonEdited)
		}
		j.task.Waiting = nil
	}
	j.schedule, j.def = schedule, def
	return replaced
}

// planAfterEdit plans the first slot after an edit, and notes those that it has taken away. replaced is the previous schedule, nil
// if it had no fixed slots.
func (c *Core) planAfterEdit(j *job, replaced *cron.Schedule, edited time.Time) {
	if live := j.latestLiveSlot(); j.delays() && !live.IsZero() {
		c.moveTo(j, replaced, live, true) // the next one counts from its end
		return
	}
	away, slot, ok := plan.AfterEdit(j.schedule, replaced, j.task, edited)
	for _, slot := range away {
		c.note(j, slot, engine.OutcomeSkipped, engine.ReasonEdited)
	}
	c.moveTo(j, replaced, slot, ok && !j.had)
}

// moveTo moves a scheduled task on to the first slot of another schedule.
func (c *Core) moveTo(j *job, replaced *cron.Schedule, slot time.Time, ok bool) {
	if j.task != nil {
		plan.Remember(j.task, replaced, j.def.UpdatedAt)
		if !j.task.Paused() { // the clock may have gone back behind the end of the pause
			j.task.PausedUntil = plan.Earlier(j.task.PausedUntil, c.now)
		}
	}
	c.setSlot(j, slot, ok)
}
