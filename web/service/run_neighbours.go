package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

const (
	neighbourPage = 50
	// neighbourLooks bounds how often the store is asked for the run after a run.
	neighbourLooks = 30
)

// RunNeighbours returns the ids of the runs of the same job, or of the same task of a DAG, directly before and after a run in
// history; "" where there is none, or where none was found in bounded work.
func (s *Service) RunNeighbours(ctx context.Context, run *engine.Run) (before, after string, err error) {
	filter := engine.RunFilter{Namespace: run.Namespace, JobUID: run.JobUID, Task: run.Task, Limit: 1}
	filter.Cursor = engine.Cursor{At: run.CreatedAt, ID: run.ID}.Encode("runs")
	older, _, err := s.store.Runs(ctx, filter)
	if err != nil {
		return "", "", fmt.Errorf("look for the run before %s: %w", run.ID, err)
	}
	span := time.Hour
	if len(older) > 0 {
		before = older[0].ID
		span = max(4*run.CreatedAt.Sub(older[0].CreatedAt), time.Second) // jobs mostly run at like distances
	}
	after, err = s.runAfter(ctx, run, filter, span)
	return before, after, err
}

// runAfter looks in a stretch of time after a run, which grows while it holds no other run, and is halved while it holds
// more than a page: history is listed from its new end. Mostly it looks once or twice.
func (s *Service) runAfter(ctx context.Context, run *engine.Run, filter engine.RunFilter, span time.Duration) (string, error) {
	filter.Since, filter.Cursor, filter.Limit = run.CreatedAt, "", neighbourPage
	end := s.now().Add(time.Minute) // clocks of engines differ
	var none, many time.Duration    // stretches that hold no other run, and too many
	for range neighbourLooks {
		filter.Until = run.CreatedAt.Add(span)
		runs, further, err := s.store.Runs(ctx, filter)
		if err != nil {
			return "", fmt.Errorf("look for the run after %s: %w", run.ID, err)
		}
		at := slices.IndexFunc(runs, func(r engine.Run) bool { return r.ID == run.ID })
		switch {
		case at > 0:
			return runs[at-1].ID, nil
		case further != "":
			many = span
		case at < 0 || filter.Until.After(end):
			return "", nil // the run is not in the store yet, or is the newest
		default:
			none = span
		}
		if span = none * 8; many > 0 {
			span = none + max((many-none)/2, time.Millisecond)
		}
	}
	return "", nil
}
