package engine

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/spec"
)

// DAGSnapshot is all that the store holds about one DAG that concerns the present.
type DAGSnapshot struct {
	UID  string
	DAG  *DAG                // nil when there is none any more
	Spec map[int64]*spec.DAG // earlier generations that the open wave, scheduled tasks or runs still refer to
	// Tasks are the scheduled tasks of its CRON roots, by the names of the roots.
	Tasks map[string]ScheduledTask
	// Turn is the record that says which wave opened last, nil before the first.
	Turn *ScheduledTask
	// Waves are those that have not ended; LastEpoch is the highest epoch that any wave of the DAG has.
	Waves     []Wave
	LastEpoch int64
	// Runs are those of the open wave, whatever their status, and all others that have not ended.
	Runs []Run
	// Ledger is what the ledger says of a root's slots that may have been worked on before a crash.
	Ledger map[string][]SlotRange
	// Had are the runs of roots, by name, in the waves before those that the roots have prepared runs for, where these have
	// ended: another engine may have prepared the slot of such a run once more.
	Had map[string]Run
}

// loadDAG takes a DAG from the store. What the core holds already is newer than any snapshot, but for the definition
// and the waves that users ask for.
func (c *Core) loadDAG(s *DAGSnapshot) {
	d := c.dags[s.UID]
	if d != nil {
		c.redefineDAG(d, s)
		return
	}
	d = &dagState{uid: s.UID, shard: ShardOf(s.UID), forms: map[int64]*form{}, tasks: map[string]*job{}, epoch: s.LastEpoch}
	if len(s.Runs) > 0 { // of a deleted DAG nothing else tells
		d.namespace, d.name = s.Runs[0].Namespace, s.Runs[0].DAG
	}
	for _, generation := range slices.Sorted(maps.Keys(s.Spec)) {
		d.forms[generation] = newForm(generation, s.Spec[generation])
	}
	if s.Turn != nil {
		turn := *s.Turn
		d.turn = &turn
	}
	c.dags[s.UID] = d
	for _, root := range slices.Sorted(maps.Keys(s.Ledger)) {
		c.taskOf(d, root).learnLedger(s.Ledger[root])
	}
	for _, root := range slices.Sorted(maps.Keys(s.Tasks)) {
		j := c.taskOf(d, root)
		c.takeTask(j, s.Tasks[root])
	}
	c.learnHad(d, s)
	c.loadForms(d, s)
	c.defineDAG(d, s.DAG)
	adopted := c.loadWaves(d, s)
	c.setGoing(d, s, adopted)
}

// setGoing goes on with a DAG whose definition was read: it plans the roots, resumes runs, and sees to the waves.
func (c *Core) setGoing(d *dagState, s *DAGSnapshot, adopted []*run) {
	c.planRoots(d, adopted)
	switch {
	case d.def == nil:
		c.abandonDAG(d, s.Waves)
	case d.open != nil:
		c.skipRootsWithoutSlot(d.open)
		c.pump(d.open)
	}
	c.finishDAG(d, s)
	c.nextWave(d)
}

// planRoots plans the roots of a DAG that was read, one after the other, and resumes runs. The first ones may open a wave, or go
// in it, while those after them have no slot yet.
func (c *Core) planRoots(d *dagState, adopted []*run) {
	d.planning = true
	for _, name := range slices.Sorted(maps.Keys(d.tasks)) {
		j := d.tasks[name]
		if j.task == nil && !j.scheduled() {
			continue
		}
		c.takeBackPrepared(j)
		c.plan(j, nil)
	}
	for _, r := range adopted {
		c.resume(r)
	}
	d.planning = false
}

// learnHad takes what slots roots have had.
func (c *Core) learnHad(d *dagState, s *DAGSnapshot) {
	for _, root := range slices.Sorted(maps.Keys(s.Had)) {
		had := s.Had[root]
		c.taskOf(d, root).had = &had
	}
}

