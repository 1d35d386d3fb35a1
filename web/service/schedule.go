package service

import (
	"context"
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
