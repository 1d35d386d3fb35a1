package core

import (
	"maps"
	"slices"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/wave"
	"github.com/tidewheel/tidewheel/spec"
)

// dagState is a DAG that the core holds: what is planned, and the wave that is open.
//
// Each of its tasks is a job of the core, made when it is needed: so attempts, retries and supervision are those of
// jobs, and slots, catch-up and the ledger of a CRON root are, too. What differs is what a slot leads to: it lets the
// root go in a wave, instead of making a run of its own kind.
type dagState struct {
	uid      string
	def      *engine.DAG // nil once it is deleted
	revision int64
	// namespace and name outlive the definition.
	namespace, name string
	shard           int
	definitions     map[int64]*wave.Definition // generations that are the present one, or that an open wave began with
	tasks           map[string]*job            // CRON roots always, other tasks while a run of them has not ended
	epoch           int64                      // of the latest wave that opened
	open            *waveState                 // nil between waves
	asked           []*waveState               // by hand, in the order in which they were asked for
	resumes         []CommandReceived

	over      map[string]bool    // waves that have ended, as job.ended
	resumed   map[string]int64   // waves that went on, and from which revision, for as long
	tombstone *engine.JobHandled // as in job
	writes    int                // waves that are not durable yet
}

// current gives the current definition.
func (d *dagState) current() *wave.Definition { return d.definitions[d.def.Generation] }

// taskOf gives the job of a task, made if it is not there.
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
	j.def, j.schedule, j.open = nil, nil, nil
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
	}
	j.def, j.revision = def, def.Revision
	if known && d.current().Graph.Root(task) {
		j.schedule = compile(&def.Spec, def)
	}
}

// scheduled reports whether a task is a CRON root in the present definition.
func (j *job) scheduled() bool {
	return j.schedule != nil && j.schedule.Kind() != cron.KindManual
}

// defineDAG sets a DAG's definition, and that of its tasks. A tombstone is no definition.
func (c *Core) defineDAG(d *dagState, def *engine.DAG) {
	if def != nil {
		d.revision = def.Revision
		d.namespace, d.name, d.shard = def.Namespace, def.Name, def.Shard
	}
	d.def = nil
	if def != nil {
		copied := *def
		if d.definitions[def.Generation] == nil { // of a deleted DAG, too: its open wave may have begun with it
			d.definitions[def.Generation] = wave.NewDefinition(def.Generation, &copied.Spec)
		}
		if !def.Deleted {
			d.def = &copied
		}
	}
	for _, name := range d.taskNames() {
		c.defineTask(d.tasks[name])
	}
	if d.def == nil || d.current().Graph == nil {
		return
	}
	for _, root := range d.current().Graph.Roots() {
		if name := d.current().Graph.Name(root); len(d.current().Job(root).Schedule) > 0 {
			c.taskOf(d, name)
		}
	}
}

// dropDefinitions forgets generations that nothing refers to any more.
func (d *dagState) dropDefinitions() {
	used := map[int64]bool{}
	if d.def != nil {
		used[d.def.Generation] = true
	}
	if d.open != nil {
		used[d.open.Generation] = true
	}
	for i := range d.resumes {
		used[d.resumes[i].Wave.Generation] = true
	}
	for _, j := range d.tasks {
		if j.task != nil {
			used[j.task.Generation] = true
		}
		for _, r := range j.live {
			used[r.Generation] = true
		}
	}
	maps.DeleteFunc(d.definitions, func(generation int64, _ *wave.Definition) bool { return !used[generation] })
}

// binaryKeys gives the keys of the binaries that a DAG's tasks refer to.
func (d *dagState) binaryKeys() []string {
	var keys []string
	for _, f := range d.definitions {
		keys = append(keys, engine.BinaryKeys(d.namespace, f.Spec)...)
	}
	return keys
}

// taskNames names the tasks that have jobs, in order.
func (d *dagState) taskNames() []string { return slices.Sorted(maps.Keys(d.tasks)) }

// settleDAG looks once more at a DAG that something has happened to: whether its wave still waits for slots that will
// not come, whether the deletion is done, whether it can be forgotten.
func (c *Core) settleDAG(d *dagState) {
	if c.dags[d.uid] != d {
		return
	}
	if d.open != nil {
		c.skipRootsWithoutSlot(d.open)
	}
	if d.open != nil {
		c.pump(d.open)
	}
	if d.open == nil { // a run that was prepared may have been dropped, and nothing is in the way any more
		c.nextWave(d)
		for _, name := range d.taskNames() {
			if j := d.tasks[name]; j.postpone {
				c.prepare(j)
			}
		}
	}
	c.forgetOver(d)
	if d.tombstone != nil && !d.busy() {
		c.handledDAG(d.uid, *d.tombstone)
		d.tombstone = nil
	}
	c.forgetDAGIfIdle(d)
}

// forgetOver forgets waves that have ended, or went on, once every read of the store brings them so.
func (c *Core) forgetOver(d *dagState) {
	if d.writes == 0 && c.held[d.uid] == 0 && len(d.resumes) == 0 {
		d.over, d.resumed = nil, nil
	}
}

// forgetDAGIfIdle drops a DAG from memory once the store knows all of it and its next slots are beyond the horizon.
func (c *Core) forgetDAGIfIdle(d *dagState) {
	if d.open != nil || d.tombstone != nil || len(d.asked) > 0 || len(d.resumes) > 0 || d.writes > 0 || c.held[d.uid] > 0 || c.dags[d.uid] != d {
		return
	}
	for _, j := range d.tasks {
		if len(j.live) > 0 || j.writes > 0 || j.task != nil && !j.task.RunAt.After(c.horizon) {
			return
		}
	}
	for _, j := range d.tasks {
		c.stopTimer(&j.timer)
	}
	delete(c.dags, d.uid)
}

// forgetTask drops the job of a task that nothing is going on with.
func (c *Core) forgetTask(j *job) {
	d := j.dag
	if len(j.live) == 0 && j.writes == 0 && j.task == nil && j.ended == nil && !j.taskStored && d.tasks[j.taskName] == j {
		delete(d.tasks, j.taskName)
	}
	c.forgetDAGIfIdle(d)
}
