package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
)

// ledgerWindow is the time in which a version names the slots: (since, until].
type ledgerWindow struct {
	ledgerVersion
	since, until time.Time
	last         bool            // the engine goes by this version now
	before       []ledgerVersion // the versions before it, the first one first, as far as they matter
}

// ledgerUnitDone is what came of looking at some slots.
type ledgerUnitDone struct {
	found   []LedgerDifference
	slots   int
	through time.Time
	waits   bool // nothing later can be looked at yet
}

// check looks at the slots in (from, until], at most ledgerUnit of them.
func (o *ledgerOwner) check(ctx context.Context, from, until time.Time) (ledgerUnitDone, error) {
	if !o.edited.After(from) { // most passes find that nothing was due
		schedule := o.present()
		if schedule == nil || !anyBetween(schedule, from, until) {
			return ledgerUnitDone{through: until}, nil
		}
	}
	windows, bound, err := o.windows(ctx, from, until)
	if err != nil {
		return ledgerUnitDone{}, err
	}
	done := ledgerUnitDone{through: bound, waits: bound.Before(until)}
	for i := range windows {
		room := ledgerUnit - done.slots
		if room == 0 {
			done.through, done.waits = windows[i].since, false
			break
		}
		owed, all := windows[i].owed(room)
		done.slots += len(owed)
		if len(owed) > 0 {
			runs, err := o.runs(ctx, owed)
			if err != nil {
				return ledgerUnitDone{}, err
			}
			missing, err := o.missing(ctx, &windows[i], owed, runs)
			if err != nil {
				return ledgerUnitDone{}, err
			}
			for _, slot := range missing {
				done.found = append(done.found, o.difference(DifferenceMissing, slot, windows[i].generation))
			}
			doubled, err := o.doubled(ctx, &windows[i], owed, runs)
			if err != nil {
				return ledgerUnitDone{}, err
			}
			done.found = append(done.found, doubled...)
		}
		if !all {
			done.through, done.waits = owed[len(owed)-1], false
			break
		}
	}
	strays, err := o.strays(ctx, from, done.through)
	if err != nil {
		return ledgerUnitDone{}, err
	}
	done.found = append(done.found, strays...)
	return done, nil
}

func anyBetween(schedule *cron.Schedule, from, until time.Time) bool {
	next, ok := schedule.Next(from)
	return ok && !next.After(until)
}

// windows returns the versions whose slots lie in (from, until], and until when the engine has dealt with slots: all before
// the one that is planned next.
func (o *ledgerOwner) windows(ctx context.Context, from, until time.Time) ([]ledgerWindow, time.Time, error) {
	tasks, err := o.service.store.TasksByID(ctx, []string{o.id})
	if err != nil {
		return nil, from, fmt.Errorf("read what is planned: %w", err)
	}
	last := o.generation
	switch {
	case len(tasks) == 1 && tasks[0].Generation > o.generation:
		return nil, from, nil // it was edited after the definition had been read
	case len(tasks) == 1:
		last = tasks[0].Generation
		if next := tasks[0].Undecided().Add(-time.Millisecond); next.Before(until) {
			until = later(next, from)
		}
	case o.pending:
		return nil, from, nil // the engine has not seen it yet
	}
	versions := []ledgerVersion{{o.generation, o.edited, o.present(), o.open}}
	if o.generation > 1 && (o.edited.After(from) || last < o.generation) {
		past, err := o.past(ctx)
		if err != nil {
			return nil, from, err
		}
		past = slices.DeleteFunc(past, func(f ledgerVersion) bool { return f.generation >= o.generation })
		versions = append(past, versions...)
	}
	var windows []ledgerWindow
	end := until
	for i := len(versions) - 1; i >= 0; i-- {
		f := versions[i]
		if f.generation > last {
			continue
		}
		windows = append(windows, ledgerWindow{ledgerVersion: f, since: later(from, f.at), until: end, last: f.generation == last, before: versions[:i]})
		if f.at.Before(end) { // where the wall clock went back between two edits, the earlier of the two counts
			end = f.at
		}
		if !f.at.After(from) {
			break
		}
	}
	slices.Reverse(windows)
	return windows, until, nil
}

// owed returns the slots that a version names in its time, at most limit, and whether these are all.
func (w *ledgerWindow) owed(limit int) (slots []time.Time, all bool) {
	if w.schedule == nil || !w.since.Before(w.until) {
		return nil, true
	}
	for slot := range w.schedule.Between(w.since, w.until) {
		if len(slots) == limit {
			return slots, false
		}
		slots = append(slots, slot)
	}
	return slots, true
}

