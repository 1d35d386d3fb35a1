package memory

import (
	"context"
	"fmt"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Jobs keeps jobs for their users.
func (s *Store) Jobs() engine.Definitions[spec.Job] { return s.jobs }

// DAGs keeps DAGs for their users.
func (s *Store) DAGs() engine.Definitions[spec.DAG] { return s.dags }

// JobsByUID returns those jobs that exist, tombstones included.
func (s *Store) JobsByUID(ctx context.Context, uids []string) ([]engine.Job, error) {
	return s.jobs.listOf(ctx, func() []engine.Job { return s.jobs.some(uids) })
}

// DAGsByUID returns those DAGs that exist, tombstones included.
func (s *Store) DAGsByUID(ctx context.Context, uids []string) ([]engine.DAG, error) {
	return s.dags.listOf(ctx, func() []engine.DAG { return s.dags.some(uids) })
}

// PendingJobs returns jobs of these shards that the engine has not acted upon, tombstones included, by uid.
func (s *Store) PendingJobs(ctx context.Context, shards []int, limit int) ([]engine.Job, error) {
	return s.jobs.listOf(ctx, func() []engine.Job { return s.jobs.pendingOf(shardSet(shards), limit) })
}

// PendingDAGs returns DAGs of these shards that the engine has not acted upon, tombstones included, by uid.
func (s *Store) PendingDAGs(ctx context.Context, shards []int, limit int) ([]engine.DAG, error) {
	return s.dags.listOf(ctx, func() []engine.DAG { return s.dags.pendingOf(shardSet(shards), limit) })
}

// Generation returns one version of a job; engine.ErrNotFound.
func (s *Store) Generation(ctx context.Context, uid string, generation int64) (engine.Generation, error) {
	return s.jobs.Generation(ctx, uid, generation)
}

// DAGGeneration returns one version of a DAG; engine.ErrNotFound.
func (s *Store) DAGGeneration(ctx context.Context, uid string, generation int64) (engine.DAGGeneration, error) {
	return s.dags.Generation(ctx, uid, generation)
}

// Create does what engine.Definitions says, as do the methods below.
func (d *definitions[S]) Create(ctx context.Context, definition engine.Definition[S]) error {
	if err := d.s.write(ctx); err != nil {
		return err
	}
	defer d.s.mu.Unlock()
	return d.create(&definition)
}

// Replace writes a definition on condition of its revision.
func (d *definitions[S]) Replace(ctx context.Context, definition engine.Definition[S]) error {
	if err := d.s.write(ctx); err != nil {
		return err
	}
	defer d.s.mu.Unlock()
	return d.replace(&definition)
}

// Get returns a living definition by name.
func (d *definitions[S]) Get(ctx context.Context, namespace, name string) (engine.Definition[S], error) {
	if err := d.s.read(ctx); err != nil {
		return engine.Definition[S]{}, err
	}
	defer d.s.mu.RUnlock()
	return d.named(namespace, name)
}

// List lists living definitions by namespace and name.
func (d *definitions[S]) List(ctx context.Context, filter engine.DefinitionFilter) (found []engine.Definition[S], next string, err error) {
	cursor, _, err := engine.DecodeCursor(d.list, filter.Cursor)
	if err != nil {
		return nil, "", fmt.Errorf("memory: list %s: %w", d.list, err)
	}
	if err := d.s.read(ctx); err != nil {
		return nil, "", err
	}
	defer d.s.mu.RUnlock()
	found, next = d.living(&filter, cursor)
	return found, next, nil
}

// Generations lists the kept versions of a definition, newest first.
func (d *definitions[S]) Generations(ctx context.Context, uid string, before int64, limit int) ([]engine.GenerationOf[S], error) {
	if err := d.s.read(ctx); err != nil {
		return nil, err
	}
	defer d.s.mu.RUnlock()
	var generations []engine.GenerationOf[S]
	for _, version := range d.versionsBelow(uid, before, limit) {
		generations = append(generations, version.Present())
	}
	return generations, nil
}

// DropGenerations deletes the versions of a definition below a generation and counts them.
func (d *definitions[S]) DropGenerations(ctx context.Context, uid string, below int64) (int, error) {
	if err := d.s.write(ctx); err != nil {
		return 0, err
	}
	defer d.s.mu.Unlock()
	return d.drop(uid, below), nil
}

// Generation returns one version of a definition.
func (d *definitions[S]) Generation(ctx context.Context, uid string, generation int64) (engine.GenerationOf[S], error) {
	if err := d.s.read(ctx); err != nil {
		return engine.GenerationOf[S]{}, err
	}
	defer d.s.mu.RUnlock()
	version, err := d.version(uid, generation)
	if err != nil {
		return engine.GenerationOf[S]{}, err
	}
	return version.Present(), nil
}

// listOf is what a look at the definitions gives.
func (d *definitions[S]) listOf(ctx context.Context, look func() []engine.Definition[S]) ([]engine.Definition[S], error) {
	if err := d.s.read(ctx); err != nil {
		return nil, err
	}
	defer d.s.mu.RUnlock()
	return look(), nil
}

// Count returns how many living definitions a namespace has.
func (d *definitions[S]) Count(ctx context.Context, namespace string) (n int64, err error) {
	if err := d.s.read(ctx); err != nil {
		return 0, err
	}
	defer d.s.mu.RUnlock()
	for key := range d.names {
		if strings.HasPrefix(key, namespace+"/") {
			n++
		}
	}
	return n, nil
}
