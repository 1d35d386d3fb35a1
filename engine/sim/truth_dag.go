package sim

import (
	"context"

	"github.com/tidewheel/tidewheel/engine"
)

func (r reader) TasksOfDAGs(_ context.Context, dagUIDs []string) ([]engine.ScheduledTask, error) {
	return read(r, func(ctx context.Context) ([]engine.ScheduledTask, error) { return r.t.store.TasksOfDAGs(ctx, dagUIDs) })
}
