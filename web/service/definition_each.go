package service

import (
	"context"
	"fmt"

	"github.com/tidewheel/tidewheel/engine"
)

// eachDefinition calls for the jobs of a namespace, and then for its DAGs, by name. It looks at so many, 0 for all, and says in more if
// there are others.
func (s *Service) eachDefinition(ctx context.Context, namespace string, most int, job func(*engine.Job), dag func(*engine.DAG)) (more bool, err error) {
	looked := 0
	for cursor := ""; ; {
		jobs, next, err := s.store.Jobs().List(ctx, engine.DefinitionFilter{Namespace: namespace, Cursor: cursor, Limit: 1000})
		if err != nil {
			return false, fmt.Errorf("list jobs: %w", err)
		}
		for i := range jobs {
			job(&jobs[i])
		}
		if looked += len(jobs); most > 0 && looked >= most && next != "" {
			return true, nil
		}
		if cursor = next; next == "" {
			break
		}
	}
	for cursor := ""; ; {
		dags, next, err := s.store.DAGs().List(ctx, engine.DefinitionFilter{Namespace: namespace, Cursor: cursor, Limit: 100})
		if err != nil {
			return false, fmt.Errorf("list DAGs: %w", err)
		}
		for i := range dags {
			dag(&dags[i])
		}
		if looked += len(dags); most > 0 && looked >= most && next != "" {
			return true, nil
		}
		if cursor = next; next == "" {
			return false, nil
		}
	}
}
