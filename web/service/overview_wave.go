package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
)

// lookAtWaves finds the DAGs whose last wave failed.
func (s *Service) lookAtWaves(ctx context.Context, namespace string, view *Overview) error {
	failed, next, err := s.store.Waves(ctx, engine.WaveFilter{
		Namespace: namespace, Statuses: []engine.Status{engine.StatusFailed}, Since: view.At.Add(-lookedBack), Limit: attended,
	})
	if err != nil {
		return fmt.Errorf("list failed waves: %w", err)
	}
	failing := map[string]*Concern{}
	var dags []engine.DAG
	for i := range failed {
		wave := &failed[i]
		if c := failing[wave.DAG]; c != nil {
			c.Count++
			continue
		}
		dags = append(dags, engine.DAG{UID: wave.DAGUID, Namespace: wave.Namespace, Name: wave.DAG})
		failing[wave.DAG] = &Concern{
			Kind: ConcernWave, Job: wave.DAG, Run: wave.ID, Status: wave.Status, Count: 1, More: next != "", At: wave.FinishedAt, Reason: wave.Reason,
		}
	}
	histories, err := s.Histories(ctx, dags, lastRuns)
	if err != nil {
		return err
	}
	uids := make([]string, len(dags))
	for i := range dags {
		uids[i] = dags[i].UID
	}
	living, err := s.store.DAGsByUID(ctx, uids)
	if err != nil {
		return fmt.Errorf("read the DAGs that failed: %w", err)
	}
	for i := range dags {
		lives := slices.ContainsFunc(living, func(d engine.DAG) bool { return d.UID == dags[i].UID && !d.Deleted })
		if histories[i].Failures == 0 || !lives {
			delete(failing, dags[i].Name)
		}
	}
	view.Concerns = append(view.Concerns, sortedConcerns(failing)...)
	return nil
}
