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
	edited     time.Time // the current version's
	generation int64     // the current one
	pending    bool
	present    func() *cron.Schedule // nil where it names no instants beforehand
	open       bool                  // the current version fires without naming instants: after the end of each run
	past       func(ctx context.Context) ([]ledgerVersion, error)
	// runs returns the runs that slots have become, by milliseconds.
	runs func(ctx context.Context, slots []time.Time) (map[int64]slotRun, error)
	// all selects all runs of the job or root.
	all engine.RunFilter
}

// slotRun is what a slot has become.
type slotRun struct {
	generation int64
	fired      bool // by its schedule or a catch-up: what was backfilled is in the ledger, too
	waves      map[string]bool
}

// add takes one more run of the slot.
func (s slotRun) add(r *engine.Run) slotRun {
	s.generation = r.Generation
	if firedItself(r) {
		s.fired = true
		if s.waves == nil {
			s.waves = map[string]bool{}
		}
		s.waves[r.Wave] = true
	}
	return s
}

// firedItself reports whether a run stands for a slot that was not given up: one that is only prepared may be.
func firedItself(r *engine.Run) bool {
	return (r.Trigger == engine.TriggerSchedule || r.Trigger == engine.TriggerCatchUp) && r.Status != engine.StatusScheduled && !r.Slot.IsZero()
}

// ledgerVersion is one generation of a schedule, from when it was written on.
type ledgerVersion struct {
	generation int64
	at         time.Time
	schedule   *cron.Schedule // nil where it has none
	open       bool           // it fires without naming instants
}

func (s *Service) jobLedger(job *engine.Job) *ledgerOwner {
	o := &ledgerOwner{
		service: s, id: job.UID, namespace: job.Namespace, name: job.Name, created: job.CreatedAt, edited: job.UpdatedAt,
		generation: job.Generation, pending: job.Pending, all: engine.RunFilter{Namespace: job.Namespace, JobUID: job.UID},
	}
	compile := func(definition *spec.Job) *cron.Schedule {
		return ledgerSchedule(definition.Definition(job.Key(), job.CreatedAt))
	}
	o.present, o.open = func() *cron.Schedule { return compile(&job.Spec) }, job.Spec.After > 0
	o.past = ledgerVersions(s.store.Jobs(), job, func(definition *spec.Job) (*cron.Schedule, bool) { return compile(definition), definition.After > 0 })
	o.runs = func(ctx context.Context, slots []time.Time) (map[int64]slotRun, error) {
		ids := make([]string, len(slots))
		for i, slot := range slots {
			ids[i] = engine.SlotRunID(job.UID, slot)
		}
		return s.slotRunsByID(ctx, ids)
	}
	return o
}

// ledgerVersions returns what reads the versions that a definition has had; read is the schedule of one, and whether it fires
// without naming instants.
func ledgerVersions[S engine.Spec](
	of engine.Definitions[S], d *engine.Definition[S], read func(*S) (*cron.Schedule, bool),
) func(context.Context) ([]ledgerVersion, error) {
	return func(ctx context.Context) ([]ledgerVersion, error) {
		return pastVersions(d.Generation, func(before int64) ([]ledgerVersion, error) {
			generations, err := of.Generations(ctx, d.UID, before, ledgerPage)
			versions := make([]ledgerVersion, len(generations))
			for i := range generations {
				g := &generations[i]
				schedule, open := read(&g.Spec)
				versions[i] = ledgerVersion{g.Generation, g.At, schedule, open}
			}
			return versions, err
		})
	}
}

func (s *Service) slotRunsByID(ctx context.Context, ids []string) (map[int64]slotRun, error) {
	found := map[int64]slotRun{}
	for part := range slices.Chunk(ids, RunsPerDay) {
		runs, err := s.store.RunsByID(ctx, part)
		if err != nil {
			return nil, fmt.Errorf("look up runs of slots: %w", err)
		}
		for i := range runs {
			at := runs[i].Slot.UnixMilli()
			found[at] = found[at].add(&runs[i])
		}
	}
	return found, nil
}

