package service

import (
	"context"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
)

// Preview reports when a schedule would fire, with gaps and repeats in words, and describes it.
func Preview(definition cron.Definition, after time.Time, count int) (slots []cron.Slot, description string, err error) {
	schedule, err := cron.Compile(definition)
	if err != nil {
		return nil, "", field("invalid_schedule", "body.schedule", "%s", err)
	}
	return schedule.Preview(after, min(max(count, 1), 1000)), schedule.Describe(), nil
}

// Upcoming lists what fires next over all jobs of a namespace.
func (s *Service) Upcoming(ctx context.Context, namespace string, limit int) ([]engine.ScheduledTask, error) {
	return s.store.Upcoming(ctx, namespace, limit)
}
