package memory

import (
	"context"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
)

// TasksOfDAGs returns all scheduled tasks of the roots of these DAGs, in no order.
func (s *Store) TasksOfDAGs(ctx context.Context, dagUIDs []string) ([]engine.ScheduledTask, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	var tasks []engine.ScheduledTask
	for id, task := range s.tasks {
		if uid := engine.RunJob(id); uid != "" && slices.Contains(dagUIDs, uid) {
			tasks = append(tasks, copyTask(&task))
		}
	}
	return tasks, nil
}
