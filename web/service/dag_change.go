package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidewheel/tidewheel/engine"
)

// PauseDAG stops the schedules of a DAG's roots; a wave that is open goes on. Pausing a paused DAG changes nothing.
func (s *Service) PauseDAG(ctx context.Context, namespace, name, by string) (engine.DAG, error) {
	return s.changeDAG(ctx, namespace, name, func(dag *engine.DAG) bool {
		if dag.Paused {
			return false
		}
		dag.Paused, dag.PausedAt, dag.PausedBy = true, s.now(), by
		return true
	})
}

// ResumeDAG lets the schedules go on; slots of the pause are dealt with as the catch-up policy says.
func (s *Service) ResumeDAG(ctx context.Context, namespace, name, by string) (engine.DAG, error) {
	return s.changeDAG(ctx, namespace, name, func(dag *engine.DAG) bool {
		if !dag.Paused {
			return false
		}
		dag.Paused, dag.PausedAt, dag.PausedBy = false, s.now(), by
		return true
	})
}

// DeleteDAG removes a DAG and what is planned of it. A wave that is open is cancelled, history stays. ifRevision 0 means
// any.
func (s *Service) DeleteDAG(ctx context.Context, namespace, name, by string, ifRevision int64) error {
	changed := false
	_, err := s.changeDAG(ctx, namespace, name, func(dag *engine.DAG) bool {
		if changed = ifRevision != 0 && dag.Revision != ifRevision; changed {
			return false
		}
		dag.Deleted, dag.UpdatedBy = true, by
		return true
	})
	if err == nil && changed {
		return explain(engine.ErrConflict, "DAG", name)
	}
	return err
}

// changeDAG reads a DAG, changes it and writes it, again where somebody else was faster.
func (s *Service) changeDAG(ctx context.Context, namespace, name string, change func(*engine.DAG) bool) (engine.DAG, error) {
	for range 10 {
		dag, err := s.store.DAG(ctx, namespace, name)
		if err != nil {
			return engine.DAG{}, explain(err, "DAG", name)
		}
		if !change(&dag) {
			return dag, nil
		}
		changed, err := s.replaceDAG(ctx, dag)
		if errors.Is(err, engine.ErrConflict) {
			continue
		}
		return changed, explain(err, "DAG", name)
	}
	return engine.DAG{}, fmt.Errorf("change DAG %s: %w", name, explain(engine.ErrConflict, "DAG", name))
}
