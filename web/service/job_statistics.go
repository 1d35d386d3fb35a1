package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// StatisticsRuns is how many of a job's last runs its statistics are of.
const StatisticsRuns = 200

// Statistics is how long a job's last runs took, and how late they began. Spans are 0 where there is none.
type Statistics struct {
	// Marks are the last runs, the newest first.
	Marks     []engine.RunMark
	Ended     int
	Succeeded int
	Duration  Spread // of what succeeded or failed
	Lag       Spread // of what its schedule fired
}

// Spread is how spans are distributed: half of them are at most P50, and so on.
type Spread struct {
	Count         int
	P50, P95, Max time.Duration
}

// Statistics reports how the last StatisticsRuns runs of a job went.
func (s *Service) Statistics(ctx context.Context, namespace, name string) (Statistics, error) {
	job, err := s.Jobs.Get(ctx, namespace, name)
	if err != nil {
		return Statistics{}, err
	}
	latest, err := s.store.LatestMarks(ctx, []string{job.UID}, StatisticsRuns, StatisticsRuns)
	if err != nil {
		return Statistics{}, fmt.Errorf("read the latest runs of job %s: %w", name, err)
	}
	return statisticsOf(&job, latest[job.UID], s.now()), nil
}

func statisticsOf(job *engine.Job, marks []engine.RunMark, now time.Time) Statistics {
	health := healthOf(job, marks, nil, now)
	statistics := Statistics{Marks: health.Marks, Ended: health.Ended, Succeeded: health.Succeeded}
	var took, lags []time.Duration
	for i := range statistics.Marks {
		mark := &statistics.Marks[i]
		if d, ok := mark.Took(); ok && mark.Status != engine.StatusCancelled {
			took = append(took, d)
		}
		if d, ok := mark.Lag(); ok {
			lags = append(lags, d)
		}
	}
	statistics.Duration, statistics.Lag = spreadOf(took), spreadOf(lags)
	return statistics
}

// spreadOf takes quantiles by the nearest rank. It sorts spans.
func spreadOf(spans []time.Duration) Spread {
	if len(spans) == 0 {
		return Spread{}
	}
	slices.Sort(spans)
	rank := func(percent int) time.Duration { return spans[max((len(spans)*percent+99)/100, 1)-1] }
	return Spread{Count: len(spans), P50: rank(50), P95: rank(95), Max: spans[len(spans)-1]}
}
