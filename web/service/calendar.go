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

// Calendar is what happened to the slots of a job, or of a CRON root of a DAG, in a month, day by day, in the zone of its schedule.
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
	// More means that the day holds more runs than were looked at.
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

// Calendar returns what happened to a definition's slots in the month that an instant lies in. root says which CRON root of a
// DAG is meant, "" where it has only one, and for a job; zone is that of the days, nil for that of the schedule. Its cost is
// bounded by the days, not by what ran on them. A wave that
// was made long after its slot, by a backfill, is not looked for.
func (d *Definitions[S]) Calendar(ctx context.Context, definition *engine.Definition[S], root string, month time.Time, zone *time.Location) (Calendar, error) {
	of, err := d.ledger(definition, root)
	if err != nil {
		return Calendar{}, err
	}
	var planned cron.Definition // manual, of a root that has lost its schedule
	for _, schedule := range d.schedules(definition) {
		if schedule.task == of.uid {
			planned = schedule.cron
		}
	}
	schedule, err := cron.Compile(planned)
	if err != nil {
		return Calendar{}, field("invalid_schedule", "body.schedule", "%s", err)
	}
	calendar := newCalendar(month, schedule, zone)
	if err := d.fillRuns(ctx, definition, of, schedule, &calendar); err != nil {
		return Calendar{}, err
	}
	if fixed(schedule) {
		for i := range calendar.Days {
			d.s.plan(&calendar.Days[i], schedule)
		}
	}
	return calendar, d.s.fillRanges(ctx, of, schedule, &calendar)
}

// fixed reports whether the slots of a schedule are known without its runs.
func fixed(schedule *cron.Schedule) bool {
	return schedule.Kind() == cron.KindCron || schedule.Kind() == cron.KindEvery
}

// newCalendar makes the empty month that an instant lies in, in a zone, nil for that of the schedule.
func newCalendar(month time.Time, schedule *cron.Schedule, zone *time.Location) Calendar {
	if zone == nil {
		zone = schedule.Location()
	}
	month = month.In(zone)
	calendar := Calendar{Month: time.Date(month.Year(), month.Month(), 1, 0, 0, 0, 0, zone), Zone: zone, Schedule: schedule.Describe()}
	for day := calendar.Month; day.Month() == calendar.Month.Month(); {
		next := time.Date(day.Year(), day.Month(), day.Day()+1, 0, 0, 0, 0, zone)
		calendar.Days = append(calendar.Days, Day{From: day, Until: next, Reasons: map[engine.SlotReason]int64{}})
		day = next
	}
	return calendar
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

// fillJobRuns counts the runs of a job, each on the day of its slot.
func (s *Service) fillJobRuns(ctx context.Context, job *engine.Job, _ ledgerOf, schedule *cron.Schedule, calendar *Calendar) error {
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
	if !fixed(schedule) {
		return nil
	}
	var ids []string
	past := 0
	for i := range calendar.Days {
		day := &calendar.Days[i]
		steps := 0
		for slot := range schedule.Between(day.From.Add(-time.Millisecond), day.Until.Add(-time.Millisecond)) {
			if steps++; steps > plannedPerDay || slot.After(now) {
				break
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

// lookBack is how far before a job's creation a user may have backfilled it.
const lookBack = 366 * 24 * time.Hour

// count takes a run into the day of its slot, or into that on which a user asked for it.
func (c *Calendar) count(mark *engine.RunMark) {
	slot, slotted := engine.SlotOf(mark.ID)
	if !slotted {
		slot = mark.CreatedAt
	}
	c.add(slot, slotted, mark.Status)
}

// add takes a run into a day: that of its slot, or, where it is not slotted, that on which a user asked for it.
func (c *Calendar) add(at time.Time, slotted bool, status engine.Status) {
	day := c.dayOf(at)
	switch {
	case day == nil || status == engine.StatusScheduled:
	case !slotted:
		day.ByHand++
	case status == engine.StatusSucceeded:
		day.Good++
	case slices.Contains(badStatuses, status):
		day.Bad++
	default:
		day.Other++
	}
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

func (s *Service) fillRanges(ctx context.Context, of ledgerOf, schedule *cron.Schedule, calendar *Calendar) error {
	last := calendar.Days[len(calendar.Days)-1].Until
	ranges, _, err := s.store.Slots(ctx, engine.SlotFilter{JobUID: of.uid, Since: calendar.Month, Until: last, Limit: rangesShown})
	if err != nil {
		return fmt.Errorf("read the ledger of %s: %w", of.words, err)
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
// now, is in another year, the range stands on its first day.
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

// DaySlots unfolds a day of a calendar into what happened to each of its slots, the newest first, at most limit entries, and
// whether there are more.
func (d *Definitions[S]) DaySlots(
	ctx context.Context, definition *engine.Definition[S], root string, day Day, limit int,
) (entries []LedgerEntry, more bool, err error) {
	of, err := d.ledger(definition, root)
	if err != nil {
		return nil, false, err
	}
	entries, next, err := d.s.ledgerPage(ctx, of, day.From, day.Until, "", limit)
	if err != nil {
		return nil, false, err
	}
	if next == "" {
		late, err := d.ranLater(ctx, definition, day, entries)
		if err != nil {
			return nil, false, err
		}
		for i := range late {
			if fired(&late[i]) {
				entries = append(entries, entryOf(&late[i]))
			}
		}
	}
	entries = slices.DeleteFunc(entries, func(e LedgerEntry) bool { return e.To.Before(day.From) || !e.From.Before(day.Until) })
	slices.SortStableFunc(entries, func(a, b LedgerEntry) int { return b.From.Compare(a.From) })
	return entries[:min(limit, len(entries))], next != "" || len(entries) > limit, nil
}

// jobRanLater finds the runs of a day's slots that were made after the day, caught up or backfilled, and are not known.
func (s *Service) jobRanLater(ctx context.Context, job *engine.Job, day Day, known []LedgerEntry) ([]engine.Run, error) {
	schedule, err := cron.Compile(job.Spec.Definition(job.Key(), job.CreatedAt))
	if err != nil || !fixed(schedule) {
		return nil, nil //nolint:nilerr // what does not compile any more has no slots to look up
	}
	ids := map[string]struct{}{}
	for slot := range schedule.Between(day.From.Add(-time.Millisecond), day.Until.Add(-time.Millisecond)) {
		if len(ids) == lookedUpByID || slot.After(s.now()) {
			break
		}
		id := engine.SlotRunID(job.UID, slot)
		if !slices.ContainsFunc(known, func(e LedgerEntry) bool { return e.Run == id }) {
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
