package mongo

import (
	"context"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Jobs keeps jobs for their users.
func (s *Store) Jobs() engine.Definitions[spec.Job] { return s.jobs }

// DAGs keeps DAGs for their users.
func (s *Store) DAGs() engine.Definitions[spec.DAG] { return s.dags }

// JobsByUID returns those jobs that exist, tombstones included, in no order.
func (s *Store) JobsByUID(ctx context.Context, uids []string) ([]engine.Job, error) {
	return s.jobs.byUID(ctx, uids)
}

// DAGsByUID returns those DAGs that exist, tombstones included, in no order.
func (s *Store) DAGsByUID(ctx context.Context, uids []string) ([]engine.DAG, error) {
	return s.dags.byUID(ctx, uids)
}

// PendingJobs returns jobs of these shards that the engine has not acted upon, tombstones included.
func (s *Store) PendingJobs(ctx context.Context, shards []int, limit int) ([]engine.Job, error) {
	return s.jobs.pending(ctx, shards, limit)
}

// PendingDAGs returns DAGs of these shards that the engine has not acted upon, tombstones included.
func (s *Store) PendingDAGs(ctx context.Context, shards []int, limit int) ([]engine.DAG, error) {
	return s.dags.pending(ctx, shards, limit)
}

// Generation returns one version of a job; engine.ErrNotFound.
func (s *Store) Generation(ctx context.Context, uid string, generation int64) (engine.Generation, error) {
	return s.jobs.Generation(ctx, uid, generation)
}

// DAGGeneration returns one version of a DAG; engine.ErrNotFound.
func (s *Store) DAGGeneration(ctx context.Context, uid string, generation int64) (engine.DAGGeneration, error) {
	return s.dags.Generation(ctx, uid, generation)
}
