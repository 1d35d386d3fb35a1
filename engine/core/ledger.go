package core

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// ledgerRange is the latest range of a job's ledger, while it may grow.
type ledgerRange struct {
	engine.SlotRange
	dirty bool
}

// note records that a slot did not fire. Consecutive slots that ended alike grow one range.
func (c *Core) note(j *job, slot time.Time, outcome engine.Outcome, reason engine.SlotReason) {
	open := j.open
	if open != nil && open.Outcome == outcome && open.Reason == reason && slot.Equal(j.openNext) {
		open.To = slot
		open.Count++
	} else {
		open = &ledgerRange{SlotRange: engine.SlotRange{
			ID: engine.SlotRangeID(j.uid, slot), JobUID: j.uid, Namespace: j.namespace, Job: j.name,
			From: slot, To: slot, Count: 1, Outcome: outcome, Reason: reason,
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
	if j.schedule != nil {
		j.openNext, _ = j.schedule.Next(slot)
	}
}
