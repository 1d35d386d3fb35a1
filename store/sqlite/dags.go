package sqlite

import (
	"context"

	"github.com/tidewheel/tidewheel/engine"
)

// CreateDAG inserts a DAG with its first generation; engine.ErrExists if a living DAG has the name, or any DAG the uid.
// A tombstone of the name stays until it is handled.
func (s *Store) CreateDAG(ctx context.Context, dag engine.DAG) error {
	return dags.create(ctx, s, &dag)
}

// ReplaceDAG writes a DAG on condition of its revision; engine.ErrConflict, or engine.ErrNotFound.
func (s *Store) ReplaceDAG(ctx context.Context, dag engine.DAG) error {
	return dags.replace(ctx, s, &dag)
}

// DAGsByUID gives those DAGs that exist, tombstones included, in no order.
func (s *Store) DAGsByUID(ctx context.Context, uids []string) ([]engine.DAG, error) {
	return dags.byUID(ctx, s, uids)
}

// PendingDAGs gives DAGs of these shards that the engine has not acted upon, tombstones included.
func (s *Store) PendingDAGs(ctx context.Context, shards []int, limit int) ([]engine.DAG, error) {
	return dags.pending(ctx, s, shards, limit)
}

// DAG gives a living DAG by name; engine.ErrNotFound.
func (s *Store) DAG(ctx context.Context, namespace, name string) (engine.DAG, error) {
	return dags.named(ctx, s, namespace, name)
}

// DAGs lists living DAGs by namespace and name.
func (s *Store) DAGs(ctx context.Context, filter engine.DAGFilter) (list []engine.DAG, next string, err error) {
	return dags.living(ctx, s, filter.Namespace, filter.Text, filter.Cursor, filter.Limit)
}

// DAGGeneration gives one form of a DAG; engine.ErrNotFound.
func (s *Store) DAGGeneration(ctx context.Context, uid string, generation int64) (engine.DAGGeneration, error) {
	return dags.formAt(ctx, s, uid, generation)
}

// DAGGenerations lists the kept forms of a DAG below a generation (0: all of them), newest first.
func (s *Store) DAGGenerations(ctx context.Context, uid string, before int64, limit int) ([]engine.DAGGeneration, error) {
	return dags.formsBelow(ctx, s, uid, before, limit)
}

// DropDAGGenerations deletes the forms of a DAG below a generation, which is at most the present one, and counts them.
func (s *Store) DropDAGGenerations(ctx context.Context, uid string, below int64) (int, error) {
	return dags.drop(ctx, s, uid, below)
}
