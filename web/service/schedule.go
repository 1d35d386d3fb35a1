package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
)

// Preview tells when a schedule would fire, with gaps and repeats in words, and describes it.
func Preview(definition cron.Definition, after time.Time, count int) (slots []cron.Slot, description string, err error) {
	schedule, err := cron.Compile(definition)
	if err != nil {
		return nil, "", field("invalid_schedule", "body.schedule", "%s", err)
	}
	return schedule.Preview(after, min(max(count, 1), 1000)), schedule.Describe(), nil
}

// NextSlots tells when a job fires next. A paused job's slots are what would fire if it were resumed.
func (s *Service) NextSlots(ctx context.Context, namespace, name string, after time.Time, count int) (slots []cron.Slot, description string, err error) {
	job, err := s.Job(ctx, namespace, name)
	if err != nil {
		return nil, "", err
	}
	if after.IsZero() {
		after = s.now()
	}
	return Preview(job.Spec.Definition(job.Key(), job.CreatedAt), after, count)
}

// Upcoming lists what fires next over all jobs of a namespace.
func (s *Service) Upcoming(ctx context.Context, namespace string, limit int) ([]engine.ScheduledTask, error) {
	return s.store.Upcoming(ctx, namespace, limit)
}

// LedgerEntry is one line of a job's slot ledger: a run that fired, or a range of slots that did not.
type LedgerEntry struct {
	From    time.Time
	To      time.Time
	Count   int64
	Outcome string // fired, skipped, missed
	Reason  string
	Run     string
	Status  engine.Status
}

// Ledger tells what became of a job's slots since an instant, newest first, at most limit entries, and whether there
// are more.
func (s *Service) Ledger(ctx context.Context, namespace, name string, since, until time.Time, limit int) (entries []LedgerEntry, more bool, err error) {
	job, err := s.Job(ctx, namespace, name)
	if err != nil {
		return nil, false, err
	}
	ranges, nextRanges, err := s.store.Slots(ctx, engine.SlotFilter{JobUID: job.UID, Since: since, Until: until, Limit: limit})
	if err != nil {
		return nil, false, fmt.Errorf("read the ledger of job %s: %w", name, err)
	}
	runs, nextRuns, err := s.store.Runs(ctx, engine.RunFilter{Namespace: namespace, JobUID: job.UID, Since: since, Until: until, Limit: limit})
	if err != nil {
		return nil, false, fmt.Errorf("read the runs of job %s: %w", name, err)
	}
	fired := make([]LedgerEntry, 0, len(runs))
	for i := range runs {
		if r := &runs[i]; !r.Slot.IsZero() && (r.Status != engine.StatusScheduled || r.Waiting) {
			fired = append(fired, LedgerEntry{From: r.Slot, To: r.Slot, Count: 1, Outcome: "fired", Reason: string(r.Trigger), Run: r.ID, Status: r.Status})
		}
	}
	for len(entries) < limit && (len(ranges) > 0 || len(fired) > 0) {
		if len(ranges) == 0 || (len(fired) > 0 && fired[0].From.After(ranges[0].From)) {
			entries, fired = append(entries, fired[0]), fired[1:]
			continue
		}
		r := &ranges[0]
		entries = append(entries, LedgerEntry{From: r.From, To: r.To, Count: r.Count, Outcome: string(r.Outcome), Reason: string(r.Reason)})
		ranges = ranges[1:]
	}
	slices.SortStableFunc(entries, func(a, b LedgerEntry) int { return b.From.Compare(a.From) })
	return entries, nextRanges != "" || nextRuns != "" || len(ranges) > 0 || len(fired) > 0, nil
}
