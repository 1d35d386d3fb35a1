package core

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/wave"
)

// current returns the current definition.
func (d *dagState) current() *wave.Definition { return d.definitions[d.def.Generation] }

// inForce is the definition of the open wave, or that of the next one.
func (d *dagState) inForce() *wave.Definition {
	if d.open != nil {
		return d.open.Definition
	}
	return d.current()
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

// jobs returns the jobs of tasks, in the order of their names.
func (d *dagState) jobs() []*job {
	return slices.SortedFunc(maps.Values(d.tasks), func(a, b *job) int { return cmp.Compare(a.taskName, b.taskName) })
}

// joins returns the epoch of the wave that the next slot of a root belongs to.
func (d *dagState) joins(root string) int64 {
	if d.open != nil && !d.blocked(root) {
		return d.open.Epoch
	}
	return d.epoch + 1
}

// blocked reports whether a slot of a root that comes now would have to wait for the open wave to end.
func (d *dagState) blocked(root string) bool {
	return d.open != nil && (d.open.ByHand() || d.open.Had(root))
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

// wave takes up a wave of the DAG.
func (d *dagState) wave(document engine.Wave) *waveState {
	return &waveState{dag: d, Wave: wave.Wave{Wave: document}}
}
