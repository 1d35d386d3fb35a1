package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/attempt"
)

// newRun makes a run of the present definition; nil if the core holds one of this identity already.
func (c *Core) newRun(j *job, id string, trigger engine.Trigger) *run {
	if _, ended := j.endedRuns[id]; ended || c.runs[id] != nil { // its end is not durable yet
		return nil
	}
	r := &run{job: j, Run: engine.Run{
		ID: id, Namespace: j.def.Namespace, JobUID: j.uid, Job: j.def.Name, Shard: j.def.Shard,
		Trigger: trigger, Status: engine.StatusScheduled, CreatedAt: c.now.Truncate(time.Microsecond),
	}}
	c.made(r)
	c.pin(r)
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

// made takes a new run. One that takes the place of another which is about to be removed continues with its revision.
func (c *Core) made(r *run) {
	u := c.unwritten(r.job.owner())
	if at := slices.IndexFunc(u.drops, func(other *run) bool { return other.ID == r.ID }); at >= 0 {
		r.Revision = u.drops[at].Revision
		u.drops = slices.Delete(u.drops, at, at+1)
		r.job.writes--
	}
	c.hold(r)
	c.touch(r)
}

// adopt takes a run from the store.
func (c *Core) adopt(j *job, stored engine.Run) *run {
	r := &run{job: j, Run: stored}
	r.maybePublished = r.prepared() // by the owner of before
	r.spec = j.specs[stored.Generation]
	if r.spec == nil && j.def != nil {
		r.spec = &j.def.Spec
	}
	r.unheard = r.Status == engine.StatusQueued || r.Status == engine.StatusRunning
	c.watchAdopted(r)
	c.hold(r)
	return r
}

func (c *Core) hold(r *run) {
	c.runs[r.ID] = r
	c.count(r, r.counts())
	r.job.live = append(r.job.live, r)
}

// pin fixes what the run executes: the definition's generation and the version its binary means now.
func (c *Core) pin(r *run) {
	d := r.job.def
	if w := r.openWave(); w != nil {
		c.pinTask(r, w)
		return
	}
	r.spec, r.Generation = &d.Spec, d.Generation
	attempt.Bind(&r.Run, r.spec, c.binaries)
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
	if r.Args == nil { // else a user has given it some
		r.Args = w.Arguments()
	}
	if len(w.Payload) > 0 && len(r.Payload) == 0 && len(w.Definition.Spec.Tasks[task].Payload) == 0 {
		r.Payload = w.Payload
	}
	attempt.Bind(&r.Run, r.spec, c.binaries)
}
