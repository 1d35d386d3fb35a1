package service

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// lookAtSlots finds what was missed, and what a job's own runs were in the way of.
func (s *Service) lookAtSlots(ctx context.Context, namespace string, view *Overview) error {
	ranges, err := s.store.RecentSlots(ctx, namespace, view.At.Add(-lookedBack), 2*attended)
	if err != nil {
		return fmt.Errorf("list what was missed: %w", err)
	}
	missed, overlaps := map[string]*Concern{}, map[string]*Concern{}
	skipped := map[string][]engine.SlotRange{} // of overlaps
	uids := map[string]string{}                // of the jobs and DAGs that missed slots
	for i := range ranges {
		r := &ranges[i]
		of, kind := missed, ConcernMissed
		switch {
		case r.Outcome == engine.OutcomeMissed:
			uids[r.Job] = r.JobUID
		case r.Reason == engine.ReasonOverlap || r.Reason == engine.ReasonQueueFull || r.Reason == engine.ReasonReplaced:
			of, kind = overlaps, ConcernOverlap
			skipped[r.Job] = append(skipped[r.Job], *r)
		default:
			continue // what a user or a definition asked for needs no attention
		}
		if of[r.Job] == nil {
			of[r.Job] = &Concern{Kind: kind, Job: r.Job, At: r.To, Reason: string(r.Reason)}
		}
		of[r.Job].Count += int(r.Count)
	}
	if err := s.resumed(ctx, missed, uids); err != nil {
		return err
	}
	view.Concerns = append(view.Concerns, sortedConcerns(missed)...)
	maps.DeleteFunc(overlaps, func(_ string, c *Concern) bool { return c.Count < outlasted })
	if err := s.explainOverlaps(ctx, overlaps, skipped, view.At); err != nil {
		return err
	}
	view.Concerns = append(view.Concerns, sortedConcerns(overlaps)...)
	return nil
}

// explainOverlaps says of slots that did not fire because the run before had not ended whether that run continued for long,
// or waited for an executor. Where the runs of then are not among the latest any more it says neither.
func (s *Service) explainOverlaps(ctx context.Context, overlaps map[string]*Concern, skipped map[string][]engine.SlotRange, now time.Time) error {
	uids := map[string]bool{}
	for job := range overlaps {
		if !strings.Contains(job, "/") { // a root of a DAG: what was in its way is a wave
			uids[skipped[job][0].JobUID] = true
		}
	}
	if len(uids) == 0 {
		return nil
	}
	marks, err := s.store.LatestMarks(ctx, slices.Sorted(maps.Keys(uids)), HealthTimed, HealthTimed)
	if err != nil {
		return fmt.Errorf("read the runs that were in the way of slots: %w", err)
	}
	for job, c := range overlaps {
		var waited, ran float64
		for i := range skipped[job] {
			r := &skipped[job][i]
			share, known := waitedShare(r, marks[r.JobUID], now)
			if !known {
				continue
			}
			waited += share * float64(r.Count)
			ran += (1 - share) * float64(r.Count)
		}
		switch {
		case waited > ran:
			c.Kind = ConcernHeldUp
		case ran > 0:
			c.Kind = ConcernOutlasts
		}
	}
	return nil
}

// waitedShare returns for how much of the time of skipped slots the run that was in their way had not begun, from 0 to 1;
// false where none of the runs was in their way.
func waitedShare(r *engine.SlotRange, marks []engine.RunMark, now time.Time) (share float64, known bool) {
	for i := range marks {
		mark := &marks[i]
		end := now
		if mark.Status.Terminal() {
			end = mark.FinishedAt
		}
		if mark.Status == engine.StatusScheduled || mark.CreatedAt.After(r.To) || !end.After(r.From) {
			continue
		}
		if mark.Status == engine.StatusQueued {
			return 1, true // perhaps not for the first time: an attempt may have been lost with its executor
		}
		begun := mark.StartedAt
		if begun.IsZero() {
			begun = end
		}
		switch {
		case !begun.After(r.From):
			return 0, true
		case !begun.Before(r.To):
			return 1, true
		}
		return float64(begun.Sub(r.From)) / float64(r.To.Sub(r.From)), true
	}
	return 0, false
}
