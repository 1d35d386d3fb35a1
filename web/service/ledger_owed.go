package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// ledgerOwner is a job or a CRON root, as the check of the ledger looks at it.
type ledgerOwner struct {
	service    *Service
	id         string // under which the ledger and the scheduled task have it
	namespace  string
	name       string // "job", or "dag/root"
	created    time.Time
	edited     time.Time // the present form's
	generation int64     // the present one
	pending    bool
	present    func() *cron.Schedule // nil where it has none that can be used
	past       func(ctx context.Context) ([]ledgerForm, error)
	// runs gives the generations of the runs that slots have become, by milliseconds.
	runs func(ctx context.Context, slots []time.Time) (map[int64]int64, error)
}

// ledgerForm is one generation of a schedule, from when it was written on.
type ledgerForm struct {
	generation int64
	at         time.Time
	schedule   *cron.Schedule // nil where it has none
}

// ledgerWindow is the time in which a form names the slots: (since, until].
type ledgerWindow struct {
	ledgerForm
	since, until time.Time
	last         bool         // the engine goes by this form now
	before       []ledgerForm // the forms before it, the first one first, as far as they matter
}

// ledgerUnitDone is what came of looking at some slots.
type ledgerUnitDone struct {
	missing []LedgerDifference
	slots   int
	through time.Time
	waits   bool // nothing later can be looked at yet
}

func (s *Service) jobLedger(job *engine.Job) *ledgerOwner {
	o := &ledgerOwner{
		service: s, id: job.UID, namespace: job.Namespace, name: job.Name, created: job.CreatedAt, edited: job.UpdatedAt,
		generation: job.Generation, pending: job.Pending,
	}
	compile := func(definition *spec.Job) *cron.Schedule {
		return ledgerSchedule(definition.Definition(job.Key(), job.CreatedAt))
	}
	o.present = func() *cron.Schedule { return compile(&job.Spec) }
	o.past = func(ctx context.Context) ([]ledgerForm, error) {
		return pastForms(job.Generation, func(before int64) ([]ledgerForm, error) {
			generations, err := s.store.Generations(ctx, job.UID, before, ledgerPage)
			forms := make([]ledgerForm, len(generations))
			for i := range generations {
				g := &generations[i]
				forms[i] = ledgerForm{g.Generation, g.At, compile(&g.Spec)}
			}
			return forms, err
		})
	}
	o.runs = func(ctx context.Context, slots []time.Time) (map[int64]int64, error) {
		ids := make([]string, len(slots))
		for i, slot := range slots {
			ids[i] = engine.SlotRunID(job.UID, slot)
		}
		return s.slotRunsByID(ctx, ids)
	}
	return o
}

func (s *Service) slotRunsByID(ctx context.Context, ids []string) (map[int64]int64, error) {
	found := map[int64]int64{}
	for part := range slices.Chunk(ids, RunsPerDay) {
		runs, err := s.store.RunsByID(ctx, part)
		if err != nil {
			return nil, fmt.Errorf("look up runs of slots: %w", err)
		}
		for i := range runs {
			found[runs[i].Slot.UnixMilli()] = runs[i].Generation
		}
	}
	return found, nil
}

func (s *Service) rootLedger(dag *engine.DAG, root int) *ledgerOwner {
	name := dag.Spec.Tasks[root].Name
	o := &ledgerOwner{
		service: s, id: engine.RootID(dag.UID, name), namespace: dag.Namespace, name: dag.Name + "/" + name, created: dag.CreatedAt, edited: dag.UpdatedAt,
		generation: dag.Generation, pending: dag.Pending,
	}
	compile := func(definition *spec.DAG) *cron.Schedule {
		at := slices.IndexFunc(definition.Tasks, func(t spec.Task) bool { return t.Name == name })
		if at < 0 || !definition.Tasks[at].Root() {
			return nil
		}
		return ledgerSchedule(definition.Definition(at, dag.Key()+"/"+name, dag.CreatedAt))
	}
	o.present = func() *cron.Schedule { return compile(&dag.Spec) }
	o.past = func(ctx context.Context) ([]ledgerForm, error) {
		return pastForms(dag.Generation, func(before int64) ([]ledgerForm, error) {
			generations, err := s.store.DAGGenerations(ctx, dag.UID, before, ledgerPage)
			forms := make([]ledgerForm, len(generations))
			for i := range generations {
				g := &generations[i]
				forms[i] = ledgerForm{g.Generation, g.At, compile(&g.Spec)}
			}
			return forms, err
		})
	}
	o.runs = func(ctx context.Context, slots []time.Time) (map[int64]int64, error) {
		return s.slotRunsOfRoot(ctx, dag, name, slots)
	}
	return o
}

// slotRunsOfRoot finds the runs of a root's slots: mostly they were made about when their slots came; those that an
// outage, a pause or the wave before held up, later.
func (s *Service) slotRunsOfRoot(ctx context.Context, dag *engine.DAG, root string, slots []time.Time) (map[int64]int64, error) {
	wanted := map[int64]bool{}
	for _, slot := range slots {
		wanted[slot.UnixMilli()] = true
	}
	found := map[int64]int64{}
	first, last := slots[0].Add(-ledgerMargin), slots[len(slots)-1].Add(lateRootRuns)
	for _, span := range []engine.Window{{From: first, Until: last}, {From: last}} {
		filter := engine.RunFilter{Namespace: dag.Namespace, DAGUID: dag.UID, Task: root, Since: span.From, Until: span.Until, Limit: RunsPerDay}
		for len(found) < len(wanted) {
			runs, next, err := s.store.Runs(ctx, filter)
			if err != nil {
				return nil, fmt.Errorf("look up runs of slots: %w", err)
			}
			for i := range runs {
				r := &runs[i]
				if at := r.Slot.UnixMilli(); wanted[at] && !r.Slot.IsZero() && r.Trigger != engine.TriggerUpstream { // that slot is the wave's
					found[at] = r.Generation
				}
			}
			if filter.Cursor = next; next == "" {
				break
			}
		}
	}
	return found, nil
}

