package engine

import (
	"strconv"
	"strings"
	"time"
)

// RunMark is what strips, charts and calendars need of a run. Of marks that were asked for without their instants, only
// ID, JobUID, Status and CreatedAt are set.
type RunMark struct {
	ID         string
	JobUID     string
	Status     Status
	Trigger    Trigger
	Slot       time.Time
	CreatedAt  time.Time
	StartedAt  time.Time // of the first attempt's process
	FinishedAt time.Time // of the last attempt
}

// Mark makes the mark of a run.
func (r *Run) Mark() RunMark {
	return RunMark{
		ID: r.ID, JobUID: r.JobUID, Status: r.Status, Trigger: r.Trigger, Slot: r.Slot,
		CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
	}
}

// Took returns how long a run took, from its first process to its last end, the waits between attempts included; false
// where it has not ended or never began.
func (m *RunMark) Took() (time.Duration, bool) {
	if !m.Status.Terminal() || m.StartedAt.IsZero() || m.FinishedAt.Before(m.StartedAt) {
		return 0, false
	}
	return m.FinishedAt.Sub(m.StartedAt), true
}

// Lag returns how long after its slot a run began; false where it was not fired by its schedule, or has not begun.
func (m *RunMark) Lag() (time.Duration, bool) {
	if m.Trigger != TriggerSchedule || m.Slot.IsZero() || m.StartedAt.IsZero() {
		return 0, false
	}
	return max(m.StartedAt.Sub(m.Slot), 0), true
}

// SlotOf returns the slot that a run's id was derived from; false for a manual run.
func SlotOf(runID string) (time.Time, bool) {
	_, rest, _ := strings.Cut(runID, "-")
	digits, ok := strings.CutPrefix(rest, "s")
	if !ok {
		return time.Time{}, false
	}
	milliseconds, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	return time.UnixMilli(milliseconds).UTC(), true
}

// Window is a span of time: From is in it, Until is not.
type Window struct {
	From  time.Time
	Until time.Time
}
