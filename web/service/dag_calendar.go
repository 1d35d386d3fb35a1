package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
)

// rootRunsPerDay is how many runs of a day a root's calendar looks at.
const rootRunsPerDay = 200

// RootCalendar tells what became of the slots of a DAG's CRON root in the month that an instant lies in, as Calendar does
// for a job. A wave that was made long after its slot, by a backfill, is not looked for.
func (s *Service) RootCalendar(ctx context.Context, dag *engine.DAG, root int, month time.Time) (Calendar, error) {
	name := dag.Spec.Tasks[root].Name
	schedule, err := cron.Compile(dag.Spec.Definition(root, dag.Key()+"/"+name, dag.CreatedAt))
	if err != nil {
		return Calendar{}, field("invalid_schedule", "body.schedule", "%s", err)
	}
	calendar := newCalendar(month, schedule)
	for i := range calendar.Days {
		day := &calendar.Days[i]
		if err := s.fillRootDay(ctx, dag, name, &calendar, day); err != nil {
			return Calendar{}, err
		}
		s.plan(day, schedule)
	}
	owner := engine.Job{UID: engine.RootID(dag.UID, name), Name: dag.Name + "/" + name}
	return calendar, s.fillRanges(ctx, &owner, schedule, &calendar)
}

// newCalendar makes the empty month that an instant lies in, in the zone of a schedule.
func newCalendar(month time.Time, schedule *cron.Schedule) Calendar {
	zone := schedule.Location()
	month = month.In(zone)
	calendar := Calendar{Month: time.Date(month.Year(), month.Month(), 1, 0, 0, 0, 0, zone), Zone: zone, Schedule: schedule.Describe()}
	for day := calendar.Month; day.Month() == calendar.Month.Month(); {
		next := time.Date(day.Year(), day.Month(), day.Day()+1, 0, 0, 0, 0, zone)
		calendar.Days = append(calendar.Days, Day{From: day, Until: next, Reasons: map[engine.SlotReason]int64{}})
		day = next
	}
	return calendar
}

// fillRootDay counts the runs of a root that were made on a day, each into the day of its slot.
func (s *Service) fillRootDay(ctx context.Context, dag *engine.DAG, root string, calendar *Calendar, day *Day) error {
	if day.From.After(s.now()) || day.Until.Before(dag.CreatedAt) {
		return nil
	}
	runs, next, err := s.store.Runs(ctx, engine.RunFilter{
		Namespace: dag.Namespace, DAGUID: dag.UID, Task: root, Since: day.From, Until: day.Until, Limit: rootRunsPerDay,
	})
	if err != nil {
		return fmt.Errorf("read the runs of %s/%s: %w", dag.Name, root, err)
	}
	day.More = next != ""
	for i := range runs {
		run := &runs[i]
		at, slotted := run.Slot, !run.Slot.IsZero()
		if !slotted {
			at = run.CreatedAt
		}
		on := calendar.dayOf(at)
		switch {
		case on == nil || run.Status == engine.StatusScheduled || run.Item != nil && *run.Item > 0:
		case !slotted:
			on.ByHand++
		case run.Status == engine.StatusSucceeded:
			on.Good++
		case slices.Contains(badStatuses, run.Status):
			on.Bad++
		default:
			on.Other++
		}
	}
	return nil
}

// plan counts the slots of a day that are still to come.
func (s *Service) plan(day *Day, schedule *cron.Schedule) {
	now := s.now()
	if !day.Until.After(now) {
		return
	}
	from := day.From.Add(-time.Millisecond)
	if now.After(from) {
		from = now
	}
	steps := 0
	for slot := range schedule.Between(from, day.Until.Add(-time.Millisecond)) {
		if steps++; steps > plannedPerDay {
			return
		}
		if !schedule.Excluded(slot) {
			day.Planned++
		}
	}
}

// RootDaySlots unfolds a day of a root's calendar into what became of each of its slots, the newest first, at most limit
// entries, and whether there are more.
func (s *Service) RootDaySlots(ctx context.Context, dag *engine.DAG, root string, day Day, limit int) (entries []LedgerEntry, more bool, err error) {
	entries, next, err := s.DAGs.LedgerPage(ctx, dag.Namespace, dag.Name, root, day.From, day.Until, "", limit)
	if err != nil {
		return nil, false, err
	}
	entries = slices.DeleteFunc(entries, func(e LedgerEntry) bool { return e.To.Before(day.From) || !e.From.Before(day.Until) })
	return entries, next != "", nil
}
