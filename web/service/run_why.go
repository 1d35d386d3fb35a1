package service

import (
	"context"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// NotFired lists the latest slots of a job that did not fire in a time, with the reasons; a zero time is open.
func (s *Service) NotFired(ctx context.Context, job *engine.Job, since, until time.Time, limit int) ([]engine.SlotRange, error) {
	ranges, _, err := s.store.Slots(ctx, engine.SlotFilter{JobUID: job.UID, Since: since, Until: until, Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("read the ledger of job %s: %w", job.Name, err)
	}
	return ranges, nil
}
