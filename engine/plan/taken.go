package plan

import (
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
)

// kept is how many slots that it has passed a task remembers at most, for an edit that is seen late.
const kept = 32

// Take adds a slot to those that a task has taken.
func Take(task *engine.ScheduledTask, slot time.Time) {
	if !task.Takes(slot) {
		task.Taken = append(slices.Clone(task.Taken), slot)
		trim(task)
	}
}

// Remember adds the slots after an edit that the replaced schedule has accounted for, as the next schedule does not say which they
// were. replaced is nil where it had no fixed slots: then they are in the task already.
func Remember(task *engine.ScheduledTask, replaced *cron.Schedule, edited time.Time) {
	if task.Accounted.After(edited) {
		edited = Later(task.Since, edited)
	} // else nothing after the edit is accounted for, also where the clock went back behind the edit before it
	task.Since = edited
	taken := slices.DeleteFunc(slices.Clone(task.Taken), func(slot time.Time) bool { return !slot.After(task.Since) })
	if replaced != nil {
		for slot := range replaced.Between(task.Since, task.Accounted) {
			if slot.Before(task.Slot) && !task.Takes(slot) {
				taken = append(taken, slot)
			}
		}
	}
	task.Taken = taken
	trim(task)
}

// Forget removes from the taken slots those that the task has passed and its schedule names: they are accounted for as all that it passes.
func Forget(task *engine.ScheduledTask, s *cron.Schedule) {
	if len(task.Taken) == 0 || s == nil || s.Kind() == cron.KindAfter {
		return
	}
	var left []time.Time // memory of its own: an earlier version of the task may be on its way to the store
	for _, slot := range task.Taken {
		if passed(s, task, slot) {
			task.Accounted = Later(task.Accounted, slot)
		} else {
			left = append(left, slot)
		}
	}
	task.Taken = left
}

// trim keeps the latest of the taken slots that the task has passed. What it forgets is before Since from then on.
func trim(task *engine.ScheduledTask) {
	if len(task.Taken) <= kept {
		return
	}
	slices.SortFunc(task.Taken, time.Time.Compare)
	n := 0
	for n < len(task.Taken) && task.Taken[n].Before(task.Slot) {
		n++
	}
	if over := n - kept; over > 0 {
		task.Since = Later(task.Since, task.Taken[over-1])
		task.Taken = task.Taken[over:]
	}
}
