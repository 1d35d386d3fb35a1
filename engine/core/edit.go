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
	c.planAfterEdit(j, plan.Since(j.def, nil, j.schedule.Kind(), j.def.Generation == 1), func(time.Time) bool { return false })
	if j.stoppedAfterEdit() {
		j.task.RunAt = engine.Parked
	}
}

// replan moves a scheduled task from the generation it was made for to the present one.
func (c *Core) replan(j *job) {
	paused := j.task.RunAt.Equal(engine.Parked) && (!j.task.Slot.Equal(engine.Parked) || j.stoppedAfterEdit())
	old, oldSlot := j.specs[j.task.Generation], j.task.Slot
	previous := c.closeOld(j)
	c.planAfterEdit(j, plan.Since(j.def, old, j.schedule.Kind(), old == nil), func(slot time.Time) bool {
		return previous != nil && slot.Before(oldSlot) && plan.Names(previous, slot)
	})
	if paused {
		j.task.RunAt = engine.Parked
	}
}

// closeOld accounts for the slots of the schedule that an edit replaced, up to the edit, under the rules of before.
// It answers that schedule, nil if it had no fixed slots.
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
	j.schedule, j.def, j.open = replaced, &previous, nil
	parked := j.task.RunAt.Equal(engine.Parked) && !j.task.Slot.Equal(engine.Parked)
	for _, span := range plan.UntilEdit(parked, def.Paused, def.PausedAt, def.UpdatedAt) {
		c.allOverdue(j, span.Until, span.Reason)
	}
	j.schedule, j.def, j.open = schedule, def, nil
	return replaced
}

// planAfterEdit plans the first slot after an edit, and notes those that it has taken away.
func (c *Core) planAfterEdit(j *job, edited time.Time, done func(time.Time) bool) {
	if live := j.latestLiveSlot(); j.delays() && !live.IsZero() {
		c.setSlot(j, live, true) // the next one counts from its end
		j.task.Since = j.task.Accounted
		return
	}
	away, slot, ok := plan.AfterEdit(j.schedule, j.task, edited, c.now.Add(c.config.Lead), func(slot time.Time) bool {
		return done(slot) || j.hasRunOf(slot)
	})
	for _, slot := range away {
		c.note(j, slot, engine.OutcomeSkipped, engine.ReasonEdited)
	}
	c.setSlot(j, slot, ok)
	j.task.Since = j.task.Accounted
}
