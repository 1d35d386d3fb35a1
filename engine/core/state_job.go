package core

import (
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
)

// owner is the uid of the job, or of the DAG that it is a task of.
func (j *job) owner() string {
	if j.dag != nil {
		return j.dag.uid
	}
	return j.uid
}

// takeTask takes the job's scheduled task from the store.
func (j *job) takeTask(task engine.ScheduledTask) {
	if task.RunAt.Equal(engine.Parked) && !task.Slot.Equal(engine.Parked) { // all that earlier versions wrote of a pause
		task.PausedUntil = engine.Parked
	}
	j.task, j.taskStored = &task, true
}

// latestLiveSlot returns the latest slot of the runs that have not ended.
func (j *job) latestLiveSlot() time.Time {
	var latest time.Time
	for _, r := range j.live {
		if r.Slot.After(latest) {
			latest = r.Slot
		}
	}
	return latest
}

// hasRunAt reports whether a run of a slot is among those that have not ended.
func (j *job) hasRunAt() bool { return !j.latestLiveSlot().IsZero() }

// delays reports whether the job's schedule is a fixed delay.
func (j *job) delays() bool { return j.schedule != nil && j.schedule.Kind() == cron.KindAfter }

// pausedAt is when the job was paused or resumed last.
func (j *job) pausedAt(otherwise time.Time) time.Time {
	if j.def.PausedAt.IsZero() {
		return otherwise
	}
	return j.def.PausedAt
}

// stoppedAfterEdit reports whether the job was paused or resumed after its current version was written. Where nothing was planned
// before, the slots between the two count as paused: they may lie in a pause of before, and no slot of a pause fires. Only a
// new job that is paused was surely not paused before.
func (j *job) stoppedAfterEdit() bool {
	return j.def.PausedAt.After(j.def.UpdatedAt) && !(j.def.Paused && j.def.Generation == 1)
}

// scheduled reports whether a task is a CRON root in the present definition.
func (j *job) scheduled() bool {
	return j.schedule != nil && j.schedule.Kind() != cron.KindManual
}

func (j *job) countWaiting() int {
	n := 0
	for _, r := range j.live {
		if r.Waiting {
			n++
		}
	}
	return n
}

// nextWaiting returns the run that goes next: what a schedule asked for before what was backfilled, then the oldest.
func (j *job) nextWaiting() *run {
	var next *run
	for _, r := range j.live {
		if r.Waiting && r.PendingSkip == "" && (next == nil || (next.Trigger == engine.TriggerBackfill && r.Trigger != engine.TriggerBackfill)) {
			next = r
		}
	}
	return next
}
