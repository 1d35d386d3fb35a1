package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// What a version owes: the slots that it has to account for. It owes none that a version before it has had already.

// version is a revision of a job or DAG.
type version struct {
	uid    string
	number int64
}

// takenUp is what an engine knows of definitions. It is only looked up.
type takenUp struct {
	by      *group
	revised map[version]time.Time       // when it first knew of revisions, by its own clock
	hand    map[string][]inHand         // the generations of each job, in the order in which it continued with them
	decided map[string][2]time.Duration // when the latest two commits about each job were begun
	began   [engine.Shards][2]uint64    // term and position of the commit that it began last
}

// inHand is a generation of a job that an engine continued with.
type inHand struct {
	generation int64
	since      time.Duration
}

func newTakenUp(by *group) *takenUp {
	return &takenUp{
		by: by, revised: map[version]time.Time{}, hand: map[string][]inHand{}, decided: map[string][2]time.Duration{},
	}
}

// decides remembers when the latest commit about each job was begun, and the one before. All that was decided about a job until then
// is in them.
func (k *takenUp) decides(commit *engine.ShardCommit, now time.Duration) {
	at := [2]uint64{commit.Term, commit.Position}
	if k.began[commit.Shard] == at {
		return // the same once more
	}
	k.began[commit.Shard] = at
	about := map[string]bool{}
	for i := range commit.Batch.Runs {
		about[commit.Batch.Runs[i].JobUID] = true
	}
	for i := range commit.Batch.Slots {
		about[commit.Batch.Slots[i].JobUID] = true
	}
	for uid := range about {
		k.decided[uid] = [2]time.Duration{k.decided[uid][1], now}
	}
}

// forms are those of a job by which the engine may have planned a run that the present commit drops, or never wrote: the one by which it
// was written, or else by which the next slot was planned until now, and later ones that the engine continued with since the commit before.
func (k *takenUp) forms(m *jobModel, written int64) []*form {
	var forms []*form
	add := func(generation int64) {
		if f := m.formOf(generation); f != nil {
			forms = append(forms, f)
		}
	}
	if written == 0 {
		add(m.planner)
	} else {
		add(written)
	}
	hand := k.hand[m.uid]
	for i := range hand {
		if passed := i+1 < len(hand) && hand[i+1].since < k.decided[m.uid][0]; !passed && hand[i].generation > written {
			add(hand[i].generation)
		}
	}
	return forms
}

// takeUp remembers what an engine gets. Of a shard that it recovers it knows nothing from before.
func (e *driver) takeUp(in shard.Input) {
	switch in := in.(type) {
	case shard.Recovered:
		maps.DeleteFunc(e.taken.revised, func(v version, _ time.Time) bool {
			return slices.ContainsFunc(in.Seats, func(s shard.Seat) bool { return s.Shard == engine.ShardOf(v.uid) })
		})
	case shard.Loaded:
		for i := range in.Jobs.Jobs {
			e.takeUpJob(in.Jobs.Jobs[i].Job)
		}
		for i := range in.Jobs.DAGs {
			e.takeUpDAG(&in.Jobs.DAGs[i])
		}
	case shard.CommandsLoaded:
		for i := range in.Received {
			e.takeUpJob(in.Received[i].Snapshot.Job)
			e.takeUpDAG(in.Received[i].DAG)
		}
	}
}

func (e *driver) takeUpJob(job *engine.Job) {
	if job != nil {
		e.takeUpOne(job.UID, job.Revision, job.Generation)
	}
}

func (e *driver) takeUpDAG(dag *core.DAGSnapshot) {
	if dag != nil && dag.DAG != nil {
		e.takeUpOne(dag.UID, dag.DAG.Revision, dag.DAG.Generation)
	}
}

func (e *driver) takeUpOne(uid string, revision, generation int64) {
	if v := (version{uid, revision}); e.taken.revised[v].IsZero() {
		e.taken.revised[v] = e.time.wall()
	}
	hand := e.taken.hand[uid]
	if len(hand) == 0 || hand[len(hand)-1].generation < generation {
		e.taken.hand[uid] = append(hand, inHand{generation, e.w.elapsed})
	}
	if m := e.w.users.byUID[uid]; m != nil {
		m.looked[microsecond(e.time.wall())] = append(m.looked[microsecond(e.time.wall())], revision)
	}
}

// microsecond is an instant as it is written into runs.
func microsecond(at time.Time) int64 { return at.Truncate(time.Microsecond).UnixMicro() }

// debt is what there was as an engine continued from one version to the next.
type debt struct {
	task engine.ScheduledTask // of the version that was replaced
	of   *form                // the previous one; nil if there was none
}

// owes reports whether a version has to account for a slot that it names. What versions before it have accounted for, or passed by,
// is not planned again. Where no version before named such a slot, it says that it was edited away. It owes nothing of the time before its job
// was made, which the clock may come to once more.
func (f *form) owes(slot time.Time) bool {
	d := &f.debt
	passed := d.of != nil && slot.Before(d.task.Slot) && names(d.of.schedule, slot)
	return slot.After(d.task.Since) && (slot.After(d.task.Accounted) || !passed)
}

// replaces notes what a version finds, as the engine continues with it at the n-th revision.
func (f *form) replaces(w *world, m *jobModel, n int) {
	toggled := n
	for toggled > 0 && m.revisions[toggled-1].paused == m.revisions[n].paused {
		toggled--
	}
	planned := m.task.ID != "" && !m.task.Slot.Equal(engine.Parked)
	if m.revisions[n].paused && !planned && (m.task.ID != "" || f.generation > 1) && m.revisions[toggled].stamp.After(f.since) {
		f.pausedAt = n
	}
	f.handled = w.elapsed
	f.debt = debt{task: m.task, of: m.formOf(m.task.Generation)}
	if f.debt.of != nil {
		f.debt.of.had = m.task.Accounted
	}
	// Of several versions that are continued with in one commit the next finds this, as plan.Remember leaves it.
	if since := f.since; m.task.ID != "" && (since.After(m.task.Since) || !m.task.Accounted.After(since)) {
		m.task.Since = since
	}
}

// planned remembers a scheduled task. No slot is accounted for that no engine has come near.
func (m *jobModel) planned(w *world, task *engine.ScheduledTask) {
	m.planner = m.task.Generation
	m.task = *task
	if task.Accounted.After(w.peak.Add(w.config.Core.Lead + apart)) {
		w.fail("no slot is accounted for before its time", "%s: the slots up to %s are, and the clocks have come to %s", m.uid, task.Accounted, w.peak)
	}
}
