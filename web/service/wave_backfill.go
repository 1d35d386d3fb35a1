package service

import (
	"context"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/wave"
)

// DAGBackfill is what a backfill of a DAG would do, wave by wave.
type DAGBackfill struct {
	Waves []BackfillWave
	New   int // how many waves it makes
}

// BackfillWave is one wave of the range; Wave is set, with its status, where a wave has had one of its slots already.
type BackfillWave struct {
	wave.Planned
	Wave   string
	Status engine.Status
}

// BackfillDAG makes waves of the slots in [from, to) that no wave has had, one after the other, after all else that waits.
// Each has one slot of every root, as if it had been made in its time by a DAG whose waves take none; one of which any
// slot was had is left out. A dry run only reports them.
func (s *Service) BackfillDAG(ctx context.Context, namespace, name string, from, to time.Time, by string, dryRun bool) (DAGBackfill, error) {
	dag, err := s.DAGs.Get(ctx, namespace, name)
	if err != nil {
		return DAGBackfill{}, err
	}
	now := s.now()
	if err := checkRange(from, to, now); err != nil {
		return DAGBackfill{}, err
	}
	if dag.Spec.Manual() {
		return DAGBackfill{}, conflict("no_slots", "DAG %q has no schedule, so it has no slots: run it manually instead", name)
	}
	planned, more, err := wave.Backfill(&dag, from, to, now)
	if err != nil {
		return DAGBackfill{}, err
	}
	if more {
		return DAGBackfill{}, field("range_too_large", "body.to", "the range holds more than %d waves: take a shorter one", engine.MaxBackfill)
	}
	plan, err := s.planBackfill(ctx, &dag, planned, from)
	if err != nil || dryRun || len(plan.Waves) == 0 {
		return plan, err
	}
	if faults, err := s.taskFaults(ctx, namespace, &dag.Spec); err != nil || len(faults) > 0 {
		if err == nil {
			err = conflict(faults[0].code, "DAG %q cannot run: %s", name, faults[0].Message)
		}
		return plan, err
	}
	return plan, s.makeBackfill(ctx, &dag, &plan, by)
}

func checkRange(from, to, now time.Time) error {
	switch {
	case from.IsZero() || to.IsZero():
		return field("range_missing", "body.from", "a backfill needs both from and to")
	case !from.Before(to):
		return field("range_empty", "body.to", "to (%s) must be after from (%s)", to.Format(time.RFC3339), from.Format(time.RFC3339))
	case from.After(now):
		return field("range_in_future", "body.from", "from (%s) lies in the future: those slots will come by themselves", from.Format(time.RFC3339))
	}
	return nil
}

// planBackfill reports which of the planned waves are there already, or have a slot that another wave has had.
func (s *Service) planBackfill(ctx context.Context, dag *engine.DAG, planned []wave.Planned, from time.Time) (DAGBackfill, error) {
	if len(planned) == 0 {
		return DAGBackfill{}, nil
	}
	statuses := map[string]engine.Status{}
	had := map[rootSlot]string{}
	// First what the engine has not acted upon: a wave that it makes meanwhile is found below.
	waves, err := s.acceptedWaves(ctx, dag)
	if err != nil {
		return DAGBackfill{}, err
	}
	for i := range waves {
		statuses[waves[i].ID] = waves[i].Status
		noteSlots(had, &waves[i])
	}
	if err := s.slotsHad(ctx, dag, planned[0].Slots, from, had); err != nil {
		return DAGBackfill{}, err
	}
	var ids []string
	for _, p := range planned {
		ids = append(ids, engine.ManualWaveID(dag.UID, p.BackfillKey()))
		for root, slot := range p.Slots {
			if wave, known := had[rootSlot{root, slot.UnixMilli()}]; known {
				ids = append(ids, wave)
			}
		}
	}
	if waves, err = s.store.WavesByID(ctx, ids); err != nil {
		return DAGBackfill{}, fmt.Errorf("look up the waves of the range: %w", err)
	}
	for i := range waves {
		statuses[waves[i].ID] = waves[i].Status
	}
	var plan DAGBackfill
	for _, p := range planned {
		one := BackfillWave{Planned: p}
		own := engine.ManualWaveID(dag.UID, p.BackfillKey())
		if status, made := statuses[own]; made {
			one.Wave, one.Status = own, status
		}
		for root, slot := range p.Slots {
			// The least, so that the same question has the same answer.
			if wave, known := had[rootSlot{root, slot.UnixMilli()}]; known && wave != own && (one.Wave == "" || one.Wave != own && wave < one.Wave) {
				one.Wave, one.Status = wave, statuses[wave]
			}
		}
		if one.Wave == "" {
			plan.New++
		}
		plan.Waves = append(plan.Waves, one)
	}
	return plan, nil
}

