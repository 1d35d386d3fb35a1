package service

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
)

// Calendar is what became of a job's slots in a month, day by day, in the zone of its schedule.
type Calendar struct {
	Month    time.Time // its first instant, in Zone
	Zone     *time.Location
	Schedule string // in words
	Days     []Day
}

// Day is one day of a calendar.
type Day struct {
	From  time.Time // its first instant, in the calendar's zone
	Until time.Time // the first of the next
	// What fired on it, by how it ended; ByHand are runs that stand for no slot.
	Good, Bad, Other, ByHand int
	Skipped, Missed          int64
	// More says that the day holds more runs than were looked at.
	More bool
	// Planned is how many slots are still to come on it, at most plannedPerDay.
	Planned int
	// Reasons are why slots did not fire, each with how many.
	Reasons map[engine.SlotReason]int64
}

// Fired is how many slots of the day fired.
func (d *Day) Fired() int { return d.Good + d.Bad + d.Other }

const (
	// RunsPerDay is how many runs of a day a calendar looks at.
	RunsPerDay = 500
	// plannedPerDay bounds the slots that are counted for a day, to come or in a range of the ledger.
	plannedPerDay = 1_500
	// lookedUpByID is how many slots of a month, at most, are looked up one by one: so those are found that ran long
	// after their time.
	lookedUpByID = 800
	rangesShown  = 1_000
)

// Calendar tells what became of a job's slots in the month that an instant lies in. Its cost is bounded by the days,
// not by what ran on them.
func (s *Service) Calendar(ctx context.Context, namespace, name string, month time.Time) (Calendar, error) {
	job, err := s.Jobs.Get(ctx, namespace, name)
	if err != nil {
		return Calendar{}, err
	}
	schedule, err := cron.Compile(job.Spec.Definition(job.Key(), job.CreatedAt))
	if err != nil {
		return Calendar{}, field("invalid_schedule", "body.schedule", "%s", err)
	}
	calendar := newCalendar(month, schedule)
	if err := s.fillRuns(ctx, &job, schedule, &calendar); err != nil {
		return Calendar{}, err
	}
	return calendar, s.fillRanges(ctx, &job, schedule, &calendar)
}

// dayOf finds the day of an instant, nil if it is not of the month.
func (c *Calendar) dayOf(at time.Time) *Day {
	i, found := slices.BinarySearchFunc(c.Days, at, func(day Day, at time.Time) int { return day.From.Compare(at) })
	if !found {
		i--
	}
	if i < 0 || !at.Before(c.Days[i].Until) {
		return nil
	}
	return &c.Days[i]
}

func (s *Service) fillRuns(ctx context.Context, job *engine.Job, schedule *cron.Schedule, calendar *Calendar) error {
	now := s.now()
	// A run is made a little before its slot.
	windows := make([]engine.Window, len(calendar.Days))
	for i := range calendar.Days {
		windows[i] = engine.Window{From: calendar.Days[i].From.Add(-ledgerMargin), Until: calendar.Days[i].Until}
	}
	within, err := s.store.MarksWithin(ctx, job.UID, windows, RunsPerDay)
	if err != nil {
		return fmt.Errorf("read the runs of job %s: %w", job.Name, err)
	}
	seen := map[string]bool{}
	for i, marks := range within {
		calendar.Days[i].More = len(marks) == RunsPerDay
		for _, mark := range marks {
			if !seen[mark.ID] {
				seen[mark.ID] = true
				calendar.count(&mark)
			}
		}
	}
	if kind := schedule.Kind(); kind != cron.KindCron && kind != cron.KindEvery {
		return nil
	}
	var ids []string
	past := 0
	for i := range calendar.Days {
		day := &calendar.Days[i]
		steps := 0
		for slot := range schedule.Between(day.From.Add(-time.Millisecond), day.Until.Add(-time.Millisecond)) {
			if steps++; steps > plannedPerDay {
				break
			}
			if slot.After(now) {
				if !schedule.Excluded(slot) {
					day.Planned++
				}
				continue
			}
			if past++; past <= lookedUpByID {
				if id := engine.SlotRunID(job.UID, slot); !seen[id] && !slot.Before(job.CreatedAt.Add(-lookBack)) {
					ids = append(ids, id)
				}
			}
		}
	}
	if past > lookedUpByID || len(ids) == 0 {
		return nil
	}
	runs, err := s.store.RunsByID(ctx, ids)
	if err != nil {
		return fmt.Errorf("look up the runs of job %s: %w", job.Name, err)
	}
	for i := range runs {
		mark := runs[i].Mark()
		calendar.count(&mark)
	}
	return nil
}

// lookBack is how long before a job was made somebody may have backfilled it.
const lookBack = 366 * 24 * time.Hour

// count takes a run into the day of its slot, or into that on which somebody asked for it.
func (c *Calendar) count(mark *engine.RunMark) {
	slot, slotted := engine.SlotOf(mark.ID)
	if !slotted {
		slot = mark.CreatedAt
	}
	day := c.dayOf(slot)
	switch {
	case day == nil || mark.Status == engine.StatusScheduled:
	case !slotted:
		day.ByHand++
	case mark.Status == engine.StatusSucceeded:
		day.Good++
	case slices.Contains(badStatuses, mark.Status):
		day.Bad++
	default:
		day.Other++
	}
}

