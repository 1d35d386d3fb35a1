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

// Redo reports which tasks of a wave that has ended are run or decided again.
type Redo struct {
	// Marked is a task that a user has marked, "" for none: what was skipped after it is decided again.
	Marked string
	// Cleared is the task that a user has run again, "" for all that did not succeed.
	Cleared string
	Item    *int // of Cleared, only this item; nil for all
	Alone   bool // Cleared without the tasks that come after it
}

// Resume resumes a wave that has ended, as by asks, and returns the tasks that are run or decided again.
func (w *Wave) Resume(by string, redo Redo, now time.Time) []int {
	w.CancelBy = ""
	if now := now.Truncate(time.Microsecond); now.After(w.FinishedAt) {
		w.Rests = append(slices.Clone(w.Rests), engine.WaveRest{From: w.FinishedAt, To: now})
	}
	w.Status, w.Reason, w.FinishedAt, w.Tally = engine.StatusRunning, "", time.Time{}, engine.WaveTally{}
	w.Resumed++
	w.By = by
	w.active, w.first, w.firstAt = nil, "", time.Time{}
	reset := w.putBack(redo)
	w.Kept = nil
	for task, f := range w.fans {
		if slices.Contains(reset, task) {
			continue
		}
		if w.Kept == nil {
			w.Kept = map[string]int{}
		}
		w.Kept[w.Name(task)] = f.Len()
	}
	return reset
}

// putBack puts tasks back that are run or decided again, and returns them.
func (w *Wave) putBack(redo Redo) []int {
	if task, ok := w.Definition.Task(redo.Cleared); ok {
		cleared := []int{task}
		if !redo.Alone {
			cleared = append(cleared, w.Definition.Graph.Downstream(task)...)
		}
		return w.State.Clear(cleared...)
	}
	if task, ok := w.Definition.Task(redo.Marked); ok {
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
	for _, other := range closed {
		if !slices.Contains(reset, other) {
			reset = append(reset, other)
		}
	}
	return slices.DeleteFunc(reset, func(other int) bool { return other == task })
}

// Again is a task that is run or decided again.
type Again struct {
	Task int
	Runs []*engine.Run // those that are to be taken up
	// Silent reports whether none of its runs would say that it is run again: those items that did not succeed had never begun.
	Silent bool
}

// Again returns which runs of the tasks that Resume has put back are to be taken up: what succeeded stays, unless its task was cleared or
// comes after one that was. The list of a mapped one is recreated when its turn comes: the tasks that it is made from may be run
// again, too.
func (w *Wave) Again(reset []int, redo Redo) []Again {
	known := map[string][]*engine.Run{}
	for _, id := range slices.Sorted(maps.Keys(w.Known)) {
		r := w.Known[id]
		stays := r.Status == engine.StatusSucceeded && redo.Cleared == ""
		if redo.Cleared == r.Task && redo.Item != nil {
			stays = r.Item != nil && *r.Item != *redo.Item && r.Status != engine.StatusSkipped // the list may have it again
		}
		if r.Item == nil || !stays {
			known[r.Task] = append(known[r.Task], r)
		}
	}
	var all []Again
	for _, task := range reset {
		_, mapped := w.fans[task]
		delete(w.fans, task)
		runs := known[w.Name(task)]
		noItem := !slices.ContainsFunc(runs, func(r *engine.Run) bool { return r.Item != nil })
		all = append(all, Again{Task: task, Runs: runs, Silent: mapped && noItem})
	}
	return all
}

// CloseCancelled returns the mapped tasks that were cancelled before all of their items had begun, and stay so. Such items have no runs, and
// only the wave said that they do not begin. From now on a run of the task says so, and what its items have left is handed on no more.
func (w *Wave) CloseCancelled() (tasks []int) {
	for _, task := range slices.Sorted(maps.Keys(w.fans)) {
		if w.State.State(task) == dag.Cancelled && !w.allBegun(task) {
			tasks = append(tasks, task)
			delete(w.fans, task)
		}
	}
	return tasks
}

// allBegun reports whether all items of a mapped task have runs that have ended.
func (w *Wave) allBegun(task int) bool {
	for item := range w.fans[task].Len() {
		if w.Known[engine.ItemRunID(w.ID, item, w.Name(task))] == nil {
			return false
		}
	}
	return true
}

// Reopened takes up a run that had ended, for another attempt or another end: what it has left counts no more.
func (w *Wave) Reopened(id string) {
	delete(w.Known, id)
	delete(w.results, id)
}

// BlameKnown finds what failed first of the runs that stay as they are, after Reopened for all others.
func (w *Wave) BlameKnown() {
	for _, id := range slices.Sorted(maps.Keys(w.Known)) {
		w.blameRun(w.Known[id])
	}
}
