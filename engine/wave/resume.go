package wave

import (
	"maps"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
)

// Restore brings a wave to what its stored runs say. What one of them led to was written with it.
func (w *Wave) Restore(runs []engine.Run) {
	w.Known = map[string]*engine.Run{}
	learned := newPast()
	for i := range runs {
		r := runs[i].Clone()
		if _, ok := w.TaskOf(&r); !ok {
			continue
		}
		if r.Status.Terminal() {
			w.Known[r.ID] = &r
			w.blameRun(&r)
		}
		w.learn(learned, &r)
	}
	w.derive(learned)
}

// Stop lets no item of a mapped task under way begin any more, and returns those tasks: the wave is being cancelled.
func (w *Wave) Stop() []int {
	w.active = nil
	stopped := slices.DeleteFunc(slices.Sorted(maps.Keys(w.fans)), func(task int) bool {
		return w.State.State(task) != dag.Running // it is run again, and its turn has not come
	})
	for _, task := range stopped {
		w.fans[task].Stop()
	}
	return stopped
}

// EndStopped ends a mapped task of which nothing runs any more, and returns the tasks that this closes.
func (w *Wave) EndStopped(task int) (closed []int) {
	if f := w.fans[task]; f.Done() && w.State.State(task) == dag.Running {
		closed, _ = w.State.Mark(task, f.Outcome())
	}
	return closed
}

// Resume goes on with a wave that has ended, as by asks, and returns the tasks that are decided anew: what succeeded stays. marked is the
// task that a user has marked, "" for none: what was skipped after it is decided anew.
func (w *Wave) Resume(by, marked string, now time.Time) (reset []int) {
	w.CancelBy = ""
	if now := now.Truncate(time.Microsecond); now.After(w.FinishedAt) {
		w.Rests = append(slices.Clone(w.Rests), engine.WaveRest{From: w.FinishedAt, To: now})
	}
	w.Status, w.Reason, w.FinishedAt, w.Tally = engine.StatusRunning, "", time.Time{}, engine.WaveTally{}
	w.Resumed++
	w.By = by
	w.active, w.first, w.firstAt = nil, "", time.Time{} // what failed is run again
	if task, ok := w.Definition.Task(marked); ok {
		return w.State.Resume(task)
	}
	return w.State.Resume()
}

// KeepMark holds a task to what an operator has said of it, also where a task that it needs is run again.
func (w *Wave) KeepMark(name string, as engine.Status, reset []int) []int {
	task, ok := w.Definition.Task(name)
	if !ok || !slices.Contains(reset, task) {
		return reset
	}
	closed, _ := w.State.Mark(task, StateOf(as))
	if known := w.Known[engine.TaskRunID(w.ID, name)]; known != nil {
		w.blameRun(known)
	}
	for _, other := range closed {
		if !slices.Contains(reset, other) {
			reset = append(reset, other)
		}
	}
	return slices.DeleteFunc(reset, func(other int) bool { return other == task })
}

// Again returns the runs of a task that is run again which are to be taken up. The list of a mapped one is made anew when its
// turn comes: the tasks that it is made from may be run again, too. silent reports whether none of its runs would say that it
// is run again: those items that did not succeed had never begun.
func (w *Wave) Again(task int) (runs []*engine.Run, silent bool) {
	name := w.Name(task)
	if known := w.Known[engine.TaskRunID(w.ID, name)]; known != nil {
		runs = append(runs, known)
	}
	f := w.fans[task]
	if f == nil {
		return runs, false
	}
	delete(w.fans, task)
	single := len(runs)
	for item := range f.Len() {
		if known := w.Known[engine.ItemRunID(w.ID, item, name)]; known != nil && known.Status != engine.StatusSucceeded {
			runs = append(runs, known)
		}
	}
	return runs, len(runs) == single
}
