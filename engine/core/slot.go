package core

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/plan"
)

// setSlot plans the next slot. Where there is none any more the task stays, parked for good.
func (c *Core) setSlot(j *job, slot time.Time, ok bool) {
	if j.task == nil {
		j.task = &engine.ScheduledTask{
			ID: j.uid, Shard: j.def.Shard, Namespace: j.def.Namespace, Job: j.def.Name,
			Since: j.def.UpdatedAt.Truncate(time.Millisecond), // the clock may go back behind it
		}
	}
	j.task.Slot = plan.Stored(slot, ok)
	c.lookAt(j)
	j.task.Generation = j.def.Generation
	plan.Forget(j.task, j.schedule)
	if j.dag != nil {
		j.task.Epoch = j.dag.joins(j.taskName)
		c.idleDAGs = append(c.idleDAGs, j.dag)
	}
}

// lookAt says when the engine must look at a scheduled task: at its slot, and never while the job is paused.
func (c *Core) lookAt(j *job) {
	j.task.RunAt = j.task.Slot
	if j.task.Paused() {
		j.task.RunAt = engine.Parked
	}
	c.touchTask(j)
}

// arm sets the timer that prepares the next slot.
func (c *Core) arm(j *job) {
	if j.task == nil || j.task.RunAt.Equal(engine.Parked) {
		return
	}
	at := j.task.Slot.Add(-c.config.Lead)
	if j.task.Slot.Before(c.now.Add(-c.config.Grace)) {
		at = c.now.Add(time.Millisecond) // more slots have passed than one step handles: others have their turn first
	}
	c.setTimer(&j.timer, at, timer{kind: timerPrepare, of: j})
}

// take remembers that a slot which the task has not passed has a run.
func (c *Core) take(j *job, slot time.Time) {
	if !j.task.Takes(slot) {
		plan.Take(j.task, slot)
		c.touchTask(j)
	}
}

// account remembers that a slot is a run, or in the ledger.
func (c *Core) account(j *job, slot time.Time) {
	if j.task != nil && slot.After(j.task.Accounted) {
		j.task.Accounted = slot
		if j.delays() { // its schedule does not say where its slots were
			plan.Take(j.task, slot)
		}
		c.touchTask(j)
	}
}

// note records that a slot of the current schedule did not fire.
func (c *Core) note(j *job, slot time.Time, outcome engine.Outcome, reason engine.SlotReason) {
	c.noteOf(j, j.def.Generation, slot, outcome, reason)
}

// noteOf records that a slot did not fire. Consecutive slots of one generation that ended alike grow one range.
func (c *Core) noteOf(j *job, generation int64, slot time.Time, outcome engine.Outcome, reason engine.SlotReason) {
	c.alertOfNote(j, slot, outcome, reason)
	open := j.open
	if open != nil && open.Generation == generation && open.Outcome == outcome && open.Reason == reason && slot.Equal(j.openNext) {
		open.To = slot
		open.Count++
	} else {
		open = &ledgerRange{SlotRange: engine.SlotRange{
			ID: engine.SlotRangeID(j.uid, slot), JobUID: j.uid, Namespace: j.namespace, Job: j.name,
			From: slot, To: slot, Count: 1, Outcome: outcome, Reason: reason, Generation: generation,
		}}
		j.open = open
	}
	if !open.dirty {
		open.dirty = true
		u := c.unwritten(j.owner())
		u.slots = append(u.slots, open)
	}
	c.account(j, slot)
	j.openNext = time.Time{}
	// One that has waited since an earlier schedule is a range of its own.
	if j.schedule != nil && j.def.Generation == generation && plan.Names(j.schedule, slot) {
		j.openNext, _ = j.schedule.Next(slot)
	}
}