// lateRootRuns is how long after its slot the run of a root is looked for first.
const lateRootRuns = 10 * time.Minute

// ledgerSchedule gives nil for what names no instants beforehand, or cannot be used.
func ledgerSchedule(definition cron.Definition) *cron.Schedule {
	schedule, err := cron.Compile(definition)
	if err != nil || schedule.Kind() == cron.KindManual || schedule.Kind() == cron.KindAfter {
		return nil
	}
	return schedule
}

// pastForms reads all forms up to a generation, the first one first.
func pastForms(generation int64, read func(before int64) ([]ledgerForm, error)) ([]ledgerForm, error) {
	var forms []ledgerForm
	for before := generation + 1; before > 1; {
		some, err := read(before)
		if err != nil {
			return nil, fmt.Errorf("read generations: %w", err)
		}
		if len(some) == 0 {
			break
		}
		forms = append(forms, some...)
		before = some[len(some)-1].generation
	}
	slices.Reverse(forms)
	return forms, nil
}

// ledgerOwnerOf finds whose slot is missing; nil where that has been deleted, or has no such schedule any more.
func (s *Service) ledgerOwnerOf(ctx context.Context, d *LedgerDifference) (*ledgerOwner, error) {
	dagName, root, ofDAG := strings.Cut(d.Owner, "/")
	var o *ledgerOwner
	if ofDAG {
		dag, err := s.store.DAG(ctx, d.Namespace, dagName)
		if err != nil {
			return nil, ignoreGone(err)
		}
		for _, i := range scheduledRoots(&dag) {
			if dag.Spec.Tasks[i].Name == root {
				o = s.rootLedger(&dag, i)
			}
		}
	} else {
		job, err := s.store.Job(ctx, d.Namespace, d.Owner)
		if err != nil {
			return nil, ignoreGone(err)
		}
		o = s.jobLedger(&job)
	}
	if o == nil || o.id != d.id {
		return nil, nil
	}
	return o, nil
}

func ignoreGone(err error) error {
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	return err
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
			missing, err := o.missing(ctx, &windows[i], owed)
			if err != nil {
				return ledgerUnitDone{}, err
			}
			for _, slot := range missing {
				done.missing = append(done.missing, LedgerDifference{Namespace: o.namespace, Owner: o.name, Slot: slot, id: o.id, generation: windows[i].generation})
			}
		}
		if !all {
			done.through, done.waits = owed[len(owed)-1], false
			break
		}
	}
	return done, nil
}

func anyBetween(schedule *cron.Schedule, from, until time.Time) bool {
	next, ok := schedule.Next(from)
	return ok && !next.After(until)
}

// windows gives the forms whose slots lie in (from, until], and until when the engine has dealt with slots: all before
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
		if next := tasks[0].Slot.Add(-time.Millisecond); next.Before(until) {
			until = later(next, from)
		}
	case o.pending:
		return nil, from, nil // the engine has not seen it yet
	}
	forms := []ledgerForm{{o.generation, o.edited, o.present()}}
	if o.generation > 1 && (o.edited.After(from) || last < o.generation) {
		past, err := o.past(ctx)
		if err != nil {
			return nil, from, err
		}
		past = slices.DeleteFunc(past, func(f ledgerForm) bool { return f.generation >= o.generation })
		forms = append(past, forms...)
	}
	var windows []ledgerWindow
	end := until
	for i := len(forms) - 1; i >= 0; i-- {
		f := forms[i]
		if f.generation > last {
			continue
		}
		windows = append(windows, ledgerWindow{ledgerForm: f, since: later(from, f.at), until: end, last: f.generation == last, before: forms[:i]})
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

// owed gives the slots that a form names in its time, at most limit, and whether these are all.
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

// missing gives those of the slots of a window that are neither runs nor in the ledger.
func (o *ledgerOwner) missing(ctx context.Context, w *ledgerWindow, owed []time.Time) ([]time.Time, error) {
	runs, err := o.runs(ctx, owed)
	if err != nil {
		return nil, err
	}
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
	// A form that was replaced before the engine saw it owes nothing: the engine went on by an earlier one until the next
	// edit. That form's slots are owed instead.
	for _, generation := range runs {
		if generation == w.generation {
			return missing, nil
		}
	}
	for _, form := range slices.Backward(w.before) {
		earlier := ledgerWindow{ledgerForm: form, since: w.since, until: w.until}
		instead, _ := earlier.owed(ledgerUnit)
		if len(instead) == 0 && len(missing) < len(owed) {
			continue // it may have gone by this form; but of the later one something is there
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
// before it was where it had been, the form of before has dealt with that time already. A run of that form tells.
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
		if generation, ran := runs[slot.UnixMilli()]; ran && generation < w.generation {
			dealtWith = slot
		}
	}
	return slices.DeleteFunc(missing, func(slot time.Time) bool { return !slot.After(dealtWith) }), nil
}

// there gives those of some slots that are runs or in the ledger.
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
func (o *ledgerOwner) without(ctx context.Context, slots []time.Time, runs map[int64]int64) ([]time.Time, error) {
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

// uncovered gives the slots, in order, that lie in none of the ranges.
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
