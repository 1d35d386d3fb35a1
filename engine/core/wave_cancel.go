package core

import (
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/wave"
)

// cancelWave stops the open wave: what has not begun does not, what runs is asked to end.
func (c *Core) cancelWave(w *waveState, by string) {
	if w.CancelBy != "" {
		return
	}
	w.CancelBy = by
	c.touchWave(w)
	stopped := w.Stop()
	for _, task := range stopped {
		c.closeItems(w, c.taskOf(w.dag, w.Name(task)), 0, engine.StatusCancelled, "cancelled by "+by)
	}
	for _, j := range w.dag.jobs() {
		for _, r := range slices.Clone(j.live) {
			if r.Wave == w.ID && r.Status != engine.StatusScheduled { // what is prepared is closed with its task
				c.cancel(r, by)
			}
		}
	}
	c.ended = slices.DeleteFunc(c.ended, func(r *run) bool { return r.job.dag == w.dag && c.taskEnded(r) })
	for _, task := range w.State.Cancel() {
		c.writeEnd(w, task, dag.Cancelled, "cancelled by "+by)
	}
	for _, task := range stopped {
		c.writeClosed(w, w.EndStopped(task))
	}
	c.pump(w)
}

// endAsked ends a wave that has not opened.
func (c *Core) endAsked(w *waveState, by string) {
	c.stopTimer(&w.watch)
	w.Status, w.CancelBy, w.Reason = engine.StatusCancelled, by, "cancelled by "+by
	w.FinishedAt = c.now.Truncate(time.Microsecond)
	c.touchWave(w)
}

// mark ends a task of the open wave that has not begun, as a user says.
func (c *Core) mark(w *waveState, command engine.Command) {
	task, ok := w.Definition.Task(command.Task)
	if !ok || w.State.State(task) == dag.Running || w.State.State(task).Ended() {
		return
	}
	c.closeTask(w, task, wave.StateOf(command.Mark), "marked as "+command.Mark.String()+" by "+command.By)
	c.pump(w)
}
