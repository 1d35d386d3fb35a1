package core

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// A slot of a CRON root lets the root go in a wave. Its run is prepared ahead of the slot like that of any job, for the
// wave that is open and has not had this root, or else for the one to come, whose epoch is one higher: so its identity
// is known before the wave opens. By hand nothing opens while such runs are prepared.

// begin makes the run of a slot and sets it going, now or at its slot.
func (c *Core) begin(j *job, slot time.Time, trigger engine.Trigger, by string) {
	if j.dag != nil {
		c.beginRoot(j, slot, trigger, by)
		return
	}
	r := c.newRun(j, engine.SlotRunID(j.uid, slot), trigger)
	if r == nil {
		return
	}
	r.Slot, r.By = slot, by
	if j.task != nil && trigger == engine.TriggerBackfill && !slot.Before(j.task.Slot) {
		c.take(j, slot)
	} else {
		c.account(j, slot)
	}
	c.resume(r)
}

// beginRoot makes the run of a root's slot, or notes why there is none.
func (c *Core) beginRoot(j *job, slot time.Time, trigger engine.Trigger, by string) {
	d := j.dag
	if d.current().Graph == nil {
		c.note(j, slot, engine.OutcomeMissed, engine.ReasonOutage)
		return
	}
	skips := trigger == engine.TriggerSchedule && j.def.Spec.Overlap == spec.OverlapSkip
	if skips && d.blocked(j.taskName) && !slot.After(c.now) && d.open.Trigger != engine.TriggerBackfill {
		c.note(j, slot, engine.OutcomeSkipped, engine.ReasonOverlap)
		return
	}
	waveID, id := j.nextWaveID(), j.nextRunID()
	if c.runs[id] != nil { // one waits already
		c.note(j, slot, engine.OutcomeSkipped, engine.ReasonOverlap)
		return
	}
	r := c.newTaskRun(j, waveID, id, trigger)
	r.Epoch, r.Slot, r.By = d.joins(j.taskName), slot, by
	if w := d.open; w != nil && w.ID == waveID {
		c.pinTask(r, w)
	} else {
		c.pin(r)
	}
	c.account(j, slot)
	c.resume(r)
}

// nextWaveID is the wave that the next slot of a root belongs to, and nextRunID its run there.
func (j *job) nextWaveID() string { return engine.WaveID(j.dag.uid, j.dag.joins(j.taskName)) }
func (j *job) nextRunID() string  { return engine.TaskRunID(j.nextWaveID(), j.taskName) }

// inTheWay reports whether a slot that came now would meet the run, or the wave, before it.
func (c *Core) inTheWay(j *job) bool {
	if j.dag != nil {
		return j.dag.blocked(j.taskName)
	}
	return c.blocker(j, nil) != nil
}
