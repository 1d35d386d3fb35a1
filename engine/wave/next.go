package wave

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
)

// Move is what a wave does next with one of its tasks.
type Move struct {
	Task int
	Kind MoveKind

	// Of MoveRun: which run, and of an item which one, with what its list has for it.
	ID    string
	Item  *int
	Value json.RawMessage

	// Of MoveClose: how the task ends, and why. Of MoveMap: the task has so many items, and Closed are the tasks that its
	// end closes where all of them had ended already.
	State  dag.State
	Reason string
	Items  int
	Closed []int
}

// MoveKind is what is done.
type MoveKind uint8

// The kinds.
const (
	MoveRun   MoveKind = iota + 1 // a run begins: of the task, or of one of its items
	MoveClose                     // the task ends without being executed
	MoveMap                       // a mapped task begins; its items follow
)

// Next begins what may run next, as far as max_parallel lets it; false if that is nothing. Of a deleted DAG nothing begins.
func (w *Wave) Next(deleted bool, now time.Time) (Move, bool) {
	for most := w.Definition.Spec.MaxParallel; most == 0 || w.running < most; {
		if len(w.active) == 0 {
			task, ok := w.State.Take()
			if !ok {
				break
			}
			return w.start(task, deleted, now), true
		}
		task := w.active[0]
		f := w.fans[task]
		if item, ok := f.Take(); ok {
			w.running++
			return Move{Task: task, Kind: MoveRun, ID: engine.ItemRunID(w.ID, item, w.Name(task)), Item: &item, Value: f.items[item]}, true
		}
		w.active = w.active[1:]
	}
	return Move{}, false
}

// start begins a task whose rule holds, unless its condition says otherwise.
func (w *Wave) start(task int, deleted bool, now time.Time) Move {
	t := &w.Definition.Spec.Tasks[task]
	closed := func(state dag.State, reason string) Move {
		return Move{Task: task, Kind: MoveClose, State: state, Reason: reason}
	}
	failed := func(reason string) Move {
		w.blame(t.Name, reason, now)
		return closed(dag.Failed, reason)
	}
	if deleted {
		return closed(dag.Cancelled, "its DAG was deleted")
	}
	if t.When != "" {
		switch wanted, err := w.holds(task); {
		case err != nil:
			return failed("when " + err.Error())
		case !wanted:
			return closed(dag.Skipped, "its condition is not met: "+t.When)
		}
	}
	if _, err := w.inputs(task); err != nil {
		return failed(err.Error())
	}
	if t.ForEach == "" {
		w.running++
		return Move{Task: task, Kind: MoveRun, ID: engine.TaskRunID(w.ID, t.Name)}
	}
	items, err := w.items(task)
	if err != nil {
		return failed("for_each " + err.Error())
	}
	if len(items) == 0 {
		return closed(dag.Skipped, "its list is empty")
	}
	var known []itemState
	for _, r := range w.Known {
		if r.Task == t.Name && r.Item != nil {
			known = append(known, itemState{item: *r.Item, state: StateOf(r.Status)})
		}
	}
	f, err := newFan(items, known, t.MaxParallel)
	if err != nil {
		return failed(err.Error())
	}
	w.fans[task] = f
	move := Move{Task: task, Kind: MoveMap, Items: len(items)}
	if f.Done() {
		move.Closed, _ = w.State.Mark(task, f.Outcome())
	} else {
		w.active = append(w.active, task)
	}
	return move
}

// Ended takes the end of a run of the wave, and returns the tasks that this closes, the first ones first.
func (w *Wave) Ended(r *engine.Run) (closed []int) {
	task, ok := w.TaskOf(r)
	if !ok {
		return nil
	}
	w.running--
	state := StateOf(r.Status)
	if state == dag.Succeeded {
		w.keepResult(r)
	}
	w.blameRun(r)
	if r.Item == nil {
		closed, _ = w.State.Mark(task, state)
		return closed
	}
	f := w.fans[task]
	if f == nil || !f.Ended(*r.Item, state) {
		return nil
	}
	switch {
	case f.Done():
		closed, _ = w.State.Mark(task, f.Outcome())
	case !slices.Contains(w.active, task) && f.Count(dag.Ready) > 0:
		w.active = append(w.active, task)
	}
	return closed
}

// blame remembers what failed first.
func (w *Wave) blame(task, reason string, at time.Time) {
	if w.first == "" || at.Before(w.firstAt) {
		w.first, w.firstAt = fmt.Sprintf("task %s: %s", task, reason), at
	}
}

func (w *Wave) blameRun(r *engine.Run) {
	if StateOf(r.Status) == dag.Failed {
		w.blame(taskWords(r), r.Reason, r.FinishedAt)
	}
}

// Done reports whether nothing of the wave is left to run, and nothing runs.
func (w *Wave) Done() bool { return w.State.Done() && w.running == 0 }

// End returns how a wave that is done has ended.
func (w *Wave) End(now time.Time) {
	switch w.State.Result() {
	case dag.WaveSucceeded:
		w.Status, w.Reason = engine.StatusSucceeded, ""
	case dag.WaveCancelled:
		w.Status, w.Reason = engine.StatusCancelled, "cancelled by "+w.CancelBy
		if w.CancelBy == "" {
			w.Reason = "a task of it was cancelled"
		}
	case dag.WaveFailed, dag.Unfinished:
		w.Status, w.Reason = engine.StatusFailed, w.first
	}
	w.FinishedAt = now.Truncate(time.Microsecond)
	w.Tally = engine.WaveTally{
		Tasks: w.Definition.Graph.Len(), Succeeded: w.State.Count(dag.Succeeded), Failed: w.State.Count(dag.Failed),
		Cancelled: w.State.Count(dag.Cancelled), Skipped: w.State.Count(dag.Skipped) + w.State.Count(dag.UpstreamFailed),
	}
}

// Why returns why a rule has closed a task.
func (w *Wave) Why(task int) string {
	state, graph := w.State.State(task), w.Definition.Graph
	if state == dag.Cancelled {
		return "cancelled by " + w.CancelBy
	}
	for need := range graph.Needs(task) {
		name := w.Name(need)
		switch how := w.State.State(need); {
		case state == dag.UpstreamFailed && how == dag.Failed:
			return name + " failed"
		case state == dag.UpstreamFailed && how == dag.Cancelled:
			return name + " was cancelled"
		case state == dag.UpstreamFailed && how == dag.UpstreamFailed:
			return name + " was not run because something before it failed"
		case state == dag.Skipped && how == dag.Skipped:
			return name + " was skipped"
		}
	}
	rule := graph.Trigger(task)
	if rule == "" {
		rule = dag.AllSuccess
	}
	return fmt.Sprintf("its rule %s is not met", rule)
}
