package sqlite

import (
	"context"

	"github.com/tidewheel/tidewheel/engine"
)

// TasksOfDAGs gives all scheduled tasks of the roots of these DAGs, in no order: their ids begin with the DAG's uid.
func (s *Store) TasksOfDAGs(ctx context.Context, dagUIDs []string) ([]engine.ScheduledTask, error) {
	if len(dagUIDs) == 0 {
		return nil, nil
	}
	list, err := jsonList(dagUIDs)
	if err != nil {
		return nil, wrap("tasks of DAGs", err)
	}
	tasks, err := s.tasks(ctx, "SELECT "+taskColumns+` FROM (SELECT value FROM json_each(?)) CROSS JOIN scheduled_tasks
		WHERE scheduled_tasks.id > value || '-' AND scheduled_tasks.id < value || '.'`, list)
	return tasks, wrap("tasks of DAGs", err)
}
