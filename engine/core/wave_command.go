package core

import (
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/attempt"
	"github.com/tidewheel/tidewheel/engine/wave"
)

// waveCommand acts on what somebody asked for about a wave.
func (c *Core) waveCommand(e CommandReceived) {
	if e.DAG != nil {
		c.loadDAG(e.DAG)
	}
	d := c.dags[e.Command.JobUID]
	if d == nil {
		c.obeyed(e.Command)
		return
	}
	switch e.Command.Kind {
	case engine.CommandStartWave:
		c.obeyed(e.Command)
		if e.Wave == nil && e.Command.Wave != nil {
			c.startWave(d, *e.Command.Wave)
		}
	case engine.CommandCancelWave:
		c.obeyed(e.Command)
		if w := d.open; w != nil && w.ID == e.Command.RunID {
			c.cancelWave(w, e.Command.By)
		}
		if at := slices.IndexFunc(d.asked, func(w *waveState) bool { return w.ID == e.Command.RunID }); at >= 0 {
			w := d.asked[at]
			d.asked = slices.Delete(d.asked, at, at+1)
			c.endAsked(w, e.Command.By)
		}
	case engine.CommandMarkTask, engine.CommandResumeWave:
		c.resumeCommand(d, e)
	default:
		c.obeyed(e.Command)
	}
	c.idleDAGs = append(c.idleDAGs, d)
}

// startWave takes a wave that was asked for. Of a DAG that is deleted meanwhile it ends at once.
func (c *Core) startWave(d *dagState, asked engine.Wave) {
	asked.Revision = 0
	w := d.wave(asked)
	if !c.ask(d, w) {
		return
	}
	c.touchWave(w)
	if d.def == nil {
		c.abandonDAG(d)
		return
	}
	c.nextWave(d)
}

// resumeCommand goes on with a wave that has ended, now or once the open one has; or marks a task of the open one.
func (c *Core) resumeCommand(d *dagState, e CommandReceived) {
	if w := d.open; w != nil && w.ID == e.Command.RunID {
		c.obeyed(e.Command)
		if e.Command.Kind == engine.CommandMarkTask {
			c.mark(w, e.Command)
		}
		return
	}
	same := func(other CommandReceived) bool { return other.Command.ID == e.Command.ID }
	if e.Wave != nil && e.Wave.Revision <= d.resumed[e.Wave.ID] {
		c.obeyed(e.Command) // it was read before the wave went on
		return
	}
	if e.Wave == nil || !e.Wave.Status.Terminal() || e.Wave.Revision != e.Command.Revision || d.def == nil {
		c.obeyed(e.Command)
		return
	}
	if d.open != nil || c.prepared(d) {
		if !slices.ContainsFunc(d.resumes, same) {
			c.definitionOf(d, &e)
			d.resumes = append(d.resumes, e)
		}
		return
	}
	c.resumeWave(d, e)
}

// mark ends a task of the open wave that nobody executes, as somebody says.
func (c *Core) mark(w *waveState, command engine.Command) {
	task, ok := w.Definition.Task(command.Task)
	if !ok || w.State.State(task) == dag.Running || w.State.State(task).Ended() {
		return
	}
	c.closeTask(w, task, wave.StateOf(command.Mark), "marked as "+command.Mark.String()+" by "+command.By)
	c.pump(w)
}

