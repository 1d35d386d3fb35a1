package core

import (
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
)

// park stops or restarts the job's clock as Paused says, and deals with the slots until then.
func (c *Core) park(j *job) {
	switch parked := j.task.RunAt.Equal(engine.Parked); {
	case j.def.Paused && !parked:
		c.allOverdue(j, earlier(j.pausedAt(c.now), c.now), engine.ReasonOutage)
		j.task.RunAt = engine.Parked
		c.touchTask(j)
	case !j.def.Paused && parked:
		j.task.RunAt = j.task.Slot
		c.touchTask(j)
		c.overdue(j, earlier(j.pausedAt(c.now), c.now), engine.ReasonPaused)
		c.overdue(j, c.now, engine.ReasonOutage)
	case !j.def.Paused:
		c.overdue(j, c.now, engine.ReasonOutage)
	}
}

// firstSlot plans a job that has no scheduled task: a new one, or one that had no schedule before.
func (c *Core) firstSlot(j *job) {
	since := j.def.UpdatedAt
	if j.schedule.Kind() == cron.KindAt && j.def.Generation == 1 {
		since = time.Time{} // a moment that passed while the definition was on its way is late, not gone
	}
	c.planAfterEdit(j, since, func(time.Time) bool { return false })
	if j.resumedAfterEdit() {
		j.task.RunAt = engine.Parked
	}
}

// replan moves a scheduled task from the generation it was made for to the present one.
func (c *Core) replan(j *job) {
	paused := j.task.RunAt.Equal(engine.Parked) && (!j.task.Slot.Equal(engine.Parked) || j.resumedAfterEdit())
	old, oldSlot := j.specs[j.task.Generation], j.task.Slot
	previous := c.closeOld(j)
	since := j.def.UpdatedAt
	if j.schedule.Kind() == cron.KindAt && (old == nil || old.At == nil || !old.At.Equal(*j.def.Spec.At)) {
		since = time.Time{}
	}
	c.planAfterEdit(j, since, func(slot time.Time) bool {
		return previous != nil && slot.Before(oldSlot) && names(previous, slot)
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
	replaced := compile(old, &previous)
	if replaced == nil || replaced.Kind() == cron.KindAfter || replaced.Kind() == cron.KindManual {
		return nil
	}
	edited := j.def.UpdatedAt
	schedule, def := j.schedule, j.def
	j.schedule, j.def, j.open = replaced, &previous, nil
	switch parked := j.task.RunAt.Equal(engine.Parked) && !j.task.Slot.Equal(engine.Parked); {
	case parked && !previous.Paused:
		c.allOverdue(j, earlier(edited, j.pausedAt(edited)), engine.ReasonPaused)
		c.allOverdue(j, edited, engine.ReasonOutage)
	case parked:
		c.allOverdue(j, edited, engine.ReasonPaused)
	case previous.Paused:
		c.allOverdue(j, earlier(edited, j.pausedAt(edited)), engine.ReasonOutage)
		c.allOverdue(j, edited, engine.ReasonPaused)
	default:
		c.allOverdue(j, edited, engine.ReasonOutage)
	}
	j.schedule, j.def, j.open = schedule, def, nil
	return replaced
}

// planAfterEdit plans the first slot after an edit. Until the engine saw the edit it went on with the schedule of
// before: slots up to the last one of those are not planned again. The new schedule's own among them are noted, unless
// done says that the old schedule had named them too, or the old one was planned from after them. Where the wall clock went
// back, those that lie ahead belong to a time that has passed once: the schedule begins after it, as any other goes on
// after it.
func (c *Core) planAfterEdit(j *job, edited time.Time, done func(time.Time) bool) {
	if j.schedule.Kind() == cron.KindAfter {
		if live := j.latestLiveSlot(); !live.IsZero() {
			c.setSlot(j, live, true) // the next one counts from its end
			return
		}
	}
	slot, ok := j.schedule.Next(edited)
	if j.task != nil && j.schedule.Kind() != cron.KindAfter && (j.schedule.Kind() != cron.KindAt || !edited.IsZero()) {
		ahead := c.now.Add(c.config.Lead)
		for ; ok && !slot.After(j.task.Accounted); slot, ok = j.schedule.Next(slot) {
			if !slot.After(ahead) && slot.After(j.task.Since) && !j.task.Takes(slot) && !done(slot) && !j.hasRunOf(slot) {
				c.note(j, slot, engine.OutcomeSkipped, engine.ReasonEdited)
			}
		}
	}
	c.setSlot(j, slot, ok)
	j.task.Since = j.task.Accounted
}
