package core

import (
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/plan"
)

// park stops or restarts the job's clock as Paused says, and deals with the slots until then.
func (c *Core) park(j *job) {
	switch parked := j.task.RunAt.Equal(engine.Parked); {
	case j.def.Paused && !parked:
		c.allOverdue(j, plan.Earlier(j.pausedAt(c.now), c.now), engine.ReasonOutage)
		j.task.RunAt = engine.Parked
		c.touchTask(j)
	case !j.def.Paused && parked:
		j.task.RunAt = j.task.Slot
		c.touchTask(j)
		if j.pausedAt(c.now).After(c.now) { // it was resumed by a clock that is ahead of this one
			c.allOverdue(j, c.now, engine.ReasonPaused)
		}
		c.overdue(j, plan.Earlier(j.pausedAt(c.now), c.now), engine.ReasonPaused)
		c.overdue(j, c.now, engine.ReasonOutage)
	case !j.def.Paused:
		c.overdue(j, c.now, engine.ReasonOutage)
	}
}

// firstSlot plans a job that has no scheduled task: a new one, or one that had no schedule before.
func (c *Core) firstSlot(j *job) {
	c.planAfterEdit(j, nil, plan.Since(j.def, nil, j.schedule.Kind(), j.def.Generation == 1))
	if j.stoppedAfterEdit() {
		c.beginPaused(j)
	}
}

// replan moves a scheduled task from the generation it was made for to the present one.
func (c *Core) replan(j *job) {
	idle := j.task.Slot.Equal(engine.Parked)
	paused := j.task.RunAt.Equal(engine.Parked) && !idle
	old := j.specs[j.task.Generation]
	c.planAfterEdit(j, c.closeOld(j), plan.Since(j.def, old, j.schedule.Kind(), old == nil))
	switch {
	case paused:
		j.task.RunAt = engine.Parked
	case idle && j.stoppedAfterEdit():
		c.beginPaused(j)
	}
}

// beginPaused lets the slots of a schedule count as paused until the job was paused or resumed last.
func (c *Core) beginPaused(j *job) {
	if j.def.Paused && !j.delays() {
		c.allOverdue(j, plan.Earlier(j.def.PausedAt, c.now), engine.ReasonPaused)
	}
	j.task.RunAt = engine.Parked
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
	schedule, def := j.schedule, j.def
	j.schedule, j.def = replaced, &previous
	parked := j.task.RunAt.Equal(engine.Parked) && !j.task.Slot.Equal(engine.Parked)
	changed := plan.Earlier(def.PausedAt, c.now) // no slot that lies ahead, because the clock went back, came before a pause
	for _, span := range plan.UntilEdit(parked, def.Paused, changed, def.UpdatedAt) {
		c.allOverdue(j, span.Until, span.Reason)
	}
	j.schedule, j.def = schedule, def
	return replaced
}

// planAfterEdit plans the first slot after an edit, and notes those that it has taken away. replaced is the schedule of before, nil
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
	c.moveTo(j, replaced, slot, ok)
}

// moveTo moves a scheduled task on to the first slot of another schedule.
func (c *Core) moveTo(j *job, replaced *cron.Schedule, slot time.Time, ok bool) {
	if j.task != nil {
		plan.Remember(j.task, replaced, j.def.UpdatedAt)
	}
	c.setSlot(j, slot, ok)
}
