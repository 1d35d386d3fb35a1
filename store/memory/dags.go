package memory

import (
	"context"
	"fmt"

	"github.com/tidewheel/tidewheel/engine"
)

// CreateDAG inserts a DAG with its first generation; engine.ErrExists if a living DAG has the name or any DAG the uid.
func (s *Store) CreateDAG(ctx context.Context, dag engine.DAG) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	return s.dags.create(&dag)
}

// ReplaceDAG writes a DAG on condition of its revision; engine.ErrConflict, or engine.ErrNotFound.
func (s *Store) ReplaceDAG(ctx context.Context, dag engine.DAG) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	return s.dags.replace(&dag)
}

// DAG gives a living DAG by name; engine.ErrNotFound.
func (s *Store) DAG(ctx context.Context, namespace, name string) (engine.DAG, error) {
	if err := s.read(ctx); err != nil {
		return engine.DAG{}, err
	}
	defer s.mu.RUnlock()
	return s.dags.named(namespace, name)
}

// DAGsByUID gives those DAGs that exist, tombstones included.
func (s *Store) DAGsByUID(ctx context.Context, uids []string) ([]engine.DAG, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	return s.dags.some(uids), nil
}

// PendingDAGs gives DAGs of these shards that the engine has not acted upon, tombstones included, by uid.
func (s *Store) PendingDAGs(ctx context.Context, shards []int, limit int) ([]engine.DAG, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	return s.dags.pendingOf(shardSet(shards), limit), nil
}

// DAGs lists living DAGs by namespace and name.
func (s *Store) DAGs(ctx context.Context, filter engine.DAGFilter) (dags []engine.DAG, next string, err error) {
	cursor, _, err := engine.DecodeCursor("dags", filter.Cursor)
	if err != nil {
		return nil, "", fmt.Errorf("memory: list DAGs: %w", err)
	}
	if err := s.read(ctx); err != nil {
		return nil, "", err
	}
	defer s.mu.RUnlock()
	dags, next = s.dags.living(filter.Namespace, filter.Text, cursor, filter.Limit)
	return dags, next, nil
}

// DAGGeneration gives one form of a DAG; engine.ErrNotFound.
func (s *Store) DAGGeneration(ctx context.Context, uid string, generation int64) (engine.DAGGeneration, error) {
	if err := s.read(ctx); err != nil {
		return engine.DAGGeneration{}, err
	}
	defer s.mu.RUnlock()
	dag, err := s.dags.form(uid, generation)
	if err != nil {
		return engine.DAGGeneration{}, err
	}
	return dag.Present(), nil
}

// DAGGenerations lists the kept forms of a DAG below a generation (0: all of them), newest first.
func (s *Store) DAGGenerations(ctx context.Context, uid string, before int64, limit int) ([]engine.DAGGeneration, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	var generations []engine.DAGGeneration
	for _, dag := range s.dags.formsBelow(uid, before, limit) {
		generations = append(generations, dag.Present())
	}
	return generations, nil
}

// DropDAGGenerations deletes the forms of a DAG below a generation, which is at most the present one, and counts them.
func (s *Store) DropDAGGenerations(ctx context.Context, uid string, below int64) (int, error) {
	if err := s.write(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return s.dags.drop(uid, below), nil
}
