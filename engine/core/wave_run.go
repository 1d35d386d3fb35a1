package core

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/wave"
)

// openWave begins a wave: from here on it is the DAG's open one. It returns false where the graph is unusable.
func (c *Core) openWave(w *waveState) bool {
	d := w.dag
	f := d.current()
	if f.Graph == nil {
		return false
	}
	d.epoch++
	w.Epoch, w.Generation = d.epoch, f.Generation
	w.Status, w.Reason, w.StartedAt = engine.StatusRunning, "", c.now.Truncate(time.Microsecond)
	w.Begin(f)
	d.open = w
	c.watchWave(w)
	c.touchWave(w)
	return true
}

// pump starts what may run, as far as max_parallel lets it, and ends the wave when nothing is left.
func (c *Core) pump(w *waveState) {
	if w.dag.open != w {
		return
	}
	for move, ok := w.Next(w.dag.def == nil, c.now); ok; move, ok = w.Next(w.dag.def == nil, c.now) {
		switch move.Kind {
		case wave.MoveRun:
			c.runTask(w, move)
		case wave.MoveClose:
			c.closeTask(w, move.Task, move.State, move.Reason)
		case wave.MoveMap:
			c.dropSingle(w, move.Task)
			c.closeItems(w, c.taskOf(w.dag, w.Name(move.Task)), move.Items, engine.StatusSkipped, "its list is shorter now")
			c.writeClosed(w, move.Closed)
		}
	}
	if w.Done() {
		c.endWave(w)
	}
}

// runTask sets the run of a task, or of one of its items, going.
func (c *Core) runTask(w *waveState, move wave.Move) {
	r := c.runs[move.ID] // of a root, prepared before its slot
	if known := w.Known[move.ID]; r == nil && known != nil {
		r = c.reopen(w, known)
	}
	if r == nil {
		r = c.newRunOf(w, move.Task, move.ID)
		r.Item = move.Item
	}
	r.value = move.Value
	c.enqueue(r)
}

// dropSingle removes the run that a mapped task has by itself: one that was prepared for a root's slot, or that said how
// it had been closed before its wave was resumed. Its items stand for it now, and for a root's slot.
func (c *Core) dropSingle(w *waveState, task int) {
	switch r := c.runs[engine.TaskRunID(w.ID, w.Name(task))]; {
	case r == nil:
	case w.Definition.Graph.Root(task):
		c.drop(r)
	default: // an edit has given it needs
		c.dropPrepared(r, engine.ReasonEdited)
	}
}
