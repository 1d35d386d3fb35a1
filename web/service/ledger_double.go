package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
)

// What became of slots, compared with what schedules name: slots that ended more than once, and ends of no slot. Jobs are
// looked at when a slot of theirs was due.

func (o *ledgerOwner) difference(kind DifferenceKind, slot time.Time, generation int64) LedgerDifference {
	return LedgerDifference{Kind: kind, Namespace: o.namespace, Owner: o.name, Slot: slot, id: o.id, generation: generation}
}

// doubled returns those of the slots of a window that ended more than once.
func (o *ledgerOwner) doubled(ctx context.Context, w *ledgerWindow, owed []time.Time, runs map[int64]slotRun) ([]LedgerDifference, error) {
	ranges, err := o.ranges(ctx, owed[0], owed[len(owed)-1])
	if err != nil {
		return nil, err
	}
	entries := map[int64]int{}
	for i := range ranges {
		if o.generation > 2 && ranges[i].Reason == engine.ReasonEdited {
			continue // an edit took the slot away, and the next one brought it back
		}
		for _, slot := range slotsOf(&ranges[i], w) {
			entries[slot.UnixMilli()]++
		}
	}
	var doubled []LedgerDifference
	for _, slot := range owed {
		run, noted := runs[slot.UnixMilli()], entries[slot.UnixMilli()]
		if run.fired && noted > 0 {
			doubled = append(doubled, o.difference(DifferenceBoth, slot, w.generation))
		}
		if len(run.waves) > 1 {
			doubled = append(doubled, o.difference(DifferenceFiredTwice, slot, w.generation))
		}
		if noted > 1 {
			doubled = append(doubled, o.difference(DifferenceNotedTwice, slot, w.generation))
		}
	}
	return doubled, nil
}

// slotsOf lists the slots of a range as far as they are known: all where it is made of consecutive slots of the version, unless it says that
// it is of another one; otherwise its first and its last.
func slotsOf(r *engine.SlotRange, version *ledgerWindow) []time.Time {
	other := r.Generation > 0 && r.Generation != version.generation
	if version.schedule != nil && !other && r.Count > 2 && r.Count <= ledgerUnit {
		var slots []time.Time
		for slot := range version.schedule.Between(r.From.Add(-time.Millisecond), r.To) {
			if slots = append(slots, slot); int64(len(slots)) > r.Count {
				break
			}
		}
		if int64(len(slots)) == r.Count && slots[0].Equal(r.From) && slots[len(slots)-1].Equal(r.To) {
			return slots
		}
	}
	if r.Count == 1 {
		return []time.Time{r.From}
	}
	return []time.Time{r.From, r.To}
}

// ranges returns what the ledger has of the slots from one to another.
func (o *ledgerOwner) ranges(ctx context.Context, from, to time.Time) ([]engine.SlotRange, error) {
	var all []engine.SlotRange
	filter := engine.SlotFilter{JobUID: o.id, Since: from, Until: to.Add(time.Millisecond), Limit: rangesShown}
	for {
		ranges, next, err := o.service.store.Slots(ctx, filter)
		if err != nil {
			return nil, fmt.Errorf("read the ledger: %w", err)
		}
		all = append(all, ranges...)
		if filter.Cursor = next; next == "" {
			return all, nil
		}
	}
}

// strays returns the slots of the runs that were made, and of the entries that begin, in (from, until], and that no schedule
// of the owner ever named.
func (o *ledgerOwner) strays(ctx context.Context, from, until time.Time) ([]LedgerDifference, error) {
	if !from.Before(until) {
		return nil, nil
	}
	var ended []time.Time
	ranges, err := o.ranges(ctx, from.Add(time.Millisecond), until)
	if err != nil {
		return nil, err
	}
	for i := range ranges {
		ended = append(ended, ranges[i].From, ranges[i].To)
	}
	filter := o.all
	filter.Since, filter.Until, filter.Limit = from.Add(time.Millisecond), until.Add(time.Millisecond), RunsPerDay
	for {
		runs, next, err := o.service.store.Runs(ctx, filter)
		if err != nil {
			return nil, fmt.Errorf("read the runs: %w", err)
		}
		for i := range runs {
			if firedItself(&runs[i]) {
				ended = append(ended, runs[i].Slot)
			}
		}
		if filter.Cursor = next; next == "" {
			break
		}
	}
	unnamed, err := o.unnamed(ctx, ended)
	strays := make([]LedgerDifference, len(unnamed))
	for i, slot := range unnamed {
		strays[i] = o.difference(DifferenceNoSchedule, slot, o.generation)
	}
	return strays, err
}

// unnamed returns those of some slots, each once, that no version of the owner names, as far as its versions are known.
func (o *ledgerOwner) unnamed(ctx context.Context, slots []time.Time) ([]time.Time, error) {
	namedBy := func(schedule *cron.Schedule) func(time.Time) bool {
		return func(slot time.Time) bool {
			next, ok := schedule.Next(slot.Add(-time.Millisecond))
			return ok && next.Equal(slot)
		}
	}
	slices.SortFunc(slots, time.Time.Compare)
	slots = slices.CompactFunc(slots, time.Time.Equal)
	if schedule := o.present(); schedule != nil {
		slots = slices.DeleteFunc(slots, namedBy(schedule))
	}
	if len(slots) == 0 || o.open {
		return nil, nil
	}
	past, err := o.past(ctx)
	if err != nil {
		return nil, err
	}
	forgotten := o.generation > 1 && (len(past) == 0 || past[0].generation > 1)
	if forgotten || slices.ContainsFunc(past, func(f ledgerVersion) bool { return f.open }) {
		return nil, nil // what earlier versions named is not known
	}
	for i := range past {
		if past[i].schedule != nil {
			slots = slices.DeleteFunc(slots, namedBy(past[i].schedule))
		}
	}
	return slots, nil
}

// still reports whether a difference that was found before is there now.
func (o *ledgerOwner) still(ctx context.Context, d *LedgerDifference) (bool, error) {
	slot := []time.Time{d.Slot}
	if d.Kind == DifferenceMissing {
		there, err := o.there(ctx, slot)
		return len(there) == 0, err
	}
	runs, err := o.runs(ctx, slot)
	if err != nil {
		return false, err
	}
	if d.Kind != DifferenceNoSchedule {
		doubled, err := o.doubled(ctx, &ledgerWindow{ledgerVersion: ledgerVersion{generation: d.generation, schedule: o.present()}}, slot, runs)
		return slices.ContainsFunc(doubled, func(found LedgerDifference) bool { return found.Kind == d.Kind }), err
	}
	unnamed, err := o.unnamed(ctx, slot)
	if err != nil || len(unnamed) == 0 {
		return false, err
	}
	ranges, err := o.ranges(ctx, d.Slot, d.Slot)
	touches := func(r engine.SlotRange) bool { return r.From.Equal(d.Slot) || r.To.Equal(d.Slot) }
	return runs[d.Slot.UnixMilli()].fired || slices.ContainsFunc(ranges, touches), err
}
