package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
)

// wave is a wave that has not ended: asked for, or open. There is at most one open wave of a DAG.
type wave struct {
	engine.Wave
	dag   *dagState
	dirty bool

	// Of an open wave.
	form    *form
	state   *dag.Wave
	fans    map[int]*fan // mapped tasks that have begun
	active  []int        // of those, the ones with items left to start, in the order in which they began
	running int          // runs that are under way, for max_parallel
	left    map[string]leaving
	slots   map[string]time.Time      // of roots that have had theirs
	causes  map[string]engine.Trigger // and what brought those: of one wave some may be on time and others caught up
	// known are the wave's runs that had ended when it was read from the store: a resumed task goes on with its own.
	known   map[string]*engine.Run
	pumping bool
	first   string // in words: what failed first
	firstAt time.Time
}

// fan is a mapped task under way.
type fan struct {
	*dag.Fan
	items []json.RawMessage
}

// leaving is what a run that succeeded has left for the tasks after it.
type leaving struct {
	run       string
	attempt   int
	outputs   json.RawMessage
	artifacts []engine.Artifact
}

// isOver remembers that the wave has ended, while somebody may yet come with what the store said of it before.
func (w *wave) isOver() {
	if w.dag.over == nil {
		w.dag.over = map[string]bool{}
	}
	w.dag.over[w.ID] = true
}

func (c *Core) touchWave(w *wave) {
	if !w.dirty {
		w.dirty = true
		w.dag.writes++
		p := c.unwritten(w.dag.uid)
		p.waves = append(p.waves, w)
	}
}

// openWave begins a wave: from here on it is the DAG's open one. Where the graph is unusable it answers false.
func (c *Core) openWave(w *wave) bool {
	d := w.dag
	f := d.present()
	if f.graph == nil {
		return false
	}
	d.epoch++
	w.Epoch, w.Generation = d.epoch, f.generation
	w.Status, w.Reason, w.StartedAt = engine.StatusRunning, "", c.now.Truncate(time.Microsecond)
	w.begin(f)
	d.open = w
	c.touchWave(w)
	return true
}

// begin sets up what an open wave keeps in memory.
func (w *wave) begin(f *form) {
	w.form, w.state = f, f.graph.NewWave()
	w.fans, w.left, w.slots, w.causes = map[int]*fan{}, map[string]leaving{}, map[string]time.Time{}, map[string]engine.Trigger{}
}

// newSlotWave makes the wave that a root's slot opens.
func (c *Core) newSlotWave(r *run) *wave {
	d := r.job.dag
	return &wave{dag: d, Wave: engine.Wave{
		ID: r.Wave, Namespace: d.namespace, DAGUID: d.uid, DAG: d.name, Shard: d.shard,
		Trigger: r.Trigger, By: r.By, Slot: r.Slot, CreatedAt: c.now.Truncate(time.Microsecond),
	}}
}

