package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/dag"
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
	case CommandStartWave: // loading the DAG has brought it
		c.obeyed(e.Command)
		c.nextWave(d)
	case CommandCancelWave:
		c.obeyed(e.Command)
		if w := d.open; w != nil && w.ID == e.Command.RunID {
			c.cancelWave(w, e.Command.By)
		}
		if at := slices.IndexFunc(d.asked, func(w *wave) bool { return w.ID == e.Command.RunID }); at >= 0 {
			w := d.asked[at]
			d.asked = slices.Delete(d.asked, at, at+1)
			c.endAsked(w, e.Command.By)
		}
	case CommandMarkTask, CommandResumeWave:
		c.resumeCommand(d, e)
	default:
		c.obeyed(e.Command)
	}
	c.idleDAGs = append(c.idleDAGs, d)
}

// resumeCommand goes on with a wave that has ended, now or once the open one has; or marks a task of the open one.
func (c *Core) resumeCommand(d *dagState, e CommandReceived) {
	if w := d.open; w != nil && w.ID == e.Command.RunID {
		c.obeyed(e.Command)
		if e.Command.Kind == CommandMarkTask {
			c.mark(w, e.Command)
		}
		return
	}
	same := func(other CommandReceived) bool { return other.Command.ID == e.Command.ID }
	if e.Wave == nil || !e.Wave.Status.Terminal() || e.Wave.Revision != e.Command.Revision || d.def == nil {
		c.obeyed(e.Command)
		return
	}
	if d.open != nil || c.prepared(d) {
		if !slices.ContainsFunc(d.resumes, same) {
			d.resumes = append(d.resumes, e)
		}
		return
	}
	c.resumeWave(d, e)
}

// mark ends a task of the open wave that nobody executes, as somebody says.
func (c *Core) mark(w *wave, command Command) {
	task, ok := w.form.named(command.Task)
	if !ok || w.state.State(task) == dag.Running || w.state.State(task).Ended() {
		return
	}
	c.closeTask(w, task, taskState(command.Mark), "marked as "+command.Mark.String()+" by "+command.By)
	c.pump(w)
}

// resumeWave opens a wave again that has failed or was cancelled: what succeeded stays, the rest is run again, on the
// generation that it began with.
func (c *Core) resumeWave(d *dagState, e CommandReceived) {
	c.obeyed(e.Command)
	w := &wave{dag: d, Wave: *e.Wave, stored: true}
	f := d.forms[w.Generation]
	if f == nil && e.DAG != nil && e.DAG.Spec[w.Generation] != nil {
		f = newForm(w.Generation, e.DAG.Spec[w.Generation])
		d.forms[w.Generation] = f
	}
	if f == nil {
		f = d.present()
	}
	if f.graph == nil {
		return
	}
	w.begin(f)
	w.CancelBy = ""
	runs := slices.Clone(e.WaveRuns)
	if e.Command.Kind == CommandMarkTask {
		runs = c.markEnded(w, runs, e.Command)
	}
	d.open = w
	c.restore(w, runs)
	w.Status, w.Reason, w.FinishedAt, w.Tally = StatusRunning, "", time.Time{}, WaveTally{}
	w.Resumed++
	w.By = e.Command.By
	c.touchWave(w)
	w.active = nil
	c.reopenAll(w, w.state.Resume())
	c.pump(w)
}

// reopenAll writes that the tasks which are run or decided anew have not ended, so that a crash does not take them for
// what they were.
func (c *Core) reopenAll(w *wave, reset []int) {
	for _, task := range reset {
		name := w.form.graph.Name(task)
		if known := w.known[TaskRunID(w.ID, name)]; known != nil {
			c.reopen(w, c.taskOf(w.dag, name), known)
		}
		f := w.fans[task]
		for item := 0; f != nil && item < f.Len(); item++ {
			if known := w.known[ItemRunID(w.ID, item, name)]; known != nil && known.Status != StatusSucceeded {
				c.reopen(w, c.taskOf(w.dag, name), known)
			}
		}
	}
}

// markEnded changes how a task of a wave counts that has ended, and writes that.
func (c *Core) markEnded(w *wave, runs []Run, command Command) []Run {
	for i := range runs {
		r := &runs[i]
		if r.Task != command.Task || r.Item != nil {
			continue
		}
		marked := c.reopen(w, c.taskOf(w.dag, r.Task), r)
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
func (c *Core) reopen(w *wave, j *job, ended *Run) *run {
	r := &run{job: j, Run: ended.Clone()}
	if r.Status == StatusDead {
		c.pending.unletter = append(c.pending.unletter, r.ID)
	}
	r.Failures, r.Losses, r.CancelBy, r.Reason = 0, 0, "", ""
	r.FinishedAt, r.RetryAt = time.Time{}, time.Time{}
	r.Status, r.Upstream = StatusScheduled, false
	c.hold(r)
	if task, ok := w.form.named(r.Task); ok {
		r.spec = w.form.job(task)
		c.pinTask(r, w) // the binary may have been mended since
	}
	delete(w.known, r.ID)
	c.touch(r)
	return r
}

// cancelWave stops the open wave: what has not begun does not, what runs is asked to end.
func (c *Core) cancelWave(w *wave, by string) {
	if w.CancelBy != "" {
		return
	}
	w.CancelBy = by
	c.touchWave(w)
	w.active = nil
	for _, task := range slices.Sorted(maps.Keys(w.fans)) {
		w.fans[task].Stop()
	}
	for _, name := range c.tasksInOrder(w.dag) {
		for _, r := range slices.Clone(w.dag.tasks[name].live) {
			if r.Wave == w.ID && (r.Status != StatusScheduled || r.doubt) { // what is prepared is closed with its task
				c.cancel(r, by)
			}
		}
	}
	for _, task := range w.state.Cancel() {
		c.writeEnd(w, task, dag.Cancelled, "cancelled by "+by)
	}
	for _, task := range slices.Sorted(maps.Keys(w.fans)) {
		if f := w.fans[task]; f.Done() {
			c.spread(w, task, f.Outcome())
		}
	}
	c.pump(w)
}

// endAsked ends a wave that has not opened.
func (c *Core) endAsked(w *wave, by string) {
	w.Status, w.CancelBy, w.Reason = StatusCancelled, by, "cancelled by "+by
	w.FinishedAt = c.now.Truncate(time.Microsecond)
	c.touchWave(w)
}
