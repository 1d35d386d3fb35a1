package plan

import (
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Since is the instant that the slots of a version count from after an edit. A moment (`at`) that is new is late where it has
// passed, not gone: then it is zero. before is the version that was edited, nil if there was none.
func Since(def *engine.Job, before *spec.Job, kind cron.Kind, isNew bool) time.Time {
	if kind == cron.KindAt && (isNew || before != nil && (before.At == nil || !before.At.Equal(*def.Spec.At))) {
		return time.Time{}
	}
	return def.UpdatedAt
}

// AfterEdit returns the first slot of a schedule after an edit. Until the engine saw the edit it continued with the schedule of
// before: slots up to the last one of those are not planned again. The new schedule's own among them are edited away, unless
// replaced, the previous schedule, or one before that (Remember) accounted for them. So are those that lie ahead because the wall
// clock went back: they belong to a time that has passed once, and the schedule begins after it, as any other continues after it. task is
// what was planned before, nil for nothing; replaced is nil if it had no fixed slots.
func AfterEdit(s, replaced *cron.Schedule, task *engine.ScheduledTask, edited time.Time) (away []time.Time, slot time.Time, ok bool) {
	if task != nil && s.Kind() == cron.KindAfter {
		edited = Later(edited, task.Accounted)
	}
	slot, ok = s.Next(edited)
	if task == nil || s.Kind() == cron.KindAfter || s.Kind() == cron.KindAt && edited.IsZero() {
		return nil, slot, ok
	}
	for ; ok && !slot.After(task.Accounted); slot, ok = s.Next(slot) {
		if slot.After(task.Since) && !task.Takes(slot) && !passed(replaced, task, slot) {
			away = append(away, slot)
		}
	}
	return away, slot, ok
}

// passed reports whether a task has passed a slot of the schedule, nil for none: then it is accounted for.
func passed(s *cron.Schedule, task *engine.ScheduledTask, slot time.Time) bool {
	return s != nil && slot.Before(task.Slot) && Names(s, slot)
}
