package engine

import (
	"time"

	"github.com/tidewheel/tidewheel/cron"
)

// ledgerRange is the latest range of a job's ledger, while it may grow.
type ledgerRange struct {
	SlotRange
	dirty bool
}

// note records that a slot did not fire. Consecutive slots that ended alike grow one range.
func (c *Core) note(j *job, slot time.Time, outcome Outcome, reason SlotReason) {
	if j.noted(slot) {
		return
	}
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

// storedRange is a range that the ledger had when the job was read.
type storedRange struct {
	SlotRange
	schedule *cron.Schedule // that fits was found out for
	fits     bool           // the range is made of consecutive slots of that schedule
}

// noted tells whether the ledger had a slot when the job was read: a crash came between that and what follows it. A
// range tells its ends; what lies between them depends on the schedule that it was made by.
func (j *job) noted(slot time.Time) bool {
	for i := range j.ledger {
		stored := &j.ledger[i]
		switch {
		case slot.Before(stored.From) || slot.After(stored.To):
		case slot.Equal(stored.From) || slot.Equal(stored.To):
			return true
		case stored.Count > 2 && j.schedule != nil:
			if stored.schedule != j.schedule {
				stored.schedule, stored.fits = j.schedule, consecutive(&stored.SlotRange, j.schedule)
			}
			if stored.fits && names(j.schedule, slot) {
				return true
			}
		}
	}
	return false
}

// consecutive tells whether a range is made of consecutive slots of a schedule.
func consecutive(r *SlotRange, schedule *cron.Schedule) bool {
	if !names(schedule, r.From) {
		return false
	}
	slot, ok := r.From, true
	for n := int64(1); ok && n < r.Count && slot.Before(r.To); n++ {
		slot, ok = schedule.Next(slot)
	}
	return ok && slot.Equal(r.To)
}