// rootSlot is a slot of a root, in milliseconds.
type rootSlot struct {
	root string
	slot int64
}

// noteSlots notes the slots of a wave that may not have begun, and has no runs yet.
func noteSlots(had map[rootSlot]string, wave *engine.Wave) {
	for root, slot := range wave.Slots {
		had[rootSlot{root, slot.UnixMilli()}] = wave.ID
	}
}

// commandsLookedAt is how many commands a backfill looks through for waves that are accepted.
const commandsLookedAt = 10 * engine.MaxBackfill

// acceptedWaves returns the waves of a DAG that are commands as yet.
func (s *Service) acceptedWaves(ctx context.Context, dag *engine.DAG) (waves []engine.Wave, err error) {
	commands, err := s.store.Commands(ctx, []int{dag.Shard}, commandsLookedAt)
	if err != nil {
		return nil, fmt.Errorf("read what the engine has not acted upon: %w", err)
	}
	if len(commands) == commandsLookedAt {
		return nil, conflict("engine_behind", "the engine has %d requests to act upon before this one: ask again once it has", len(commands))
	}
	for i := range commands {
		if wave := commands[i].Wave; wave != nil && wave.DAGUID == dag.UID {
			waves = append(waves, *wave)
		}
	}
	return waves, nil
}

// historyLookedAt is how many runs of a root a backfill looks through for slots that were had.
const historyLookedAt = 50_000

// slotsHad notes which wave has had which slot of these roots, from an instant on.
func (s *Service) slotsHad(ctx context.Context, dag *engine.DAG, roots map[string]time.Time, from time.Time, had map[rootSlot]string) error {
	for root := range roots {
		filter := engine.RunFilter{Namespace: dag.Namespace, DAGUID: dag.UID, Task: root, Since: from.Add(-ledgerMargin), Limit: 1000}
		for looked := 0; ; {
			runs, next, err := s.store.Runs(ctx, filter)
			if err != nil {
				return fmt.Errorf("read the runs of root %s: %w", root, err)
			}
			for i := range runs {
				if r := &runs[i]; !r.Slot.IsZero() {
					had[rootSlot{root, r.Slot.UnixMilli()}] = r.Wave
				}
			}
			if looked += len(runs); next == "" {
				break
			}
			if looked >= historyLookedAt {
				return field("history_too_long", "body.from", "root %s has had more than %d runs since then, too many to look through: let the range begin later", root, historyLookedAt)
			}
			filter.Cursor = next
		}
	}
	// Backfills that have not begun have no runs yet.
	filter := engine.WaveFilter{Namespace: dag.Namespace, DAGUID: dag.UID, Statuses: []engine.Status{engine.StatusScheduled, engine.StatusRunning}, Limit: 1000}
	for {
		waves, next, err := s.store.Waves(ctx, filter)
		if err != nil {
			return fmt.Errorf("list what waits of DAG %s: %w", dag.Name, err)
		}
		for i := range waves {
			noteSlots(had, &waves[i])
		}
		if next == "" {
			return nil
		}
		filter.Cursor = next
	}
}

// makeBackfill asks the engine for the waves that are new, the earliest first: it begins none before it knows those that
// come before. Asked again after a crash it does the rest.
func (s *Service) makeBackfill(ctx context.Context, dag *engine.DAG, plan *DAGBackfill, by string) error {
	if err := s.hasRoomForDAG(ctx, &dag.Spec); err != nil {
		return err
	}
	if plan.New > 0 {
		if err := s.maySubmit(ctx, dag.Namespace, plan.New); err != nil {
			return err
		}
	}
	for i := range plan.Waves {
		one := &plan.Waves[i]
		if one.Wave != "" {
			continue
		}
		wave := s.newWave(dag, one.BackfillKey(), engine.TriggerBackfill, by)
		wave.Slot, wave.Slots = one.Slot, one.Slots
		if err := s.leave(ctx, startWave(&wave)); err != nil {
			return fmt.Errorf("start wave %s: %w", wave.ID, err)
		}
	}
	s.wake(ctx, engine.Wake{Shard: dag.Shard, Kind: engine.WakeCommand})
	return nil
}
