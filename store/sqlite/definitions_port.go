package sqlite

import (
	"context"
	"database/sql"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Jobs keeps jobs for their users.
func (s *Store) Jobs() engine.Definitions[spec.Job] { return definitionsOf[spec.Job]{&jobs, s} }

// DAGs keeps DAGs for their users.
func (s *Store) DAGs() engine.Definitions[spec.DAG] { return definitionsOf[spec.DAG]{&dags, s} }

// JobsByUID returns those jobs that exist, tombstones included, in no order.
func (s *Store) JobsByUID(ctx context.Context, uids []string) ([]engine.Job, error) {
	return jobs.byUID(ctx, s, uids)
}

// DAGsByUID returns those DAGs that exist, tombstones included, in no order.
func (s *Store) DAGsByUID(ctx context.Context, uids []string) ([]engine.DAG, error) {
	return dags.byUID(ctx, s, uids)
}

// PendingJobs returns jobs of these shards that the engine has not acted upon, tombstones included.
func (s *Store) PendingJobs(ctx context.Context, shards []int, limit int) ([]engine.Job, error) {
	return jobs.pending(ctx, s, shards, limit)
}

// PendingDAGs returns DAGs of these shards that the engine has not acted upon, tombstones included.
func (s *Store) PendingDAGs(ctx context.Context, shards []int, limit int) ([]engine.DAG, error) {
	return dags.pending(ctx, s, shards, limit)
}

// Generation returns one version of a job; engine.ErrNotFound.
func (s *Store) Generation(ctx context.Context, uid string, generation int64) (engine.Generation, error) {
	return jobs.versionAt(ctx, s, uid, generation)
}

// DAGGeneration returns one version of a DAG; engine.ErrNotFound.
func (s *Store) DAGGeneration(ctx context.Context, uid string, generation int64) (engine.DAGGeneration, error) {
	return dags.versionAt(ctx, s, uid, generation)
}

// definitionsOf are the definitions of one kind of a store.
type definitionsOf[S engine.Spec] struct {
	table *definitions[S]
	store *Store
}

// Create does what engine.Definitions says, as do the methods below.
func (d definitionsOf[S]) Create(ctx context.Context, definition engine.Definition[S]) error {
	return d.table.create(ctx, d.store, &definition)
}

// Replace writes a definition on condition of its revision.
func (d definitionsOf[S]) Replace(ctx context.Context, definition engine.Definition[S]) error {
	return d.table.replace(ctx, d.store, &definition)
}

// Get returns a living definition by name.
func (d definitionsOf[S]) Get(ctx context.Context, namespace, name string) (engine.Definition[S], error) {
	return d.table.named(ctx, d.store, namespace, name)
}

// List lists living definitions by namespace and name.
func (d definitionsOf[S]) List(ctx context.Context, filter engine.DefinitionFilter) (list []engine.Definition[S], next string, err error) {
	return d.table.living(ctx, d.store, &filter)
}

// Generation returns one version of a definition.
func (d definitionsOf[S]) Generation(ctx context.Context, uid string, generation int64) (engine.GenerationOf[S], error) {
	return d.table.versionAt(ctx, d.store, uid, generation)
}

// Generations lists the kept versions of a definition, newest first.
func (d definitionsOf[S]) Generations(ctx context.Context, uid string, before int64, limit int) ([]engine.GenerationOf[S], error) {
	return d.table.versionsBelow(ctx, d.store, uid, before, limit)
}

// DropGenerations deletes the versions of a definition below a generation and counts them.
func (d definitionsOf[S]) DropGenerations(ctx context.Context, uid string, below int64) (int, error) {
	return d.table.drop(ctx, d.store, uid, below)
}

// Count returns how many living definitions a namespace has.
func (d definitionsOf[S]) Count(ctx context.Context, namespace string) (n int64, err error) {
	err = d.store.list(ctx, "SELECT count(*) FROM "+d.table.table+" INDEXED BY "+d.table.table+"_name WHERE namespace = ? AND deleted = 0", []any{namespace},
		func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, wrap("count "+d.table.table, err)
}
