package service

import (
	"context"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
)

// Backfill is what a backfill would do, slot by slot.
type Backfill struct {
	Slots []BackfillSlot
	New   int // how many runs it makes
}

// BackfillSlot is one slot of the range; Run is set, with its status, where there is a run already.
type BackfillSlot struct {
	Slot   time.Time
	Run    string
	Status engine.Status
}

// BackfillJob runs the slots of [from, to) that have no run yet, one after the other. A dry run only reports them.
func (s *Service) BackfillJob(ctx context.Context, namespace, name string, from, to time.Time, by string, dryRun bool) (Backfill, error) {
	job, err := s.Jobs.Get(ctx, namespace, name)
	if err != nil {
		return Backfill{}, err
	}
	now := s.now()
	schedule, err := cron.Compile(job.Spec.Definition(job.Key(), job.CreatedAt))
	switch {
	case err != nil:
		return Backfill{}, fmt.Errorf("compile the schedule of job %s: %w", name, err)
	case checkRange(from, to, now) != nil:
		return Backfill{}, checkRange(from, to, now)
	case schedule.Kind() != cron.KindCron && schedule.Kind() != cron.KindEvery:
		return Backfill{}, conflict("no_slots", "job %q has no fixed slots (its schedule is of kind %s): run it manually instead", name, schedule.Kind())
	}
	var plan Backfill
	var ids []string
	slot, ok := schedule.Next(from.Add(-time.Millisecond))
	for ; ok && slot.Before(to) && !slot.After(now); slot, ok = schedule.Next(slot) {
		if schedule.Excluded(slot) {
			continue
		}
		if len(ids) == engine.MaxBackfill {
			return Backfill{}, field("range_too_large", "body.to", "the range holds more than %d slots: take a shorter one", engine.MaxBackfill)
		}
		plan.Slots = append(plan.Slots, BackfillSlot{Slot: slot})
		ids = append(ids, engine.SlotRunID(job.UID, slot))
	}
	runs, err := s.store.RunsByID(ctx, ids)
	if err != nil {
		return Backfill{}, fmt.Errorf("look up the runs of the range: %w", err)
	}
	known := map[string]engine.Status{}
	for i := range runs {
		known[runs[i].ID] = runs[i].Status
	}
	for i, id := range ids {
		if status, have := known[id]; have {
			plan.Slots[i].Run, plan.Slots[i].Status = id, status
		} else {
			plan.New++
		}
	}
	if dryRun || plan.New == 0 {
		return plan, nil
	}
	if err := s.hasRoom(ctx, job.Spec.Tier); err != nil {
		return Backfill{}, err
	}
	if err := s.maySubmit(ctx, namespace, plan.New); err != nil {
		return Backfill{}, err
	}
	return plan, s.command(ctx, engine.Command{
		ID:   fmt.Sprintf("%s-backfill-%d-%d", job.UID, from.UnixMilli(), to.UnixMilli()),
		Kind: engine.CommandBackfill, JobUID: job.UID, By: by, From: from.UTC(), To: to.UTC(),
	})
}
