package engine

import "time"

// ledgerRange is the latest range of a job's ledger, while it may grow.
type ledgerRange struct {
	SlotRange
	dirty bool
}

// note records that a slot did not fire. Consecutive slots that ended alike grow one range.
func (c *Core) note(j *job, slot time.Time, outcome Outcome, reason SlotReason) {
	if open := j.open; open != nil && open.Outcome == outcome && open.Reason == reason && slot.Equal(j.openNext) {
		open.To = slot
		open.Count++
	} else {
		j.open = &ledgerRange{SlotRange: SlotRange{
			ID: SlotRangeID(j.uid, slot), JobUID: j.uid,
			From: slot, To: slot, Count: 1, Outcome: outcome, Reason: reason,
		}}
		j.open.Namespace, j.open.Job = j.namespace, j.name
	}
	if !j.open.dirty {
		j.open.dirty = true
		c.pending.slots = append(c.pending.slots, j.open)
	}
	j.account(slot)
	j.openNext = time.Time{}
	if j.schedule != nil {
		j.openNext, _ = j.schedule.Next(slot)
	}
}

// account remembers that a slot is a run, or in the ledger.
func (j *job) account(slot time.Time) {
	if slot.After(j.accounted) {
		j.accounted = slot
	}
}
