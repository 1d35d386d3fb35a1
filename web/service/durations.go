package service

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

const (
	durationsKnown = 5 * time.Minute // how long it is believed
	durationsKept  = 20_000          // of how many schedules
	durationRuns   = 10              // the last runs that it is the median of
	durationsAtOne = 500             // schedules whose runs are read for one answer; others are of unknown duration until the next
)

// durations remembers how long runs of a schedule take.
type durations struct {
	mu sync.Mutex
	of map[string]average // by the id of the scheduled task
}

// typical returns how long the last runs of scheduled tasks took, by their ids: the median. What has not ended yet, or
// would cost too much to ask for at once, is left out.
func (s *Service) typical(ctx context.Context, tasks []string) (map[string]time.Duration, error) {
	d := &s.durations
	d.mu.Lock()
	defer d.mu.Unlock()
	now := s.now()
	if d.of == nil || len(d.of) > durationsKept {
		d.of = map[string]average{}
	}
	var jobs, roots []string
	for _, id := range tasks {
		switch known, is := d.of[id]; {
		case is && now.Sub(known.at) < durationsKnown, len(jobs)+len(roots) >= durationsAtOne:
		case engine.RootOf(id) == "":
			jobs = append(jobs, id)
		default:
			roots = append(roots, id)
		}
	}
	if len(jobs) > 0 {
		latest, err := s.store.LatestMarks(ctx, jobs, durationRuns, durationRuns)
		if err != nil {
			return nil, fmt.Errorf("read how long jobs take: %w", err)
		}
		for _, id := range jobs {
			d.of[id] = average{now, medianTook(latest[id])}
		}
	}
	for _, id := range roots {
		runs, _, err := s.store.Runs(ctx, engine.RunFilter{DAGUID: engine.RunJob(id), Task: engine.RootOf(id), Limit: durationRuns})
		if err != nil {
			return nil, fmt.Errorf("read how long roots of DAGs take: %w", err)
		}
		marks := make([]engine.RunMark, len(runs))
		for i := range runs {
			marks[i] = runs[i].Mark()
		}
		d.of[id] = average{now, medianTook(marks)}
	}
	known := make(map[string]time.Duration, len(tasks))
	for _, id := range tasks {
		if took := d.of[id].took; took > 0 {
			known[id] = took
		}
	}
	return known, nil
}

// medianTook is how long runs took; 0 where none has ended.
func medianTook(marks []engine.RunMark) time.Duration {
	var took []time.Duration
	for i := range marks {
		if one, ended := marks[i].Took(); ended && marks[i].Status != engine.StatusCancelled {
			took = append(took, one)
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return max(took[len(took)/2], time.Millisecond)
}
