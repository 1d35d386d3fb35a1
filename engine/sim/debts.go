package sim

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// What a form owes: the slots that it has to account for. It owes none that a form before it has had already.

// version is a revision or a generation of a job or DAG.
type version struct {
	uid    string
	number int64
}

// takenUp is when an engine first knew of revisions and of generations, by its own clock. It is only looked up.
type takenUp struct{ revised, generated map[version]time.Time }

// takeUp remembers what an engine is told. What it recovers it plans anew.
func (e *driver) takeUp(in shard.Input) {
	switch in := in.(type) {
	case shard.Recovered:
		e.takeUpAll(&in.Jobs, true)
	case shard.Loaded:
		e.takeUpAll(&in.Jobs, false)
	case shard.CommandsLoaded:
		for i := range in.Received {
			e.takeUpJob(in.Received[i].Snapshot.Job, false)
			e.takeUpDAG(in.Received[i].DAG, false)
		}
	}
}

func (e *driver) takeUpAll(loaded *core.JobsLoaded, recovers bool) {
	for i := range loaded.Jobs {
		e.takeUpJob(loaded.Jobs[i].Job, recovers)
	}
	for i := range loaded.DAGs {
		e.takeUpDAG(&loaded.DAGs[i], recovers)
	}
}

func (e *driver) takeUpJob(job *engine.Job, recovers bool) {
	if job != nil {
		e.takeUpOne(job.UID, job.Revision, job.Generation, recovers)
	}
}

func (e *driver) takeUpDAG(dag *core.DAGSnapshot, recovers bool) {
	if dag != nil && dag.DAG != nil {
		e.takeUpOne(dag.UID, dag.DAG.Revision, dag.DAG.Generation, recovers)
	}
}

func (e *driver) takeUpOne(uid string, revision, generation int64, recovers bool) {
	note := func(known map[version]time.Time, v version) {
		if recovers || known[v].IsZero() {
			known[v] = e.time.wall()
		}
	}
	note(e.taken.revised, version{uid, revision})
	note(e.taken.generated, version{uid, generation})
}

// debt is what there was as an engine went on from one form to the next.
type debt struct {
	task  engine.ScheduledTask // of the form that was replaced
	of    *form                // that one; nil if there was none
	ahead time.Time            // how far slots were prepared
}

// owes reports whether a form has to account for a slot that it names. What forms before it have accounted for, or passed by,
// is not planned again. Where the engine could know of such a slot, and no form before named it, it says that it was edited away.
func (f *form) owes(slot time.Time) bool {
	d := &f.debt
	if slot.After(d.task.Accounted) {
		return true
	}
	passed := d.of != nil && slot.Before(d.task.Slot) && names(d.of.schedule, slot)
	return !slot.After(d.ahead) && slot.After(d.task.Since) && !passed
}

// replaces notes what a form finds, as the engine goes on with it at the n-th revision.
func (f *form) replaces(w *world, m *jobModel, n int, uid string) {
	toggled := n
	for toggled > 0 && m.revisions[toggled-1].paused == m.revisions[n].paused {
		toggled--
	}
	planned := m.task.ID != "" && !m.task.Slot.Equal(engine.Parked)
	if m.revisions[n].paused && !planned && (m.task.ID != "" || f.generation > 1) && m.revisions[toggled].stamp.After(f.since) {
		f.pausedAt = n
	}
	f.handled = w.elapsed
	f.debt = debt{task: m.task, of: m.formOf(m.task.Generation), ahead: w.truth.by.taken.generated[version{uid, f.generation}].Add(w.config.Core.Lead)}
	if f.debt.of != nil {
		f.debt.of.had = m.task.Accounted
	}
}

// planned remembers a scheduled task. No slot is accounted for that no engine has come near.
func (m *jobModel) planned(w *world, task *engine.ScheduledTask) {
	m.task = *task
	if task.Accounted.After(w.peak.Add(w.config.Core.Lead + apart)) {
		w.fail("no slot is accounted for before its time", "%s: the slots up to %s are, and the clocks have come to %s", m.uid, task.Accounted, w.peak)
	}
}

// neverWent reports whether a form has been paused ever since the engine knew it, while it had planned nothing before: all
// that comes after the edit counts as paused then.
func (m *jobModel) neverWent(f *form) bool {
	if f.pausedAt == 0 {
		return false
	}
	for n := f.pausedAt; n < len(m.revisions); n++ {
		if r := &m.revisions[n]; !r.paused && !r.handledWall.IsZero() {
			return false
		}
	}
	return true
}
