package wave

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
)

// Wave is a wave that has not ended, as the engine keeps it in memory. Before Begin it has only its document.
type Wave struct {
	engine.Wave
	Definition *Definition
	State      *dag.Wave
	// Known are the wave's runs that had ended when it was read from the store: a resumed task continues with its own.
	Known map[string]*engine.Run

	fans    map[int]*fan // mapped tasks that have begun
	active  []int        // of those, the ones with items left to start, in the order in which they began
	running int          // runs that are under way, for max_parallel
	results map[string]taskResult
	slots   map[string]time.Time      // of roots that have had theirs
	causes  map[string]engine.Trigger // and what brought those: of one wave some may be on time and others caught up
	first   string                    // in words: what failed first
	firstAt time.Time
}

// taskResult is what a run that succeeded has left for the tasks after it.
type taskResult struct {
	run       string
	attempt   int
	outputs   json.RawMessage
	artifacts []engine.Artifact
}

// Begin sets up what an open wave keeps in memory. The definition must have a graph.
func (w *Wave) Begin(d *Definition) {
	w.Definition, w.State = d, d.Graph.NewWave()
	w.fans, w.results, w.slots, w.causes = map[int]*fan{}, map[string]taskResult{}, map[string]time.Time{}, map[string]engine.Trigger{}
}

// Name returns a task's name.
func (w *Wave) Name(task int) string { return w.Definition.Graph.Name(task) }

// TaskOf returns the index of the task that a run is of; false where the wave has none of its name.
func (w *Wave) TaskOf(r *engine.Run) (int, bool) { return w.Definition.Task(r.Task) }

// Had reports whether a root has had its slot, or does not wait for one any more, in this wave.
func (w *Wave) Had(root string) bool {
	task, ok := w.Definition.Task(root)
	return !ok || !w.Definition.Graph.Root(task) || w.State.State(task) != dag.Waiting
}

// ByHand reports whether the wave's roots go at once, instead of at their slots.
func (w *Wave) ByHand() bool {
	return w.Trigger == engine.TriggerManual || w.Trigger == engine.TriggerEvent || w.Trigger == engine.TriggerBackfill
}

// atOnce reports whether no root of the wave waits for a slot any more: a resumed one has had all that it will have.
func (w *Wave) atOnce() bool { return w.ByHand() || w.Resumed > 0 }

// TakeSlot takes the slot of a root, and what brought it.
func (w *Wave) TakeSlot(root string, slot time.Time, cause engine.Trigger) {
	w.slots[root], w.causes[root] = slot, cause
	if w.Slot.IsZero() || slot.Before(w.Slot) {
		w.Slot = slot
	}
}

// TriggerOf returns the trigger of a task's run: the wave's roots were asked for as the wave was.
func (w *Wave) TriggerOf(task int) engine.Trigger {
	if cause, ok := w.causes[w.Name(task)]; ok {
		return cause
	}
	if w.Definition.Graph.Root(task) {
		return w.Trigger
	}
	return engine.TriggerUpstream
}

// SlotOf is the planned instant of a task: of a root its own, none where it has had none in a wave of the schedule, and of
// any other task that of its wave.
func (w *Wave) SlotOf(task int) time.Time {
	name := w.Name(task)
	if slot, ok := w.Slots[name]; ok {
		return slot
	}
	if w.Definition.Graph.Root(task) && !w.ByHand() {
		return w.slots[name]
	}
	return w.Slot
}

// StateOf is what a run's status is to its wave.
func StateOf(status engine.Status) dag.State {
	switch status {
	case engine.StatusSucceeded:
		return dag.Succeeded
	case engine.StatusFailed, engine.StatusTimedOut, engine.StatusLost, engine.StatusDead:
		return dag.Failed
	case engine.StatusCancelled:
		return dag.Cancelled
	case engine.StatusSkipped:
		return dag.Skipped
	case engine.StatusQueued, engine.StatusRunning, engine.StatusRetrying:
		return dag.Running
	case engine.StatusInvalid, engine.StatusScheduled:
	}
	return dag.Waiting
}

// StatusOf is the status of the run of a task that ended without being executed.
func StatusOf(state dag.State) engine.Status {
	switch state {
	case dag.Failed:
		return engine.StatusFailed
	case dag.Cancelled:
		return engine.StatusCancelled
	case dag.Succeeded:
		return engine.StatusSucceeded
	case dag.Skipped, dag.UpstreamFailed, dag.Waiting, dag.Ready, dag.Running:
	}
	return engine.StatusSkipped
}

func taskWords(r *engine.Run) string {
	if r.Item != nil {
		return fmt.Sprintf("%s, item %d", r.Task, *r.Item)
	}
	return r.Task
}
