package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
)

// spread ends a task in the wave, and writes the runs of those that its end closes.
func (c *Core) spread(w *wave, task int, state dag.State) {
	closed, _ := w.state.Mark(task, state)
	c.writeClosed(w, closed)
}

func (c *Core) writeClosed(w *wave, closed []int) {
	for _, task := range closed {
		c.writeEnd(w, task, w.state.State(task), w.why(task))
	}
}

// closeTask ends a task without executing it, and writes a run that says why.
func (c *Core) closeTask(w *wave, task int, state dag.State, reason string) {
	closed, changed := w.state.Mark(task, state)
	if !changed {
		return
	}
	c.writeEnd(w, task, state, reason)
	c.writeClosed(w, closed)
}

func (c *Core) failTask(w *wave, task int, reason string) {
	if w.first == "" {
		w.first, w.firstAt = fmt.Sprintf("task %s: %s", w.form.graph.Name(task), reason), c.now
	}
	c.closeTask(w, task, dag.Failed, reason)
}

// writeEnd writes the run of a task that nobody executes.
func (c *Core) writeEnd(w *wave, task int, state dag.State, reason string) {
	name := w.form.graph.Name(task)
	id := engine.TaskRunID(w.ID, name)
	j := c.taskOf(w.dag, name)
	r := c.runs[id]
	if r != nil && r.back != "" {
		return // it is being taken back, and its removal says enough
	}
	status := closedStatus(state)
	c.closeItems(w, j, 0, status, reason)
	if known := w.known[id]; r == nil && known != nil {
		if known.Status == status && known.Reason == reason {
			return // written before a crash, or before the wave went on
		}
		r = c.reopen(w, j, known)
	}
	if r == nil {
		r = c.newTaskRun(j, w.ID, id, w.triggerOf(task))
		r.Epoch, r.Slot, r.By = w.Epoch, w.slotOf(task), w.By
		c.pinTask(r, w)
	}
	r.Status, r.Reason, r.RetryAt, r.Upstream = status, reason, time.Time{}, state == dag.UpstreamFailed
	r.FinishedAt = c.now.Truncate(time.Microsecond)
	r.quiet = true
	c.touch(r)
	c.release(r)
}

// closeItems ends the items of a mapped task, from one on, that were to be run again, and are not: the task was closed first,
// or its list has none of them any more.
func (c *Core) closeItems(w *wave, j *job, from int, status engine.Status, reason string) {
	for _, r := range slices.Clone(j.live) {
		if r.Wave != w.ID || r.Item == nil || *r.Item < from || r.Status != engine.StatusScheduled {
			continue
		}
		r.Status, r.Reason, r.quiet = status, reason, true
		r.FinishedAt = c.now.Truncate(time.Microsecond)
		c.touch(r)
		c.release(r)
	}
}

// closedStatus is the status of the run of a task that ended without being executed.
func closedStatus(state dag.State) engine.Status {
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

// openWave gives the wave that a run belongs to, nil unless that is open.
func (r *run) openWave() *wave {
	if r.job.dag == nil || r.job.dag.open == nil || r.job.dag.open.ID != r.Wave {
		return nil
	}
	return r.job.dag.open
}

// why says why a rule has closed a task.
func (w *wave) why(task int) string {
	state := w.state.State(task)
	if state == dag.Cancelled {
		return "cancelled by " + w.CancelBy
	}
	for need := range w.form.graph.Needs(task) {
		name := w.form.graph.Name(need)
		switch how := w.state.State(need); {
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
	return fmt.Sprintf("its rule %s is not met", w.rule(task))
}

func (w *wave) rule(task int) dag.Trigger {
	if rule := w.form.graph.Trigger(task); rule != "" {
		return rule
	}
	return dag.AllSuccess
}

// endWave ends the open wave; the next one goes at the end of the step.
func (c *Core) endWave(w *wave) {
	d := w.dag
	switch w.state.Result() {
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
	w.FinishedAt = c.now.Truncate(time.Microsecond)
	w.Tally = engine.WaveTally{
		Tasks: w.form.graph.Len(), Succeeded: w.state.Count(dag.Succeeded), Failed: w.state.Count(dag.Failed),
		Cancelled: w.state.Count(dag.Cancelled), Skipped: w.state.Count(dag.Skipped) + w.state.Count(dag.UpstreamFailed),
	}
	w.isOver()
	c.touchWave(w)
	d.open = nil
	d.dropForms()
	c.idleDAGs = append(c.idleDAGs, d)
}