// loadForms keeps the definitions of waves and runs that began with an earlier generation; where one is not kept any
// more, the present one stands in.
func (c *Core) loadForms(d *dagState, s *DAGSnapshot) {
	if s.DAG == nil {
		return
	}
	for i := range s.Waves {
		if generation := s.Waves[i].Generation; generation > 0 && generation != s.DAG.Generation && d.forms[generation] == nil {
			d.forms[generation] = newForm(generation, &s.DAG.Spec)
		}
	}
}

// loadWaves takes over what has not ended, and gives the runs that go on.
func (c *Core) loadWaves(d *dagState, s *DAGSnapshot) []*run {
	runs := map[string][]Run{}
	for i := range s.Runs {
		runs[s.Runs[i].Wave] = append(runs[s.Runs[i].Wave], s.Runs[i])
	}
	var adopted []*run
	d.opening = true // what is open is known below
	defer func() { d.opening = false }()
	waves := slices.Clone(s.Waves)
	slices.SortStableFunc(waves, func(a, b Wave) int { return cmp.Compare(a.Epoch, b.Epoch) })
	for i := range waves {
		w := &wave{dag: d, Wave: waves[i], stored: true}
		if w.Status == StatusScheduled {
			c.ask(d, w)
			continue
		}
		w.shown = true
		if f := d.forms[w.Generation]; d.open == nil && d.closing == nil && f != nil && f.graph != nil {
			w.begin(f)
			d.open = w
			d.epoch = max(d.epoch, w.Epoch)
			adopted = append(adopted, c.restore(w, runs[w.ID])...)
			delete(runs, w.ID)
			if w.state.Done() { // its end was not written
				c.affirmEnds(w)
				c.endWave(w)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(runs)) {
		for i := range runs[id] {
			if stored := &runs[id][i]; !stored.Status.Terminal() {
				adopted = append(adopted, c.adopt(c.taskOf(d, stored.Task), stored.Clone()))
			}
		}
	}
	return adopted
}

// strayed reports whether a run belongs to a wave that is not open, and is not prepared for the one to come, or to a wave
// that has no such task: the write of its wave was refused, because another owner had written it otherwise, of another
// generation. Nobody waits for it.
func (r *run) strayed() bool {
	d := r.job.dag
	if d == nil {
		return false
	}
	if d.open != nil && d.open.ID == r.Wave {
		_, is := d.open.form.named(r.Task)
		return !is
	}
	return r.Wave != WaveID(d.uid, d.epoch+1) || r.Status != StatusScheduled
}

// KnowsWave reports whether the core has a wave that has not ended, or is about to write its end.
func (c *Core) KnowsWave(dagUID, id string) bool {
	d := c.dags[dagUID]
	if d == nil {
		return false
	}
	is := func(w *wave) bool { return w.ID == id }
	return d.writes > 0 || d.closing != nil || d.open != nil && is(d.open) || slices.ContainsFunc(d.asked, is)
}

// ask puts a wave that was asked for by hand in its place. One that was read before its end was written is over.
func (c *Core) ask(d *dagState, w *wave) {
	if d.over[w.ID] || slices.ContainsFunc(d.asked, func(other *wave) bool { return other.ID == w.ID }) || d.open != nil && d.open.ID == w.ID {
		return
	}
	at, _ := slices.BinarySearchFunc(d.asked, w, func(a, b *wave) int {
		if order := a.CreatedAt.Compare(b.CreatedAt); order != 0 {
			return order
		}
		return a.Slot.Compare(b.Slot)
	})
	d.asked = slices.Insert(d.asked, at, w)
}

// restore derives an open wave from its runs, and gives those that have not ended.
func (c *Core) restore(w *wave, runs []Run) []*run {
	w.known = map[string]*Run{}
	learned := newPast()
	var adopted []*run
	for i := range runs {
		r := runs[i].Clone()
		if _, ok := w.form.named(r.Task); !ok {
			if !r.Status.Terminal() && c.runs[r.ID] == nil {
				adopted = append(adopted, c.adopt(c.taskOf(w.dag, r.Task), r)) // strayed
			}
			continue
		}
		if r.Status.Terminal() {
			if r.GivenUp != nil {
				c.tellBefore(&run{job: c.taskOf(w.dag, r.Task), Run: r})
			}
			w.known[r.ID] = &r
			w.blame(&r)
			if r.Status != StatusDead && r.anew() { // it was marked, maybe after it was dead
				c.dropLetter(&r)
			}
		} else {
			adopted = append(adopted, c.adopt(c.taskOf(w.dag, r.Task), r))
		}
		w.learn(learned, &r)
	}
	closed, spread := w.derive(learned)
	for _, task := range slices.Sorted(maps.Keys(w.fans)) {
		c.dropSingle(w, task) // its removal was lost in a crash
	}
	c.writeClosed(w, spread)
	for _, task := range slices.Sorted(maps.Keys(w.fans)) {
		if w.state.State(task) == dag.Cancelled { // the wave was cancelled, and its items that waited for their turn were not yet
			c.closeItems(w, c.taskOf(w.dag, w.form.graph.Name(task)), 0, StatusCancelled, w.why(task))
		}
	}
	for _, task := range closed {
		if w.known[TaskRunID(w.ID, w.form.graph.Name(task))] == nil {
			c.writeEnd(w, task, w.state.State(task), w.why(task))
		}
	}
	return adopted
}

// affirmEnds writes once more how the runs of a resumed wave have ended. Whoever resumed it may have died between the wave
// and its runs: should these be on their way, then either they or the end of the wave come, and not both.
func (c *Core) affirmEnds(w *wave) {
	if w.Resumed == 0 {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(w.known)) {
		if known := w.known[id]; known.Status != StatusSucceeded {
			r := &run{job: c.taskOf(w.dag, known.Task), Run: known.Clone(), quiet: true}
			c.touch(r)
			c.release(r)
		}
	}
}

// redefineDAG brings a new revision of a definition, and waves that were asked for, to a DAG in memory.
func (c *Core) redefineDAG(d *dagState, s *DAGSnapshot) {
	for i := range s.Waves {
		if w := s.Waves[i]; w.Status == StatusScheduled {
			c.ask(d, &wave{dag: d, Wave: w, stored: true})
		}
	}
	for _, root := range slices.Sorted(maps.Keys(s.Ledger)) {
		if j := d.tasks[root]; j != nil {
			j.learnLedger(s.Ledger[root])
		}
	}
	c.learnHad(d, s)
	c.adoptWave(d, s) // first: its runs are no strays
	for i := range s.Runs {
		switch r := &s.Runs[i]; {
		case r.Status.Terminal() || c.KnowsRun(d.uid, r.ID, r.Revision):
		case d.open == nil || d.open.ID != r.Wave:
			c.resume(c.adopt(c.taskOf(d, r.Task), r.Clone()))
		default: // what this core believes of the wave is not what the store says
			c.atOnce(ReadAnew{Why: "run " + r.ID + " was made by somebody else"})
		}
	}
	known := s.DAG != nil && s.DAG.Revision <= d.revision
	if gone := d.def == nil && s.DAG == nil; known || gone {
		if d.def == nil { // a wave that was asked for while its DAG was deleted
			c.abandonDAG(d, s.Waves)
		}
		c.finishDAG(d, s)
		c.nextWave(d)
		return
	}
	c.defineDAG(d, s.DAG)
	c.setGoing(d, s, nil)
}

// adoptWave takes up a wave that is open in the store and that nobody goes on with: an engine whose last write came late
// opened it beside another, which has ended since.
func (c *Core) adoptWave(d *dagState, s *DAGSnapshot) {
	for i := range s.Waves {
		w := &wave{dag: d, Wave: s.Waves[i], stored: true, shown: true}
		f := d.forms[w.Generation]
		if f == nil && s.Spec[w.Generation] != nil {
			f = newForm(w.Generation, s.Spec[w.Generation])
		}
		if w.Status != StatusRunning || d.open != nil || d.closing != nil || d.over[w.ID] || f == nil || f.graph == nil {
			continue
		}
		d.forms[w.Generation] = f
		w.begin(f)
		d.open = w
		d.epoch = max(d.epoch, w.Epoch)
		var runs []Run
		for k := range s.Runs {
			if s.Runs[k].Wave == w.ID {
				runs = append(runs, s.Runs[k])
			}
		}
		for _, r := range c.restore(w, runs) {
			c.resume(r)
		}
		if w.state.Done() {
			c.affirmEnds(w)
		}
		c.skipRootsWithoutSlot(w)
		c.pump(w)
	}
}

// abandonDAG ends what a deleted DAG left behind, as far as nobody executes it.
func (c *Core) abandonDAG(d *dagState, waves []Wave) {
	const by = "the deletion of its DAG"
	c.endOrphans(d, waves, by)
	for _, w := range d.asked {
		c.endAsked(w, by)
	}
	for i := range d.resumes {
		c.obeyed(d.resumes[i].Command)
	}
	d.asked, d.resumes = nil, nil
	if d.open != nil {
		c.cancelWave(d.open, by)
	}
	for _, name := range slices.Sorted(maps.Keys(d.tasks)) {
		for _, r := range slices.Clone(d.tasks[name].live) {
			c.abandon(r)
		}
	}
}

// endOrphans ends waves of a deleted DAG of which nobody knows any more what tasks they have: another owner opened them
// while it was deleted. Those that have runs under way are looked at again later.
func (c *Core) endOrphans(d *dagState, waves []Wave, by string) {
	for i := range waves {
		w := &wave{dag: d, Wave: waves[i], stored: true, shown: true}
		underWay := func(j *job) bool {
			return slices.ContainsFunc(j.live, func(r *run) bool { return r.Wave == w.ID })
		}
		if w.Status != StatusRunning || d.forms[w.Generation] != nil || d.over[w.ID] || slices.ContainsFunc(slices.Collect(maps.Values(d.tasks)), underWay) {
			continue
		}
		c.endAsked(w, by)
	}
}

// finishDAG says that a revision has been acted on.
func (c *Core) finishDAG(d *dagState, s *DAGSnapshot) {
	d.dropForms()
	for _, name := range slices.Sorted(maps.Keys(d.tasks)) {
		c.idle = append(c.idle, d.tasks[name])
	}
	c.idleDAGs = append(c.idleDAGs, d)
	if s.DAG == nil || !s.DAG.Pending || s.DAG.Revision < d.revision {
		return
	}
	handled := JobHandled{UID: s.DAG.UID, Namespace: s.DAG.Namespace, Name: s.DAG.Name, Revision: s.DAG.Revision}
	for _, name := range slices.Sorted(maps.Keys(d.tasks)) { // as finishLoad
		if j := d.tasks[name]; j.task != nil {
			c.touchTask(j)
		}
	}
	if s.DAG.Deleted && d.busy() {
		d.tombstone = &handled
		return
	}
	if s.DAG.Deleted {
		c.dropTurn(d)
	}
	c.handledDAG(d.uid, handled)
}

// dropTurn removes the record of whose turn it was, with the last of a deleted DAG.
func (c *Core) dropTurn(d *dagState) {
	if d.turn == nil || d.turned {
		return
	}
	if p := c.unwritten(d.uid); len(p.turns) == 0 {
		p.turns = append(p.turns, d)
	}
}

// busy reports whether anything of a DAG has not ended.
func (d *dagState) busy() bool {
	if d.open != nil || d.closing != nil {
		return true
	}
	for _, j := range d.tasks {
		if len(j.live) > 0 {
			return true
		}
	}
	return false
}
