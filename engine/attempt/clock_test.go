package attempt_test

import (
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/attempt"
	"github.com/tidewheel/tidewheel/spec"
)

// Whatever the clock of an executor says, its attempt is claimed and ends between the instants at which the engine did
// something, and lasts as long as it did.
func TestTimesOfAnExecutorFitTheClockOfTheEngine(t *testing.T) {
	queued := time.Date(2026, 12, 31, 23, 59, 0, 0, time.UTC)
	for _, off := range []time.Duration{0, 7 * time.Minute, -7 * time.Minute} {
		run := &engine.Run{ID: "one", CreatedAt: queued}
		attempt.Begin(run, queued)
		at := func(after time.Duration) time.Time { return queued.Add(after).Add(off) }
		claim := &engine.Result{Kind: engine.ResultStarted, Executor: "x", Token: 1, At: at(2 * time.Second)}
		if !attempt.Started(run, claim, queued.Add(3*time.Second)) {
			t.Fatal("the claim is not taken")
		}
		end := &engine.Result{Kind: engine.ResultFinished, Executor: "x", Token: 1, At: at(10 * time.Second), Finish: &engine.Finish{
			Status: engine.StatusSucceeded, FetchedAt: at(3 * time.Second), StartedAt: at(4 * time.Second), FinishedAt: at(10 * time.Second),
		}}
		next := attempt.Finished(run, end, attempt.Rules{Spec: &spec.Job{}}, queued.Add(11*time.Second))
		attempt.End(run, next.Status, next.Reason, queued.Add(11*time.Second))
		a := run.Current()
		if a.ClaimedAt.Before(queued) || a.ClaimedAt.After(queued.Add(3*time.Second)) || a.FetchedAt.Before(a.ClaimedAt) {
			t.Errorf("%s off: claimed at %s, fetched at %s", off, a.ClaimedAt, a.FetchedAt)
		}
		if took := a.FinishedAt.Sub(a.StartedAt); took != 6*time.Second || a.StartedAt.Sub(a.FetchedAt) != time.Second {
			t.Errorf("%s off: it took %s", off, took)
		}
		if a.FinishedAt.After(queued.Add(11*time.Second)) || !run.FinishedAt.Equal(a.FinishedAt) || !run.StartedAt.Equal(a.StartedAt) {
			t.Errorf("%s off: the run went from %s to %s", off, run.StartedAt, run.FinishedAt)
		}
		if off == 0 && !a.FinishedAt.Equal(queued.Add(10*time.Second)) {
			t.Errorf("a clock that is right is corrected: %s", a.FinishedAt)
		}
	}
}
