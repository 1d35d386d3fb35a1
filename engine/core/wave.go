package core

import (
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/attempt"
	"github.com/tidewheel/tidewheel/engine/wave"
)

// waveState is a wave that has not ended: asked for, or open. There is at most one open wave of a DAG.
type waveState struct {
	wave.Wave
	dag   *dagState
	dirty bool
}

// wave takes up a wave of the DAG.
func (d *dagState) wave(document engine.Wave) *waveState {
	return &waveState{dag: d, Wave: wave.Wave{Wave: document}}
}

// isOver remembers that the wave has ended, while somebody may yet come with what the store said of it before.
func (w *waveState) isOver() {
	if w.dag.over == nil {
		w.dag.over = map[string]bool{}
	}
	w.dag.over[w.ID] = true
}

func (c *Core) touchWave(w *waveState) {
	if !w.dirty {
		w.dirty = true
		w.dag.writes++
		p := c.unwritten(w.dag.uid)
		p.waves = append(p.waves, w)
	}
}

// openWave begins a wave: from here on it is the DAG's open one. Where the graph is unusable it answers false.
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
	c.touchWave(w)
	return true
}

// newSlotWave makes the wave that a root's slot opens.
func (c *Core) newSlotWave(r *run) *waveState {
	d := r.job.dag
	return d.wave(engine.Wave{
		ID: r.Wave, Namespace: d.namespace, DAGUID: d.uid, DAG: d.name, Shard: d.shard,
		Trigger: r.Trigger, By: r.By, Slot: r.Slot, CreatedAt: c.now.Truncate(time.Microsecond),
	})
}

// skipRootsWithoutSlot ends the roots that will not get a slot: their schedule is over, or an edit has taken it away.
func (c *Core) skipRootsWithoutSlot(w *waveState) {
	if w.Trigger == engine.TriggerManual || w.Trigger == engine.TriggerBackfill {
		return
	}
	for _, root := range w.Definition.Graph.Roots() {
		name := w.Name(root)
		if w.State.State(root) != dag.Waiting {
			continue
		}
		j := w.dag.tasks[name]
		if j != nil && (len(j.live) > 0 || j.scheduled() && j.task != nil && !j.task.Slot.Equal(engine.Parked)) {
			continue
		}
		c.closeTask(w, root, dag.Skipped, "its schedule has no further slot")
	}
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

// dropSingle removes the run that a mapped task has by itself: one that was prepared for a root's slot, or that said how
// it had been closed before its wave went on. Its items stand for it now, and for a root's slot.
func (c *Core) dropSingle(w *waveState, task int) {
	switch r := c.runs[engine.TaskRunID(w.ID, w.Name(task))]; {
	case r == nil:
	case w.Definition.Graph.Root(task):
		c.drop(r)
	default: // an edit has given it needs
		c.dropPrepared(r, engine.ReasonEdited)
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

// newRunOf makes a run of a task of an open wave.
func (c *Core) newRunOf(w *waveState, task int, id string) *run {
	r := c.newTaskRun(c.taskOf(w.dag, w.Name(task)), w.ID, id, w.TriggerOf(task))
	r.Epoch, r.Slot, r.By = w.Epoch, w.SlotOf(task), w.By
	c.pinTask(r, w)
	return r
}

// newTaskRun makes a run of a task. Its epoch, and what it executes, are the caller's to say.
func (c *Core) newTaskRun(j *job, waveID, id string, trigger engine.Trigger) *run {
	d := j.dag
	r := &run{job: j, Run: engine.Run{
		ID: id, Namespace: d.namespace, JobUID: d.uid, Shard: d.shard, DAG: d.name, Wave: waveID, Task: j.taskName,
		Trigger: trigger, Status: engine.StatusScheduled, CreatedAt: c.now.Truncate(time.Microsecond),
	}}
	c.made(r)
	return r
}

// pinTask fixes what a run of an open wave executes: the generation that the wave began with.
func (c *Core) pinTask(r *run, w *waveState) {
	task, ok := w.TaskOf(&r.Run)
	if !ok {
		r.Reason = fmt.Sprintf("generation %d of DAG %q has no task %q", w.Generation, r.DAG, r.Task)
		return
	}
	r.spec, r.Generation = w.Definition.Job(task), w.Generation
	r.job.specs[w.Generation] = r.spec
	r.Args = w.Arguments()
	if len(w.Payload) > 0 && len(w.Definition.Spec.Tasks[task].Payload) == 0 {
		r.Payload = w.Payload
	}
	attempt.Bind(&r.Run, r.spec, c.binaries)
}

// taskEnded brings the end of a task's run to its wave, and reports whether that is to go on.
func (c *Core) taskEnded(r *run) bool {
	w := r.openWave()
	if w == nil || r.gone() || r.quiet {
		return false
	}
	c.writeClosed(w, w.Ended(&r.Run))
	return true
}
