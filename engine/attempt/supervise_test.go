package attempt_test

import (
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/attempt"
)

// An executor that lived through an outage of the queue could neither keep its lock nor report, and is given the time of a lock to do so.
func TestNoLossIsDeclaredUntilAnExecutorCouldReportAfterAnOutage(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	times := attempt.Times{LockTTL: 10 * time.Second, Margin: time.Second}
	run := &engine.Run{Status: engine.StatusRunning}
	for _, last := range []engine.ResultKind{engine.ResultStarted, engine.ResultProgress, ""} {
		state := engine.AttemptState{Last: last, Since: now.Add(-4 * time.Second)}
		if found := attempt.Inspected(run, state, false, times, now); found.Lost || !found.AskAt.Equal(now.Add(7*time.Second)) {
			t.Errorf("%q, 4 seconds after the outage: %+v", last, found)
		}
		state.Since = now.Add(-10 * time.Second)
		if found := attempt.Inspected(run, state, false, times, now); !found.Lost || !found.AskAt.Equal(now.Add(10*time.Second)) {
			t.Errorf("%q, 10 seconds after it: %+v", last, found)
		}
		state.LockHeld, state.LockUntil = true, now.Add(3*time.Second)
		if found := attempt.Inspected(run, state, false, times, now); found.Lost || !found.AskAt.Equal(now.Add(4*time.Second)) {
			t.Errorf("%q, with its lock: %+v", last, found)
		}
	}
	state := engine.AttemptState{Last: engine.ResultFinished, Since: now.Add(-time.Hour)}
	if found := attempt.Inspected(run, state, false, times, now); found.Lost || !found.AskAt.After(now) {
		t.Errorf("its end is on the way: %+v", found)
	}
}
