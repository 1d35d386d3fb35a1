package core

import (
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/wave"
)

// closeTask ends a task without executing it, and writes a run that says why.
func (c *Core) closeTask(w *waveState, task int, state dag.State, reason string) {
	closed, changed := w.State.Mark(task, state)
	if !changed {
		return
	}
	c.writeEnd(w, task, state, reason)
	c.writeClosed(w, closed)
}

// writeClosed writes the runs of tasks that the end of another has closed.
func (c *Core) writeClosed(w *waveState, closed []int) {
	for _, task := range closed {
		c.writeEnd(w, task, w.State.State(task), w.Why(task))
	}
}

// writeEnd writes the run of a task that is not executed.
func (c *Core) writeEnd(w *waveState, task int, state dag.State, reason string) {
	name := w.Name(task)
	id := engine.TaskRunID(w.ID, name)
	j := c.taskOf(w.dag, name)
	r := c.runs[id]
	status := wave.StatusOf(state)
	c.closeItems(w, j, 0, status, reason)
	if known := w.Known[id]; r == nil && known != nil {
		if known.Status == status && known.Reason == reason {
			return // written before a crash, or before the wave was resumed
		}
		r = c.reopen(w, known)
	}
	if r == nil {
		r = c.newRunOf(w, task, id)
	}
	r.RetryAt, r.Upstream = time.Time{}, state == dag.UpstreamFailed
	c.endUnexecuted(r, status, reason)
}

// endUnexecuted ends a run of a task that is not executed. Its wave knows.
func (c *Core) endUnexecuted(r *run, status engine.Status, reason string) {
	r.Status, r.Reason, r.FinishedAt, r.waveNotified = status, reason, c.now.Truncate(time.Microsecond), true
	c.touch(r)
	c.release(r)
}

// closeItems ends the items of a mapped task, from one on, that were to be run again, and are not: the task was closed first,
// or its list has none of them any more.
func (c *Core) closeItems(w *waveState, j *job, from int, status engine.Status, reason string) {
	for _, r := range slices.Clone(j.live) {
		if r.Wave == w.ID && r.Item != nil && *r.Item >= from && r.Status == engine.StatusScheduled {
			c.endUnexecuted(r, status, reason)
		}
	}
}

// taskEnded brings the end of a task's run to its wave, and reports whether that is to continue.
func (c *Core) taskEnded(r *run) bool {
	w := r.openWave()
	if w == nil || r.gone() || r.waveNotified {
		return false
	}
	c.writeClosed(w, w.Ended(&r.Run))
	return true
}

// skipRootsWithoutSlot ends the roots that will not get a slot: their schedule is over, or an edit has taken it away.
func (c *Core) skipRootsWithoutSlot(w *waveState) {
	if w.ByHand() {
		return
	}
	for _, root := range w.Definition.Graph.Roots() {
		name := w.Name(root)
		if w.State.State(root) != dag.Waiting {
			continue
		}
		j := w.dag.tasks[name]
		here := func(r *run) bool { return r.Wave == w.ID } // others wait for this wave to end
		if j != nil && (slices.ContainsFunc(j.live, here) || j.scheduled() && j.task != nil && !j.task.Undecided().Equal(engine.Parked)) {
			continue
		}
		c.closeTask(w, root, dag.Skipped, "its schedule has no further slot")
	}
}

// endWave ends the open wave; the next one goes at the end of the step.
func (c *Core) endWave(w *waveState) {
	d := w.dag
	w.End(c.now)
	c.alertOfWave(w)
	c.touchWave(w)
	d.open = nil
	d.dropDefinitions()
	c.idleDAGs = append(c.idleDAGs, d)
}
