package core

import (
	"slices"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/plan"
	"github.com/tidewheel/tidewheel/spec"
)

// loadJob takes a job from the store. What the core holds already is newer than any snapshot, but for the
// definition, which users change.
func (c *Core) loadJob(s *JobSnapshot) {
	j := c.jobs[s.UID]
	if j != nil {
		j.learnSpecs(s)                                       // of a run that is retried
		if s.Job != nil && j.specs[s.Job.Generation] == nil { // read before an edit that the core knows
			definition := s.Job.Spec
			j.specs[s.Job.Generation] = &definition
		}
		c.redefine(j, s)
		return
	}
	j = &job{uid: s.UID, specs: map[int64]*spec.Job{}}
	if len(s.Runs) > 0 { // nothing else names a deleted job
		j.namespace, j.name = s.Runs[0].Namespace, s.Runs[0].Job
	}
	j.learnSpecs(s)
	if s.Task != nil {
		j.takeTask(*s.Task)
	}
	c.jobs[s.UID] = j
	j.had = s.Had
	c.define(j, s.Job)
	c.alertsOfJob(j)
	for i := range s.Runs {
		c.adopt(j, s.Runs[i].Clone())
	}
	// What is due first goes first, as before the crash.
	slices.SortStableFunc(j.live, func(a, b *run) int { return a.due().Compare(b.due()) })
	adopted := append([]*run(nil), j.live...)
	c.takeBackPrepared(j)
	c.plan(j)
	for _, r := range adopted {
		c.resume(r)
	}
	c.startNextWaiting(j)
	c.finishLoad(j, s)
}

// learnSpecs takes the earlier generations of a snapshot.
func (j *job) learnSpecs(s *JobSnapshot) {
	for generation, definition := range s.Specs {
		if j.specs[generation] == nil {
			j.specs[generation] = &definition
		}
	}
}

// redefine brings a new revision of a definition to a job in memory.
func (c *Core) redefine(j *job, s *JobSnapshot) {
	known := s.Job != nil && s.Job.Revision <= j.revision // a slow read may even be older
	if gone := j.def == nil && s.Job == nil; known || gone {
		c.finishLoad(j, s)
		return
	}
	j.had = s.Had
	c.define(j, s.Job)
	c.alertsOfJob(j)
	c.takeBackPrepared(j)
	c.plan(j)
	if j.def == nil {
		for _, r := range append([]*run(nil), j.live...) {
			c.abandon(r)
		}
	}
	c.finishLoad(j, s)
}

func (c *Core) finishLoad(j *job, s *JobSnapshot) {
	c.idle = append(c.idle, j)
	if s.Job == nil || !s.Job.Pending || s.Job.Revision < j.revision {
		return
	}
	handled := engine.JobHandled{UID: s.Job.UID, Namespace: s.Job.Namespace, Name: s.Job.Name, Revision: s.Job.Revision}
	if s.Job.Deleted && len(j.live) > 0 { // its generations go with it, and what runs still needs them after a crash
		j.tombstone = &handled
		return
	}
	c.handled(handled, false)
}

// define sets a job's definition and compiles its schedule. A tombstone is no definition.
func (c *Core) define(j *job, def *engine.Job) {
	j.binary = ""
	if def == nil {
		j.def, j.schedule = nil, nil
		return
	}
	copied := *def
	j.revision = def.Revision
	j.namespace, j.name = def.Namespace, def.Name
	j.specs[def.Generation] = &copied.Spec
	if def.Deleted {
		j.def, j.schedule = nil, nil
		return
	}
	j.def = &copied
	if ref, err := copied.Spec.Binding(); err == nil && ref.Name != "" {
		j.binary = def.Namespace + "/" + ref.Name
	}
	j.schedule = plan.Compile(&copied.Spec, &copied)
}
