package core

import (
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/attempt"
	"github.com/tidewheel/tidewheel/engine/plan"
	"github.com/tidewheel/tidewheel/spec"
)

// taskOf returns the job of a task, made if it is not there.
func (c *Core) taskOf(d *dagState, name string) *job {
	if j := d.tasks[name]; j != nil {
		return j
	}
	j := &job{
		uid: engine.RootID(d.uid, name), dag: d, taskName: name, specs: map[int64]*spec.Job{},
	}
	d.tasks[name] = j
	c.defineTask(j)
	return j
}

// defineTask brings a task's job to the present definition of its DAG.
func (c *Core) defineTask(j *job) {
	d := j.dag
	j.def, j.schedule, j.alerts = nil, nil, nil
	j.namespace, j.name = d.namespace, d.name+"/"+j.taskName
	for generation, f := range d.definitions {
		if task, ok := f.Task(j.taskName); ok {
			j.specs[generation] = f.Job(task)
		}
	}
	if d.def == nil {
		return
	}
	def := &engine.Job{
		UID: j.uid, Namespace: d.namespace, Name: d.name + "/" + j.taskName, Shard: d.shard,
		Generation: d.def.Generation, Revision: d.def.Revision,
		Paused: d.def.Paused, PausedAt: d.def.PausedAt, PausedBy: d.def.PausedBy,
		CreatedAt: d.def.CreatedAt, UpdatedAt: d.def.UpdatedAt,
	}
	task, known := d.current().Task(j.taskName)
	if known {
		def.Spec = *d.current().Job(task)
		j.alerts = c.asked(d.current().Spec.Tasks[task].Alerts, nil)
	}
	j.def, j.revision = def, def.Revision
	if known && d.current().Graph.Root(task) {
		j.schedule = plan.Compile(&def.Spec, def)
	}
}

// newRunOf makes a run of a task of an open wave.
func (c *Core) newRunOf(w *waveState, task int, id string) *run {
	r := c.newTaskRun(c.taskOf(w.dag, w.Name(task)), w.ID, id, w.TriggerOf(task))
	r.Epoch, r.Slot, r.By = w.Epoch, w.SlotOf(task), w.By
	c.pinTask(r, w)
	return r
}

// reopen takes up a run that had ended, for another attempt or another end. Its tries are counted from zero.
func (c *Core) reopen(w *waveState, ended *engine.Run) *run {
	r := &run{job: c.taskOf(w.dag, ended.Task), Run: ended.Clone()}
	if r.Status == engine.StatusDead {
		c.dropLetter(&r.Run)
		c.incidents.LetterGone(&r.Run)
	}
	attempt.Anew(&r.Run)
	c.hold(r)
	if task, ok := w.TaskOf(&r.Run); ok {
		r.spec = w.Definition.Job(task)
		c.pinTask(r, w) // the binary may have been mended since
	}
	w.Reopened(r.ID)
	c.touch(r)
	return r
}
