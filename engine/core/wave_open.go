package core

import (
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// admitRoot lets a root go whose slot has come: in the wave that waits for it, in a new one, or once the open one has
// ended.
func (c *Core) admitRoot(r *run) {
	d, j := r.job.dag, r.job
	if w := d.open; w == nil || w.ID == r.Wave {
		c.goRoot(r)
		return
	}
	// A backfill comes beside the schedule, and does not replace it.
	skips := j.def.Spec.Overlap == spec.OverlapSkip && r.Trigger == engine.TriggerSchedule
	if skips && !r.Waiting && d.open.Trigger != engine.TriggerBackfill {
		c.giveUp(r, engine.ReasonOverlap)
		return
	}
	r.Waiting, r.Reason = true, "waits for wave "+d.open.ID
	c.touch(r)
}

// goRoot takes a root's run into the open wave and sets it going. If there is none it opens the wave, and takes the roots along
// whose slots have waited for that.
func (c *Core) goRoot(r *run) {
	opens := r.job.dag.open == nil
	w := c.join(r)
	if w == nil {
		return
	}
	c.stopTimer(&r.timer) // its slot lies ahead where the clock went back
	task, _ := w.TaskOf(&r.Run)
	w.State.Release(task)
	c.pump(w)
	if !opens {
		return
	}
	for _, j := range w.dag.jobs() {
		for _, other := range slices.Clone(j.live) {
			if w.dag.open == w && other.Wave == w.ID && other.Waiting && other.Status == engine.StatusScheduled {
				c.goRoot(other)
			}
		}
	}
}

// join takes a root's run into the wave that it belongs to, and opens that if it has to.
func (c *Core) join(r *run) *waveState {
	d := r.job.dag
	r.Waiting, r.Reason = false, ""
	w, definition := d.open, d.inForce()
	left := w == nil && r.Epoch <= d.epoch                      // its wave has ended without it
	gone := definition.Graph != nil && !definition.Root(r.Task) // or there is none for it: a wave that it opened would wait for ever
	if left || gone {                                           // by an edit
		c.giveUp(r, engine.ReasonEdited)
		return nil
	}
	if w == nil {
		w = c.newSlotWave(r)
		if !c.openWave(w) {
			c.giveUp(r, engine.ReasonOutage)
			return nil
		}
		w.Epoch = r.Epoch // foretold when the run was prepared: nothing has opened since
		d.epoch = max(d.epoch, r.Epoch)
	}
	if r.Attempt == 0 {
		c.pinTask(r, w)
		c.touch(r)
	}
	w.TakeSlot(r.Task, r.Slot, r.Trigger)
	c.idleDAGs = append(c.idleDAGs, d) // other roots may have no slot to wait for
	return w
}

// newSlotWave makes the wave that a root's slot opens.
func (c *Core) newSlotWave(r *run) *waveState {
	d := r.job.dag
	return d.wave(engine.Wave{
		ID: r.Wave, Namespace: d.namespace, DAGUID: d.uid, DAG: d.name, Shard: d.shard,
		Trigger: r.Trigger, By: r.By, Slot: r.Slot, CreatedAt: c.now.Truncate(time.Microsecond),
	})
}

// ask puts a wave that was triggered manually in its place.
func (c *Core) ask(d *dagState, w *waveState) {
	at, _ := slices.BinarySearchFunc(d.asked, w, func(a, b *waveState) int {
		if order := a.CreatedAt.Compare(b.CreatedAt); order != 0 {
			return order
		}
		return a.Slot.Compare(b.Slot)
	})
	d.asked = slices.Insert(d.asked, at, w)
}

// nextWave opens the next wave of a DAG, if one waits: what the schedule asks for before what was triggered manually,
// and backfills last.
func (c *Core) nextWave(d *dagState) {
	if d.open != nil || d.def == nil {
		return
	}
	for again := true; again && d.open == nil; { // what opens may end at once
		again = c.openWaiting(d) || !c.prepared(d) && c.openAsked(d)
	}
}

// openWaiting opens the wave for which the slots of roots have waited, and reports whether there was one.
func (c *Core) openWaiting(d *dagState) bool {
	for _, j := range d.jobs() {
		for _, r := range j.live {
			if r.Waiting && r.Status == engine.StatusScheduled {
				c.goRoot(r)
				return true
			}
		}
	}
	return false
}

// prepared reports whether a root has a run for the wave to come.
func (c *Core) prepared(d *dagState) bool {
	for _, j := range d.tasks {
		if slices.ContainsFunc(j.live, func(r *run) bool { return r.Status == engine.StatusScheduled }) {
			return true
		}
	}
	return false
}

// openAsked resumes a wave, or opens the one that goes next of those asked for; it reports whether there was one.
func (c *Core) openAsked(d *dagState) bool {
	if len(d.resumes) > 0 {
		command := d.resumes[0]
		d.resumes = d.resumes[1:]
		c.resumeWave(d, command)
		return true
	}
	next := c.nextAsked(d)
	if next < 0 || d.def == nil {
		return false
	}
	w := d.asked[next]
	d.asked = slices.Delete(d.asked, next, next+1)
	if !c.openWave(w) {
		w.Status, w.Reason = engine.StatusFailed, "its definition is no DAG: save it again"
		w.FinishedAt = c.now.Truncate(time.Microsecond)
		c.alertOfWave(w)
		c.touchWave(w)
		return true
	}
	w.State.ReleaseAll()
	c.pump(w)
	return true
}

// nextAsked returns which of the waves that were asked for goes next: the first one, backfills last. It is -1 where the time of none has
// come; those that are asked for later have a timer.
func (c *Core) nextAsked(d *dagState) int {
	next := -1
	for i, w := range d.asked {
		switch {
		case w.NotBefore.After(c.now):
			c.setTimer(&w.watch, w.NotBefore, timer{kind: timerWave, of: w})
		case next < 0, d.asked[next].Trigger == engine.TriggerBackfill && w.Trigger != engine.TriggerBackfill:
			next = i
		}
	}
	return next
}