func (s *Service) fillRanges(ctx context.Context, job *engine.Job, schedule *cron.Schedule, calendar *Calendar) error {
	last := calendar.Days[len(calendar.Days)-1].Until
	ranges, _, err := s.store.Slots(ctx, engine.SlotFilter{JobUID: job.UID, Since: calendar.Month, Until: last, Limit: rangesShown})
	if err != nil {
		return fmt.Errorf("read the ledger of job %s: %w", job.Name, err)
	}
	for i := range ranges {
		for day, count := range calendar.spread(schedule, &ranges[i]) {
			calendar.Days[day].Reasons[ranges[i].Reason] += count
			if ranges[i].Outcome == engine.OutcomeMissed {
				calendar.Days[day].Missed += count
			} else {
				calendar.Days[day].Skipped += count
			}
		}
	}
	return nil
}

// spread shares the slots of a range among the days that it touches, by their indexes. Where the schedule, as it is
// now, does not tell, the range stands on its first day.
func (c *Calendar) spread(schedule *cron.Schedule, r *engine.SlotRange) map[int]int64 {
	first, last := -1, -1
	for i := range c.Days {
		if r.From.Before(c.Days[i].Until) && !r.To.Before(c.Days[i].From) {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return nil
	}
	whole := !r.From.Before(c.Days[0].From) && r.To.Before(c.Days[len(c.Days)-1].Until)
	if first == last && whole {
		return map[int]int64{first: r.Count}
	}
	shares := map[int]int64{}
	for i := first; i <= last; i++ {
		from, to := c.Days[i].From.Add(-time.Millisecond), c.Days[i].Until.Add(-time.Millisecond)
		if r.From.After(from) {
			from = r.From.Add(-time.Millisecond)
		}
		if r.To.Before(to) {
			to = r.To
		}
		var count int64
		for range schedule.Between(from, to) {
			if count++; count == plannedPerDay {
				break
			}
		}
		if count > 0 {
			shares[i] = count
		}
	}
	if len(shares) == 0 {
		shares[first] = r.Count
	}
	return shares
}

// DaySlots unfolds a day into what became of each of its slots, the newest first, at most limit entries, and whether
// there are more.
func (s *Service) DaySlots(ctx context.Context, namespace, name string, day Day, limit int) (entries []LedgerEntry, more bool, err error) {
	job, err := s.Jobs.Get(ctx, namespace, name)
	if err != nil {
		return nil, false, err
	}
	runs, next, err := s.store.Runs(ctx, engine.RunFilter{
		Namespace: namespace, JobUID: job.UID, Since: day.From.Add(-ledgerMargin), Until: day.Until, Limit: limit,
	})
	if err != nil {
		return nil, false, fmt.Errorf("read the runs of job %s: %w", name, err)
	}
	byID := map[string]engine.Run{}
	for i := range runs {
		byID[runs[i].ID] = runs[i]
	}
	if next == "" {
		late, err := s.ranLater(ctx, &job, day, byID)
		if err != nil {
			return nil, false, err
		}
		runs = append(runs, late...)
	}
	ranges, nextRange, err := s.store.Slots(ctx, engine.SlotFilter{JobUID: job.UID, Since: day.From, Until: day.Until, Limit: limit})
	if err != nil {
		return nil, false, fmt.Errorf("read the ledger of job %s: %w", name, err)
	}
	for i := range runs {
		r := &runs[i]
		if at := r.Slot; fired(r) && !at.Before(day.From) && at.Before(day.Until) {
			entries = append(entries, LedgerEntry{From: at, To: at, Count: 1, Outcome: "fired", Reason: string(r.Trigger), Run: r.ID, Status: r.Status})
		}
	}
	for i := range ranges {
		r := &ranges[i]
		entries = append(entries, LedgerEntry{From: r.From, To: r.To, Count: r.Count, Outcome: string(r.Outcome), Reason: string(r.Reason)})
	}
	slices.SortStableFunc(entries, func(a, b LedgerEntry) int { return b.From.Compare(a.From) })
	more = next != "" || nextRange != "" || len(entries) > limit
	return entries[:min(limit, len(entries))], more, nil
}

// ranLater finds the runs of a day's slots that were made after the day: caught up, or backfilled.
func (s *Service) ranLater(ctx context.Context, job *engine.Job, day Day, known map[string]engine.Run) ([]engine.Run, error) {
	schedule, err := cron.Compile(job.Spec.Definition(job.Key(), job.CreatedAt))
	if err != nil || schedule.Kind() != cron.KindCron && schedule.Kind() != cron.KindEvery {
		return nil, nil //nolint:nilerr // what does not compile any more has no slots to look up
	}
	ids := map[string]struct{}{}
	for slot := range schedule.Between(day.From.Add(-time.Millisecond), day.Until.Add(-time.Millisecond)) {
		if len(ids) == lookedUpByID || slot.After(s.now()) {
			break
		}
		id := engine.SlotRunID(job.UID, slot)
		if _, have := known[id]; !have {
			ids[id] = struct{}{}
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	runs, err := s.store.RunsByID(ctx, slices.Sorted(maps.Keys(ids)))
	if err != nil {
		return nil, fmt.Errorf("look up the runs of job %s: %w", job.Name, err)
	}
	return runs, nil
}
