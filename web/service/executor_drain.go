package service

import (
	"cmp"
	"context"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
)

// DrainExecutor orders an executor to take nothing new and to let end what it runs, or (drain false) to resume as
// before. It returns the executor as it is to be: it obeys within some seconds, and says so.
func (s *Service) DrainExecutor(ctx context.Context, id, by string, drain bool) (engine.Presence, error) {
	executors, err := s.queue.Executors(ctx)
	if err != nil {
		return engine.Presence{}, err
	}
	i := slices.IndexFunc(executors, func(e engine.Presence) bool { return e.ID == id })
	if i < 0 {
		return engine.Presence{}, explain(engine.ErrNotFound, "executor", id)
	}
	found := executors[i]
	if !drain && found.Draining && (found.Drain == nil || !found.Drain.Draining) {
		return engine.Presence{}, conflict("executor_shuts_down", "executor %q shuts down, which cannot be undone: start another one", id)
	}
	order := engine.DrainOrder{Draining: drain, By: cmp.Or(by, "unknown"), At: s.now()}
	if err := s.queue.OrderDrain(ctx, id, order); err != nil {
		return engine.Presence{}, err
	}
	s.log.Info("an executor was asked to drain or to resume", "executor", id, "host", found.Host, "drain", drain, "by", order.By)
	found.Draining, found.Drain = drain, &order
	return found, nil
}