func (s *Service) rootLedger(dag *engine.DAG, root int) *ledgerOwner {
	name := dag.Spec.Tasks[root].Name
	o := &ledgerOwner{
		service: s, id: engine.RootID(dag.UID, name), namespace: dag.Namespace, name: dag.Name + "/" + name, created: dag.CreatedAt, edited: dag.UpdatedAt,
		generation: dag.Generation, pending: dag.Pending, all: engine.RunFilter{Namespace: dag.Namespace, DAGUID: dag.UID, Task: name},
	}
	compile := func(definition *spec.DAG) *cron.Schedule {
		at := slices.IndexFunc(definition.Tasks, func(t spec.Task) bool { return t.Name == name })
		if at < 0 || !definition.Tasks[at].Root() {
			return nil
		}
		return ledgerSchedule(definition.Definition(at, dag.Key()+"/"+name, dag.CreatedAt))
	}
	o.present = func() *cron.Schedule { return compile(&dag.Spec) }
	o.past = ledgerVersions(s.store.DAGs(), dag, func(definition *spec.DAG) (*cron.Schedule, bool) { return compile(definition), false })
	o.runs = func(ctx context.Context, slots []time.Time) (map[int64]slotRun, error) {
		return s.slotRunsOfRoot(ctx, dag, name, slots)
	}
	return o
}

// slotRunsOfRoot finds the runs of a root's slots: mostly they were made about when their slots came; those that an
// outage, a pause or the wave before held up, later.
func (s *Service) slotRunsOfRoot(ctx context.Context, dag *engine.DAG, root string, slots []time.Time) (map[int64]slotRun, error) {
	wanted := map[int64]bool{}
	for _, slot := range slots {
		wanted[slot.UnixMilli()] = true
	}
	found := map[int64]slotRun{}
	first, last := slots[0].Add(-ledgerMargin), slots[len(slots)-1].Add(lateRootRuns)
	for _, span := range []engine.Window{{From: first, Until: last}, {From: last}} {
		filter := engine.RunFilter{Namespace: dag.Namespace, DAGUID: dag.UID, Task: root, Since: span.From, Until: span.Until, Limit: RunsPerDay}
		for !span.Until.IsZero() || len(found) < len(wanted) { // all of the first: a slot may have more than one
			runs, next, err := s.store.Runs(ctx, filter)
			if err != nil {
				return nil, fmt.Errorf("look up runs of slots: %w", err)
			}
			for i := range runs {
				r := &runs[i]
				if at := r.Slot.UnixMilli(); wanted[at] && !r.Slot.IsZero() && r.Trigger != engine.TriggerUpstream { // that slot is the wave's
					found[at] = found[at].add(r)
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

// ledgerSchedule returns nil for what names no instants beforehand, or cannot be used.
func ledgerSchedule(definition cron.Definition) *cron.Schedule {
	schedule, err := cron.Compile(definition)
	if err != nil || schedule.Kind() == cron.KindManual || schedule.Kind() == cron.KindAfter {
		return nil
	}
	return schedule
}

// pastVersions reads all versions up to a generation, the first one first.
func pastVersions(generation int64, read func(before int64) ([]ledgerVersion, error)) ([]ledgerVersion, error) {
	var versions []ledgerVersion
	for before := generation + 1; before > 1; {
		some, err := read(before)
		if err != nil {
			return nil, fmt.Errorf("read generations: %w", err)
		}
		if len(some) == 0 {
			break
		}
		versions = append(versions, some...)
		before = some[len(some)-1].generation
	}
	slices.Reverse(versions)
	return versions, nil
}

// ledgerOwnerOf finds whose slot is missing; nil where that has been deleted, or has no such schedule any more.
func (s *Service) ledgerOwnerOf(ctx context.Context, d *LedgerDifference) (*ledgerOwner, error) {
	dagName, root, ofDAG := strings.Cut(d.Owner, "/")
	var o *ledgerOwner
	if ofDAG {
		dag, err := s.store.DAGs().Get(ctx, d.Namespace, dagName)
		if err != nil {
			return nil, ignoreGone(err)
		}
		for _, i := range ScheduledRoots(&dag) {
			if dag.Spec.Tasks[i].Name == root {
				o = s.rootLedger(&dag, i)
			}
		}
	} else {
		job, err := s.store.Jobs().Get(ctx, d.Namespace, d.Owner)
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
