package mongo

import (
	"context"

	"github.com/tidewheel/tidewheel/engine"
)

// DAG gives a living DAG by name; engine.ErrNotFound.
func (s *Store) DAG(ctx context.Context, namespace, name string) (engine.DAG, error) {
	return s.dags.named(ctx, namespace, name)
}

// DAGsByUID gives those DAGs that exist, tombstones included, in no order.
func (s *Store) DAGsByUID(ctx context.Context, uids []string) ([]engine.DAG, error) {
	return s.dags.byUID(ctx, uids)
}

// PendingDAGs gives DAGs of these shards that the engine has not acted upon, tombstones included.
func (s *Store) PendingDAGs(ctx context.Context, shards []int, limit int) ([]engine.DAG, error) {
	return s.dags.pending(ctx, shards, limit)
}

// CreateDAG inserts a DAG of revision 1; engine.ErrExists if a living DAG has the name.
func (s *Store) CreateDAG(ctx context.Context, dag engine.DAG) error {
	return s.dags.create(ctx, &dag)
}

// ReplaceDAG writes a DAG on condition that the stored one has its UID and the revision before; engine.ErrConflict, or
// engine.ErrNotFound if it is gone.
func (s *Store) ReplaceDAG(ctx context.Context, dag engine.DAG) error {
	return s.dags.replace(ctx, &dag)
}

// DAGs lists living DAGs by name, with the cursor of the next page.
func (s *Store) DAGs(ctx context.Context, filter engine.DAGFilter) (dags []engine.DAG, next string, err error) {
	return s.dags.list(ctx, filter.Namespace, filter.Text, filter.Cursor, filter.Limit)
}

// DAGGeneration gives one form of a DAG; engine.ErrNotFound if it is not kept.
func (s *Store) DAGGeneration(ctx context.Context, uid string, generation int64) (engine.DAGGeneration, error) {
	return s.dags.formAt(ctx, uid, generation)
}

// DAGGenerations lists the kept forms of a DAG below a generation (0: all of them), newest first.
func (s *Store) DAGGenerations(ctx context.Context, uid string, before int64, limit int) ([]engine.DAGGeneration, error) {
	return s.dags.formsBelow(ctx, uid, before, limit)
}

// DropDAGGenerations deletes the forms of a DAG below a generation, which is at most the present one, and counts them.
func (s *Store) DropDAGGenerations(ctx context.Context, uid string, below int64) (int, error) {
	return s.dags.drop(ctx, uid, below)
}