// resumeWave opens a wave again that has failed or was cancelled: what succeeded stays, the rest is run again, on the
// generation that it began with.
func (c *Core) resumeWave(d *dagState, e CommandReceived) {
	c.obeyed(e.Command)
	if e.Wave.Revision <= d.resumed[e.Wave.ID] {
		return // somebody else had asked for it, too
	}
	if d.resumed == nil {
		d.resumed = map[string]int64{}
	}
	d.resumed[e.Wave.ID] = e.Wave.Revision
	w := d.wave(*e.Wave)
	f := c.definitionOf(d, &e)
	if f.Graph == nil {
		return
	}
	delete(d.over, w.ID)
	w.Begin(f)
	runs := slices.Clone(e.WaveRuns)
	if e.Command.Kind == engine.CommandMarkTask {
		runs = c.markEnded(w, runs, e.Command)
	}
	d.open = w
	c.restore(w, runs) // as it was: of a cancelled wave the items that had not begun are cancelled
	reset := w.Resume(e.Command.By, c.now)
	c.touchWave(w)
	if e.Command.Kind == engine.CommandMarkTask {
		reset = w.KeepMark(e.Command.Task, e.Command.Mark, reset)
	}
	c.reopenAll(w, reset)
	c.pump(w)
}

// definitionOf gives the form that a wave to go on with began with; where that is not kept any more, the present one stands in.
func (c *Core) definitionOf(d *dagState, e *CommandReceived) *wave.Definition {
	generation := e.Wave.Generation
	if d.definitions[generation] == nil && e.DAG != nil {
		switch present := e.DAG.DAG; {
		case e.DAG.Spec[generation] != nil:
			d.definitions[generation] = wave.NewDefinition(generation, e.DAG.Spec[generation])
		case present != nil && present.Generation == generation: // it was, when the command was read
			d.definitions[generation] = wave.NewDefinition(generation, &present.Spec)
		}
	}
	if f := d.definitions[generation]; f != nil {
		return f
	}
	return d.current()
}

// reopenAll writes that the tasks which are run or decided anew have not ended, or how they have now, so that a crash does
// not take them for what they were.
func (c *Core) reopenAll(w *waveState, reset []int) {
	for _, task := range reset {
		if state := w.State.State(task); state.Ended() { // decided otherwise than before, by what has stayed
			c.writeEnd(w, task, state, w.Why(task))
			continue
		}
		runs, silent := w.Again(task)
		for _, known := range runs {
			c.reopen(w, known)
		}
		if silent {
			c.newRunOf(w, task, engine.TaskRunID(w.ID, w.Name(task)))
		}
	}
}

// markEnded changes how a task of a wave counts that has ended, and writes that.
func (c *Core) markEnded(w *waveState, runs []engine.Run, command engine.Command) []engine.Run {
	for i := range runs {
		r := &runs[i]
		if r.Task != command.Task || r.Item != nil {
			continue
		}
		marked := c.reopen(w, r)
		marked.Status, marked.Reason = command.Mark, "marked as "+command.Mark.String()+" by "+command.By
		marked.FinishedAt = c.now.Truncate(time.Microsecond)
		marked.quiet = true
		c.release(marked)
		runs[i] = marked.Run
		runs[i].Revision++ // with the write to come
	}
	return runs
}

// reopen takes up a run that had ended, for another attempt or another end. Its tries are counted anew.
func (c *Core) reopen(w *waveState, ended *engine.Run) *run {
	r := &run{job: c.taskOf(w.dag, ended.Task), Run: ended.Clone()}
	if r.Status == engine.StatusDead {
		c.dropLetter(&r.Run)
	}
	attempt.Anew(&r.Run)
	c.hold(r)
	if task, ok := w.TaskOf(&r.Run); ok {
		r.spec = w.Definition.Job(task)
		c.pinTask(r, w) // the binary may have been mended since
	}
	delete(w.Known, r.ID)
	c.touch(r)
	return r
}

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
	for _, name := range w.dag.taskNames() {
		for _, r := range slices.Clone(w.dag.tasks[name].live) {
			if r.Wave == w.ID && (r.Status != engine.StatusScheduled || r.doubt) { // what is prepared is closed with its task
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
	w.Status, w.CancelBy, w.Reason = engine.StatusCancelled, by, "cancelled by "+by
	w.FinishedAt = c.now.Truncate(time.Microsecond)
	w.isOver()
	c.touchWave(w)
}
