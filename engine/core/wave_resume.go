package core

import (
	"maps"
	"slices"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/wave"
)

// resumeWave opens a wave again that has ended, on the generation that it began with: all that did not succeed is run again, or what a
// user has cleared.
func (c *Core) resumeWave(d *dagState, e CommandReceived) {
	c.commandDone(e.Command)
	if e.Wave.Revision <= d.resumed[e.Wave.ID] {
		return // another command had asked for it, too
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
	w.Begin(f)
	runs := slices.Clone(e.WaveRuns)
	if e.Command.Kind == engine.CommandMarkTask {
		runs = c.markEnded(w, runs, e.Command)
	}
	d.open = w
	c.restore(w, runs) // as it was: of a cancelled wave the items that had not begun are cancelled
	redo := wave.Redo{Item: e.Command.Item, Alone: e.Command.Alone}
	if e.Command.Kind == engine.CommandClearTask {
		redo.Cleared = e.Command.Task
	} else {
		redo.Marked = e.Command.Task
	}
	reset := w.Resume(e.Command.By, redo, c.now)
	c.watchWave(w)
	c.touchWave(w)
	if e.Command.Kind == engine.CommandMarkTask {
		reset = w.KeepMark(e.Command.Task, e.Command.Mark, reset)
	}
	c.reopenAll(w, reset, redo)
	if redo.Cleared != "" {
		c.give(w, e.Command)
	}
	for _, task := range w.CloseCancelled() {
		c.writeEnd(w, task, dag.Cancelled, e.Wave.Reason)
	}
	w.BlameKnown()
	c.pump(w)
}

// give gives the runs of a cleared task what the user has asked for, and nothing of what an earlier request has given them.
func (c *Core) give(w *waveState, command engine.Command) {
	for _, r := range c.taskOf(w.dag, command.Task).live {
		if r.Wave != w.ID || r.Status != engine.StatusScheduled || command.Item != nil && (r.Item == nil || *r.Item != *command.Item) {
			continue
		}
		r.Args, r.Payload = nil, command.Payload
		c.pinTask(r, w)
		if len(command.Args) > 0 {
			given := map[string]string{}
			maps.Copy(given, r.Args)
			maps.Copy(given, command.Args)
			r.Args = given
		}
		c.touch(r)
	}
}

// restore derives an open wave from its runs, and returns those that have not ended.
func (c *Core) restore(w *waveState, runs []engine.Run) []*run {
	var adopted []*run
	for i := range runs {
		if !runs[i].Status.Terminal() {
			adopted = append(adopted, c.adopt(c.taskOf(w.dag, runs[i].Task), runs[i].Clone()))
		}
	}
	w.Restore(runs)
	return adopted
}

// definitionOf returns the version that a wave to resume began with; where that is not kept any more, the current one stands in.
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

// reopenAll writes that the tasks which are run or decided again have not ended, or how they have now, so that a crash does
// not take them for what they were.
func (c *Core) reopenAll(w *waveState, reset []int, redo wave.Redo) {
	for _, again := range w.Again(reset, redo) {
		task := again.Task
		if state := w.State.State(task); state.Ended() { // decided otherwise than before, by what has stayed
			c.writeEnd(w, task, state, w.Why(task))
			continue
		}
		for _, known := range again.Runs {
			c.reopen(w, known)
		}
		if again.Silent {
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
		c.endUnexecuted(marked, command.Mark, "marked as "+command.Mark.String()+" by "+command.By)
		runs[i] = marked.Run
		runs[i].Revision++ // with the write to come
	}
	return runs
}
