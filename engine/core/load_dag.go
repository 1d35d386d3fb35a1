package core

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/wave"
)

// loadDAG takes a DAG from the store. What the core holds already is newer than any snapshot, but for the definition.
func (c *Core) loadDAG(s *DAGSnapshot) {
	d := c.dags[s.UID]
	if d != nil {
		c.redefineDAG(d, s)
		return
	}
	d = &dagState{
		uid: s.UID, shard: engine.ShardOf(s.UID), epoch: s.LastEpoch,
		definitions: map[int64]*wave.Definition{}, tasks: map[string]*job{},
	}
	if len(s.Runs) > 0 { // nothing else names a deleted DAG
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
	c.activateDAG(d, s, adopted)
}

// redefineDAG brings a new revision of a definition to a DAG in memory.
func (c *Core) redefineDAG(d *dagState, s *DAGSnapshot) {
	known := s.DAG != nil && s.DAG.Revision <= d.revision
	if gone := d.def == nil && s.DAG == nil; known || gone {
		if d.def == nil { // a wave that was asked for while its DAG was deleted
			c.abandonDAG(d)
		}
		c.finishDAG(d, s)
		return
	}
	c.defineDAG(d, s.DAG)
	c.activateDAG(d, s, nil)
}

// activateDAG continues with a DAG whose definition was read: it plans the roots, one after the other, and resumes runs. The first roots may
// open a wave, or go in it, while those after them have no slot yet.
func (c *Core) activateDAG(d *dagState, s *DAGSnapshot, adopted []*run) {
	for _, j := range d.jobs() {
		if j.task == nil && !j.scheduled() {
			continue
		}
		c.takeBackPrepared(j)
		c.plan(j)
	}
	for _, r := range adopted {
		c.resume(r)
	}
	if d.def == nil {
		c.abandonDAG(d)
	}
	c.finishDAG(d, s)
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
	for _, j := range d.jobs() {
		c.defineTask(j)
	}
	c.alertsOfDAG(d)
	if d.def == nil || d.current().Graph == nil {
		return
	}
	for _, root := range d.current().Graph.Roots() {
		if name := d.current().Graph.Name(root); len(d.current().Job(root).Schedule) > 0 {
			c.taskOf(d, name)
		}
	}
}

// loadDefinitions keeps the definitions of waves and runs that began with an earlier generation; where one is not kept any
// more, the current one stands in.
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

// loadWaves takes over what has not ended, and returns the runs that continue.
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
			c.watchWave(w)
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

// abandonDAG ends what a deleted DAG left behind, as far as no executor has it.
func (c *Core) abandonDAG(d *dagState) {
	const by = "the deletion of its DAG"
	for _, w := range d.asked {
		c.endAsked(w, by)
	}
	for i := range d.resumes {
		c.commandDone(d.resumes[i].Command)
	}
	d.asked, d.resumes = nil, nil
	if d.open != nil {
		c.cancelWave(d.open, by)
	}
	for _, j := range d.jobs() {
		for _, r := range slices.Clone(j.live) {
			c.abandon(r)
		}
	}
}

// finishDAG records that a revision has been handled.
func (c *Core) finishDAG(d *dagState, s *DAGSnapshot) {
	d.dropDefinitions()
	c.idle = append(c.idle, d.jobs()...)
	c.idleDAGs = append(c.idleDAGs, d)
	if s.DAG == nil || !s.DAG.Pending || s.DAG.Revision < d.revision {
		return
	}
	handled := engine.JobHandled{UID: s.DAG.UID, Namespace: s.DAG.Namespace, Name: s.DAG.Name, Revision: s.DAG.Revision}
	if s.DAG.Deleted && d.busy() {
		d.tombstone = &handled
		return
	}
	c.handled(handled, true)
}
