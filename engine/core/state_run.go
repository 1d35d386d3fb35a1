package core

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// due is when a run may first be queued.
func (r *run) due() time.Time {
	switch {
	case !r.NotBefore.IsZero():
		return r.NotBefore
	case !r.Slot.IsZero() && r.Trigger != engine.TriggerBackfill:
		return r.Slot
	}
	return r.CreatedAt
}

// underWay reports whether an attempt of the run is queued or running, or the next one is awaited.
func (r *run) underWay() bool {
	return r.Status == engine.StatusQueued || r.Status == engine.StatusRunning || r.Status == engine.StatusRetrying && !r.Waiting
}

// undecided reports whether the time of the run has come and it is not decided yet what becomes of it: an engine that crashed may
// have published it, and this one has not acted on it; or it waits for news of the run before it.
func (r *run) undecided(now time.Time) bool {
	return (r.maybePublished || r.hearing) && r.Status == engine.StatusScheduled && !r.Waiting && !r.due().After(now)
}

// goesBefore reports whether it is to be decided first what happens to a run. Of two whose time has come that is the one that is due
// earlier. What an engine before has prepared it may have published, by a clock that is ahead or went back since; of two such runs
// it published the earlier one first.
func (r *run) goesBefore(other *run, now time.Time) bool {
	if r.maybePublished && !other.maybePublished && (r.untouched() || r.undecided(now)) {
		return true
	}
	return r.undecided(now) && r.due().Before(other.due())
}

// untouched reports whether a run was prepared for its slot, and nothing has come of it yet.
func (r *run) untouched() bool {
	return r.Status == engine.StatusScheduled && r.Attempt == 0 && r.Trigger == engine.TriggerSchedule && !r.Waiting
}

// prepared reports whether a run is one that is published at its time without another commit. One that waits for its turn, or is of
// a task, is not: it depends on others.
func (r *run) prepared() bool {
	return r.Status == engine.StatusScheduled && !r.Waiting && r.Task == ""
}

// gone reports whether a run was dropped.
func (r *run) gone() bool { return r.Status == engine.StatusInvalid }

// openWave returns the wave that a run belongs to, nil unless that is open.
func (r *run) openWave() *waveState {
	if r.job.dag == nil || r.job.dag.open == nil || r.job.dag.open.ID != r.Wave {
		return nil
	}
	return r.job.dag.open
}

// awaitsTurn reports whether a scheduled run is of a task that the open wave will come to: one that is run again, or an
// item beyond max_parallel. The run that was prepared for a root's slot is not.
func (r *run) awaitsTurn() bool {
	w := r.openWave()
	if w == nil {
		return false
	}
	task, ok := w.TaskOf(&r.Run)
	if ok && r.Attempt == 0 && !w.Definition.Graph.Root(task) && (r.Trigger == engine.TriggerSchedule || r.Trigger == engine.TriggerCatchUp) {
		return false // an edit has given the root needs: the run goes with its slot
	}
	return ok && (r.Item != nil || r.Attempt > 0 || w.ByHand() || w.Had(r.Task))
}

// An engine that has just taken over, or was started, knows of a run what the store says: it may have ended meanwhile, and
// the news of that be on the way. A slot is skipped because of it only once something was heard of it, or hearWithin after the
// slot: within the grace, so that it is not late where the run has ended.
const (
	hearEvery  = 100 * time.Millisecond
	hearWithin = 5 * time.Second
)
