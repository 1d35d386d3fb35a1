package service

import (
	"context"
	"fmt"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
)

// rootRunsPerDay is how many runs of a day a root's calendar looks at.
const rootRunsPerDay = 200

// fillRootRuns counts the runs of a root of a DAG, each on the day of its slot.
func (s *Service) fillRootRuns(ctx context.Context, dag *engine.DAG, of ledgerOf, _ *cron.Schedule, calendar *Calendar) error {
	for i := range calendar.Days {
		day := &calendar.Days[i]
		if day.From.After(s.now()) || day.Until.Before(dag.CreatedAt) {
			continue
		}
		of.runs.Since, of.runs.Until, of.runs.Limit = day.From, day.Until, rootRunsPerDay
		if i == 0 { // a run is made a little before its slot
			of.runs.Since = day.From.Add(-ledgerMargin)
		}
		runs, next, err := s.store.Runs(ctx, of.runs)
		if err != nil {
			return fmt.Errorf("read the runs of %s: %w", of.words, err)
		}
		day.More = next != ""
		for k := range runs {
			run := &runs[k]
			at, slotted := run.Slot, !run.Slot.IsZero()
			if !slotted {
				at = run.CreatedAt
			}
			if run.Item == nil || *run.Item == 0 {
				calendar.add(at, slotted, run.Status)
			}
		}
	}
	return nil
}

// rootRanLater finds no more: the run of a root is not named by its slot.
func rootRanLater(context.Context, *engine.DAG, Day, []LedgerEntry) ([]engine.Run, error) {
	return nil, nil
}
