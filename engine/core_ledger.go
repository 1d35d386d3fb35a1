package engine

import (
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/cron"
)

// ledgerRange is the latest range of a job's ledger, while it may grow.
type ledgerRange struct {
	SlotRange
	job      *job
	by       *run           // whose removal it tells; nil where the scheduled task passes it over
	schedule *cron.Schedule // whose consecutive slots it is made of
	dirty    bool
}

// note records that the scheduled task passes over a slot that did not fire.
func (c *Core) note(j *job, slot time.Time, outcome Outcome, reason SlotReason) {
	c.noteBy(nil, j, slot, outcome, reason)
}

// noteBy records that a slot did not fire, and gives the range that says so. Whoever calls it has looked that nobody said it
// before (done, told). Consecutive slots that ended alike grow one range. But what is told by the write of one document is
// no part of what another tells, as long as that is not durable: if one of the two is refused, the other says no more than
// is true.
func (c *Core) noteBy(by *run, j *job, slot time.Time, outcome Outcome, reason SlotReason) *ledgerRange {
	open := j.open
	if open != nil && open.Outcome == outcome && open.Reason == reason && slot.Equal(j.openNext) && (!open.dirty || open.by == by) {
		open.To = slot
		open.Count++
	} else {
		open = &ledgerRange{SlotRange: SlotRange{
			ID: SlotRangeID(j.uid, slot), JobUID: j.uid, Namespace: j.namespace, Job: j.name,
			From: slot, To: slot, Count: 1, Outcome: outcome, Reason: reason,
		}, schedule: j.schedule}
		j.open, j.last = open, open
	}
	c.put(j, by, open)
	j.openNext = time.Time{}
	if j.schedule != nil {
		j.openNext, _ = j.schedule.Next(slot)
	}
	return open
}

// put writes a range of the ledger, together with what tells of it.
func (c *Core) put(j *job, by *run, slots *ledgerRange) {
	slots.job, slots.by = j, by
	if !slots.dirty {
		slots.dirty = true
		p := c.unwritten(j.owner())
		p.slots = append(p.slots, slots)
		if !slices.Contains(j.recent, slots) {
			j.recent = append(j.recent, slots)
		}
	}
	switch {
	case by == nil:
		c.touchTask(j)
	case j.task != nil && !slots.To.Before(j.task.Slot): // the scheduled task has yet to pass it over
		j.ledger = append(j.ledger, storedRange{SlotRange: slots.SlotRange})
	}
	j.account(slots.To)
}

// putAgain writes a range that another engine decided on, and that may not have come to the ledger.
func (c *Core) putAgain(j *job, by *run, slots SlotRange) {
	j.learnLedger([]SlotRange{slots})
	c.put(j, by, &ledgerRange{SlotRange: slots})
}

// learnLedger takes what the store has of the ledger: another engine may have written it.
func (j *job) learnLedger(ledger []SlotRange) {
	for i := range ledger {
		known := func(stored storedRange) bool { return stored.ID == ledger[i].ID && stored.Count >= ledger[i].Count }
		if !slices.ContainsFunc(j.ledger, known) {
			j.ledger = append(j.ledger, storedRange{SlotRange: ledger[i]})
		}
	}
}

// takeTask takes the job's scheduled task from the store.
func (c *Core) takeTask(j *job, task ScheduledTask) {
	j.task, j.taskStored = &task, true
	if noting := task.Noting; noting != nil {
		task.RunAt, task.Noting = noting.RunAt, nil
		for _, slots := range noting.Slots {
			c.putAgain(j, nil, slots)
		}
	}
}

// noting is what is written as the scheduled task of a job, with what it passes over.
func (j *job) noting(slots []SlotRange, writer int64) ScheduledTask {
	if j.task == nil { // nothing is planned any more: the task is there for what it has to tell
		j.taskRevision++
		return ScheduledTask{
			ID: j.uid, Shard: j.shard(), Slot: Parked, RunAt: slots[0].To, Revision: j.taskRevision, Namespace: j.namespace, Job: j.name, Writer: writer,
			Noting: &Noting{Slots: slots, RunAt: Parked},
		}
	}
	j.task.Revision++
	j.task.Writer = writer
	task := *j.task
	if len(slots) > 0 {
		task.RunAt, task.Noting = earlier(slots[0].To, task.RunAt), &Noting{Slots: slots, RunAt: task.RunAt}
	}
	return task
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

// noted reports whether the ledger had a slot when the job was read: a crash came between that and what follows it. A
// range tells its ends; what lies between them depends on the schedule that it was made by.
func (j *job) noted(slot time.Time) bool {
	for i := range j.ledger {
		if j.names(&j.ledger[i], slot) {
			return true
		}
	}
	return false
}

// names reports whether a range holds a slot.
func (j *job) names(stored *storedRange, slot time.Time) bool {
	switch {
	case slot.Before(stored.From) || slot.After(stored.To):
	case slot.Equal(stored.From) || slot.Equal(stored.To):
		return true
	case stored.Count > 2 && j.def == nil: // deleted: nothing tells better
		return true
	case stored.Count > 2 && j.schedule != nil:
		if stored.schedule != j.schedule {
			// A schedule has no slots before it was made: a range of the one before may fit it all the same.
			stored.schedule, stored.fits = j.schedule, !stored.From.Before(j.def.UpdatedAt) && consecutive(&stored.SlotRange, j.schedule)
		}
		return stored.fits && goesOn(j.schedule, stored.From, slot)
	}
	return false
}

// passedOver reports whether a slot is in the ledger, or about to be: an engine that had prepared a run of it as another
// decided otherwise may leave the run behind.
func (j *job) passedOver(slot time.Time) bool {
	return j.noted(slot) || j.last.holds(slot) || slices.ContainsFunc(j.recent, func(slots *ledgerRange) bool { return slots.holds(slot) })
}

// told reports whether the slot of a run is in the ledger, or about to be: also as one of the form that the run is of, which
// an edit has replaced since.
func (r *run) told() bool {
	j := r.job
	if j.passedOver(r.Slot) {
		return true
	}
	if j.def == nil || r.spec == nil || r.Generation == j.def.Generation {
		return false
	}
	before := compile(r.spec, j.def)
	return before != nil && slices.ContainsFunc(j.ledger, func(stored storedRange) bool {
		return stored.Count > 2 && r.Slot.After(stored.From) && r.Slot.Before(stored.To) && goesOn(before, stored.From, r.Slot) && consecutive(&stored.SlotRange, before)
	})
}

// holds reports whether the range has a slot; none has any.
func (r *ledgerRange) holds(slot time.Time) bool {
	switch {
	case r == nil || slot.Before(r.From) || slot.After(r.To):
		return false
	case slot.Equal(r.From) || slot.Equal(r.To):
		return true
	}
	return r.schedule != nil && goesOn(r.schedule, r.From, slot)
}

// goesOn reports whether consecutive slots of a schedule that begin with one come to another. A fixed delay has no slots but
// those that are counted from the first.
func goesOn(schedule *cron.Schedule, from, slot time.Time) bool {
	if schedule.Kind() != cron.KindAfter {
		return names(schedule, slot)
	}
	next, ok := schedule.Next(from)
	return ok && slot.Sub(from)%next.Sub(from) == 0
}

// consecutive reports whether a range is made of consecutive slots of a schedule.
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