// skipRootsWithoutSlot ends the roots that will not get a slot: their schedule is over, or an edit has taken it away.
func (c *Core) skipRootsWithoutSlot(w *wave) {
	if w.Trigger == engine.TriggerManual || w.Trigger == engine.TriggerBackfill || w.dag.planning {
		return
	}
	for _, root := range w.form.graph.Roots() {
		name := w.form.graph.Name(root)
		if w.state.State(root) != dag.Waiting {
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
func (c *Core) pump(w *wave) {
	if w.pumping || w.dag.open != w {
		return
	}
	w.pumping = true
	for w.room() {
		if len(w.active) > 0 {
			c.startItem(w)
			continue
		}
		task, ok := w.state.Take()
		if !ok {
			break
		}
		c.startTask(w, task)
	}
	w.pumping = false
	if w.state.Done() && w.running == 0 {
		c.endWave(w)
	}
}

func (w *wave) room() bool {
	return w.form.spec.MaxParallel == 0 || w.running < w.form.spec.MaxParallel
}

// startTask runs a task whose rule holds, unless its condition says otherwise.
func (c *Core) startTask(w *wave, task int) {
	t := &w.form.spec.Tasks[task]
	if w.dag.def == nil {
		c.closeTask(w, task, dag.Cancelled, "its DAG was deleted")
		return
	}
	if t.When != "" {
		wanted, err := w.holds(task)
		switch {
		case err != nil:
			c.failTask(w, task, "when "+err.Error())
			return
		case !wanted:
			c.closeTask(w, task, dag.Skipped, "its condition is not met: "+t.When)
			return
		}
	}
	if _, err := w.inputs(task); err != nil {
		c.failTask(w, task, err.Error())
		return
	}
	if t.ForEach == "" {
		c.runTask(w, task, engine.TaskRunID(w.ID, t.Name), nil, nil)
		return
	}
	items, err := w.items(task)
	if err != nil {
		c.failTask(w, task, "for_each "+err.Error())
		return
	}
	f, err := dag.NewFan(len(items), t.MaxParallel)
	if err != nil {
		c.failTask(w, task, err.Error())
		return
	}
	if len(items) == 0 {
		c.closeTask(w, task, dag.Skipped, "its list is empty")
		return
	}
	c.dropSingle(w, task)
	for item := range items { // of a wave that goes on: what succeeded stays
		if known := w.known[engine.ItemRunID(w.ID, item, t.Name)]; known != nil && known.Status == engine.StatusSucceeded {
			f.Ended(item, dag.Succeeded)
		}
	}
	c.closeItems(w, c.taskOf(w.dag, t.Name), len(items), engine.StatusSkipped, "its list is shorter now")
	w.fans[task] = &fan{Fan: f, items: items}
	if f.Done() {
		c.spread(w, task, f.Outcome())
		return
	}
	w.active = append(w.active, task)
}

// dropSingle removes the run that a mapped task has by itself: one that was prepared for a root's slot, or that said how
// it had been closed before its wave went on. Its items stand for it now, and for a root's slot.
func (c *Core) dropSingle(w *wave, task int) {
	switch r := c.runs[engine.TaskRunID(w.ID, w.form.graph.Name(task))]; {
	case r == nil:
	case w.form.graph.Root(task):
		c.drop(r)
	default: // an edit has given it needs
		c.dropPrepared(r, engine.ReasonEdited)
	}
}

// startItem starts the next item of the mapped task that began first, or finds that it may start no more now.
func (c *Core) startItem(w *wave) {
	task := w.active[0]
	f := w.fans[task]
	item, ok := f.Take()
	if !ok {
		w.active = w.active[1:]
		return
	}
	c.runTask(w, task, engine.ItemRunID(w.ID, item, w.form.graph.Name(task)), &item, f.items[item])
}

// runTask sets the run of a task, or of one of its items, going.
func (c *Core) runTask(w *wave, task int, id string, item *int, value json.RawMessage) {
	w.running++
	j := c.taskOf(w.dag, w.form.graph.Name(task))
	if r := c.runs[id]; r != nil { // a root, prepared before its slot
		r.value = value
		c.enqueue(r)
		return
	}
	if known := w.known[id]; known != nil { // of a wave that goes on
		r := c.reopen(w, j, known)
		r.value = value
		c.enqueue(r)
		return
	}
	r := c.newTaskRun(j, w.ID, id, w.triggerOf(task))
	r.Epoch, r.Item, r.value, r.Slot, r.By = w.Epoch, item, value, w.slotOf(task), w.By
	c.pinTask(r, w)
	c.enqueue(r)
}

// triggerOf says what asked for the run of a task: the wave's roots were asked for as the wave was.
func (w *wave) triggerOf(task int) engine.Trigger {
	if cause, ok := w.causes[w.form.graph.Name(task)]; ok {
		return cause
	}
	if w.form.graph.Root(task) {
		return w.Trigger
	}
	return engine.TriggerUpstream
}

// slotOf is the planned instant of a task: of a root its own, none where it has had none in a wave of the schedule, and of
// any other task that of its wave.
func (w *wave) slotOf(task int) time.Time {
	name := w.form.graph.Name(task)
	if slot, ok := w.Slots[name]; ok {
		return slot
	}
	if w.form.graph.Root(task) && !w.byHand() {
		return w.slots[name]
	}
	return w.Slot
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
func (c *Core) pinTask(r *run, w *wave) {
	task, ok := w.form.named(r.Task)
	if !ok {
		r.Reason = fmt.Sprintf("generation %d of DAG %q has no task %q", w.Generation, r.DAG, r.Task)
		return
	}
	r.spec, r.Generation = w.form.job(task), w.Generation
	r.job.specs[w.Generation] = r.spec
	r.Args = w.arguments()
	if len(w.Payload) > 0 && len(w.form.spec.Tasks[task].Payload) == 0 {
		r.Payload = w.Payload
	}
	c.bind(r)
}

// taskEnded brings the end of a task's run to its wave.
func (c *Core) taskEnded(r *run) {
	w := r.job.dag.open
	if w == nil || w.ID != r.Wave || r.gone() || r.quiet {
		return
	}
	task, ok := w.form.named(r.Task)
	if !ok {
		return
	}
	w.running--
	state := taskState(r.Status)
	if state == dag.Succeeded {
		w.leave(&r.Run)
	}
	w.blame(&r.Run)
	if r.Item == nil {
		c.spread(w, task, state)
		c.pump(w)
		return
	}
	f := w.fans[task]
	if f == nil || !f.Ended(*r.Item, state) {
		return
	}
	switch {
	case f.Done():
		c.spread(w, task, f.Outcome())
	case !slices.Contains(w.active, task) && f.Count(dag.Ready) > 0:
		w.active = append(w.active, task)
	}
	c.pump(w)
}

// blame remembers the run that failed first.
func (w *wave) blame(r *engine.Run) {
	if taskState(r.Status) == dag.Failed && (w.first == "" || r.FinishedAt.Before(w.firstAt)) {
		w.first, w.firstAt = fmt.Sprintf("task %s: %s", taskWords(r), r.Reason), r.FinishedAt
	}
}

func taskWords(r *engine.Run) string {
	if r.Item != nil {
		return fmt.Sprintf("%s, item %d", r.Task, *r.Item)
	}
	return r.Task
}

// taskState is what a run's status is to its wave.
func taskState(status engine.Status) dag.State {
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