// missing returns those of the slots of a window that are neither runs nor in the ledger.
func (o *ledgerOwner) missing(ctx context.Context, w *ledgerWindow, owed []time.Time, runs map[int64]slotRun) ([]time.Time, error) {
	missing, err := o.without(ctx, owed, runs)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	if missing, err = o.notPassedTwice(ctx, w, missing); err != nil {
		return nil, err
	}
	if len(missing) == 0 || w.last {
		return missing, nil
	}
	// A version that was replaced before the engine saw it owes nothing: the engine continued by an earlier one until the next
	// edit. That version's slots are owed instead.
	for _, run := range runs {
		if run.generation == w.generation {
			return missing, nil
		}
	}
	for _, version := range slices.Backward(w.before) {
		earlier := ledgerWindow{ledgerVersion: version, since: w.since, until: w.until}
		instead, _ := earlier.owed(ledgerUnit)
		if len(instead) == 0 && len(missing) < len(owed) {
			continue // it may have gone by this version; but of the later one something is there
		}
		if len(instead) == 0 {
			return nil, nil
		}
		there, err := o.there(ctx, instead)
		if err != nil {
			return nil, err
		}
		if len(there) == len(instead) {
			return nil, nil
		}
	}
	return missing, nil
}

// notPassedTwice leaves out slots of a time that the wall clock has shown twice: where it went back, and an edit came
// before it was where it had been, the previous version has dealt with that time already. A run of that version shows it.
func (o *ledgerOwner) notPassedTwice(ctx context.Context, w *ledgerWindow, missing []time.Time) ([]time.Time, error) {
	if len(w.before) == 0 || w.before[len(w.before)-1].schedule == nil {
		return missing, nil
	}
	before := w.before[len(w.before)-1]
	var slots []time.Time
	for slot := range before.schedule.Between(missing[0].Add(-time.Millisecond), missing[len(missing)-1].Add(24*time.Hour)) {
		if slots = append(slots, slot); len(slots) == RunsPerDay {
			break
		}
	}
	if len(slots) == 0 {
		return missing, nil
	}
	runs, err := o.runs(ctx, slots)
	if err != nil {
		return nil, err
	}
	var dealtWith time.Time
	for _, slot := range slots {
		if run, ran := runs[slot.UnixMilli()]; ran && run.generation < w.generation {
			dealtWith = slot
		}
	}
	return slices.DeleteFunc(missing, func(slot time.Time) bool { return !slot.After(dealtWith) }), nil
}

// there returns those of some slots that are runs or in the ledger.
func (o *ledgerOwner) there(ctx context.Context, slots []time.Time) ([]time.Time, error) {
	runs, err := o.runs(ctx, slots)
	if err != nil {
		return nil, err
	}
	missing, err := o.without(ctx, slots, runs)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(slots), func(slot time.Time) bool { return slices.ContainsFunc(missing, slot.Equal) }), nil
}

// without leaves out slots that are runs, or in the ledger. The runs must have been read before: a prepared run that
// comes to nothing is in the ledger before it goes.
func (o *ledgerOwner) without(ctx context.Context, slots []time.Time, runs map[int64]slotRun) ([]time.Time, error) {
	var missing []time.Time
	for _, slot := range slots {
		if _, ran := runs[slot.UnixMilli()]; !ran {
			missing = append(missing, slot)
		}
	}
	if len(missing) == 0 {
		return nil, nil
	}
	filter := engine.SlotFilter{JobUID: o.id, Since: missing[0], Until: missing[len(missing)-1].Add(time.Millisecond), Limit: rangesShown}
	for {
		ranges, next, err := o.service.store.Slots(ctx, filter)
		if err != nil {
			return nil, fmt.Errorf("read the ledger: %w", err)
		}
		missing = uncovered(missing, ranges)
		if filter.Cursor = next; next == "" || len(missing) == 0 {
			return missing, nil
		}
	}
}

// uncovered returns the slots, in order, that lie in none of the ranges.
func uncovered(slots []time.Time, ranges []engine.SlotRange) []time.Time {
	covered := make([]bool, len(slots))
	for i := range ranges {
		r := &ranges[i]
		first, _ := slices.BinarySearchFunc(slots, r.From, time.Time.Compare)
		for j := first; j < len(slots) && !slots[j].After(r.To); j++ {
			covered[j] = true
		}
	}
	var left []time.Time
	for i, slot := range slots {
		if !covered[i] {
			left = append(left, slot)
		}
	}
	return left
}
