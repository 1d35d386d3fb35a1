package core

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/wave"
)

// loadDAG takes a DAG from the store. What the core holds already is newer than any snapshot, but for the definition
// and the waves that users ask for.
func (c *Core) loadDAG(s *DAGSnapshot) {
	d := c.dags[s.UID]
	if d != nil {
		c.redefineDAG(d, s)
		return
	}
	d = &dagState{uid: s.UID, shard: engine.ShardOf(s.UID), definitions: map[int64]*wave.Definition{}, tasks: map[string]*job{}, epoch: s.LastEpoch}
	if len(s.Runs) > 0 { // of a deleted DAG nothing else tells
		d.namespace, d.name = s.Runs[0].Namespace, s.Runs[0].DAG
	}
	for _, generation := range slices.Sorted(maps.Keys(s.Spec)) {
		d.definitions[generation] = wave.NewDefinition(generation, s.Spec[generation])
	}
	c.dags[s.UID] = d
	for _, root := range slices.Sorted(maps.Keys(s.Tasks)) {
		c.taskOf(d, root).takeTask(s.Tasks[root])
	}
	c.loadDefinitions(d, s)
	c.defineDAG(d, s.DAG)
	adopted := c.loadWaves(d, s)
	c.setGoing(d, s, adopted)
}

// setGoing goes on with a DAG whose definition was read: it plans the roots, resumes runs, and sees to the waves.
func (c *Core) setGoing(d *dagState, s *DAGSnapshot, adopted []*run) {
	c.planRoots(d, adopted)
	switch {
	case d.def == nil:
		c.abandonDAG(d)
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
	for _, name := range d.taskNames() {
		j := d.tasks[name]
		if j.task == nil && !j.scheduled() {
			continue
		}
		c.takeBackPrepared(j)
		c.plan(j)
	}
	for _, r := range adopted {
		c.resume(r)
	}
}

// loadDefinitions keeps the definitions of waves and runs that began with an earlier generation; where one is not kept any
// more, the present one stands in.
func (c *Core) loadDefinitions(d *dagState, s *DAGSnapshot) {
	if s.DAG == nil {
		return
	}
	for i := range s.Waves {
		if generation := s.Waves[i].Generation; generation > 0 && generation != s.DAG.Generation && d.definitions[generation] == nil {
			d.definitions[generation] = wave.NewDefinition(generation, &s.DAG.Spec)
		}
	}
}

// loadWaves takes over what has not ended, and gives the runs that go on.
func (c *Core) loadWaves(d *dagState, s *DAGSnapshot) []*run {
	runs := map[string][]engine.Run{}
	for i := range s.Runs {
		runs[s.Runs[i].Wave] = append(runs[s.Runs[i].Wave], s.Runs[i])
	}
	var adopted []*run
	waves := slices.Clone(s.Waves)
	slices.SortStableFunc(waves, func(a, b engine.Wave) int { return cmp.Compare(a.Epoch, b.Epoch) })
	for i := range waves {
		w := d.wave(waves[i])
		if w.Status == engine.StatusScheduled {
			c.ask(d, w)
			continue
		}
		if f := d.definitions[w.Generation]; d.open == nil && f != nil && f.Graph != nil {
			w.Begin(f)
			d.open = w
			d.epoch = max(d.epoch, w.Epoch)
			adopted = append(adopted, c.restore(w, runs[w.ID])...)
			delete(runs, w.ID)
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

// ask puts a wave that was asked for by hand in its place. One that was read before its end was written is over: then, and
// where it is there already, the answer is false.
func (c *Core) ask(d *dagState, w *waveState) bool {
	if d.over[w.ID] || slices.ContainsFunc(d.asked, func(other *waveState) bool { return other.ID == w.ID }) || d.open != nil && d.open.ID == w.ID {
		return false
	}
	at, _ := slices.BinarySearchFunc(d.asked, w, func(a, b *waveState) int {
		if order := a.CreatedAt.Compare(b.CreatedAt); order != 0 {
			return order
		}
		return a.Slot.Compare(b.Slot)
	})
	d.asked = slices.Insert(d.asked, at, w)
	return true
}

// restore derives an open wave from its runs, and gives those that have not ended.
func (c *Core) restore(w *waveState, runs []engine.Run) []*run {
	var adopted []*run
	for i := range runs {
		if !runs[i].Status.Terminal() {
			adopted = append(adopted, c.adopt(c.taskOf(w.dag, runs[i].Task), runs[i].Clone()))
		}
	}
	closed, spread := w.Restore(runs)
	for _, task := range w.Mapped() {
		c.dropSingle(w, task) // its removal was lost in a crash
	}
	c.writeClosed(w, spread)
	for _, task := range w.Mapped() {
		if w.State.State(task) == dag.Cancelled { // the wave was cancelled, and its items that waited for their turn were not yet
			c.closeItems(w, c.taskOf(w.dag, w.Name(task)), 0, engine.StatusCancelled, w.Why(task))
		}
	}
	for _, task := range closed {
		if w.Known[engine.TaskRunID(w.ID, w.Name(task))] == nil {
			c.writeEnd(w, task, w.State.State(task), w.Why(task))
		}
	}
	return adopted
}

// redefineDAG brings a new revision of a definition, and waves that were asked for, to a DAG in memory.
func (c *Core) redefineDAG(d *dagState, s *DAGSnapshot) {
	for i := range s.Waves {
		if w := s.Waves[i]; w.Status == engine.StatusScheduled {
			c.ask(d, d.wave(w))
		}
	}
	known := s.DAG != nil && s.DAG.Revision <= d.revision
	if gone := d.def == nil && s.DAG == nil; known || gone {
		if d.def == nil { // a wave that was asked for while its DAG was deleted
			c.abandonDAG(d)
		}
		c.finishDAG(d, s)
		c.nextWave(d)
		return
	}
	c.defineDAG(d, s.DAG)
	c.setGoing(d, s, nil)
}

// abandonDAG ends what a deleted DAG left behind, as far as nobody executes it.
func (c *Core) abandonDAG(d *dagState) {
	const by = "the deletion of its DAG"
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
	for _, name := range d.taskNames() {
		for _, r := range slices.Clone(d.tasks[name].live) {
			c.abandon(r)
		}
	}
}

// finishDAG says that a revision has been acted on.
func (c *Core) finishDAG(d *dagState, s *DAGSnapshot) {
	d.dropDefinitions()
	for _, name := range d.taskNames() {
		c.idle = append(c.idle, d.tasks[name])
	}
	c.idleDAGs = append(c.idleDAGs, d)
	if s.DAG == nil || !s.DAG.Pending || s.DAG.Revision < d.revision {
		return
	}
	handled := engine.JobHandled{UID: s.DAG.UID, Namespace: s.DAG.Namespace, Name: s.DAG.Name, Revision: s.DAG.Revision}
	if s.DAG.Deleted && d.busy() {
		d.tombstone = &handled
		return
	}
	c.handledDAG(d.uid, handled)
}

// busy reports whether anything of a DAG has not ended.
func (d *dagState) busy() bool {
	if d.open != nil {
		return true
	}
	for _, j := range d.tasks {
		if len(j.live) > 0 {
			return true
		}
	}
	return false
}
