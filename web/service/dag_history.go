package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
)

// historiesAtOnce is how many DAGs' histories are read at a time.
const historiesAtOnce = 4

// WaveHistory is how a DAG does, by its last waves.
type WaveHistory struct {
	Health

	More     bool   // there are earlier waves
	Duration Spread // of those that succeeded or failed
}

// Histories reads the last waves of DAGs, at most limit of each, in the order of dags.
func (s *Service) Histories(ctx context.Context, dags []engine.DAG, limit int) ([]WaveHistory, error) {
	histories := make([]WaveHistory, len(dags))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(historiesAtOnce)
	for i := range dags {
		group.Go(func() error {
			waves, next, err := s.store.Waves(within, engine.WaveFilter{Namespace: dags[i].Namespace, DAGUID: dags[i].UID, Limit: limit})
			if err != nil {
				return fmt.Errorf("read the waves of DAG %s: %w", dags[i].Name, err)
			}
			histories[i] = historyOf(waves)
			histories[i].More = next != ""
			return nil
		})
	}
	return histories, group.Wait()
}

func historyOf(waves []engine.Wave) WaveHistory {
	h := WaveHistory{Health: Health{Waves: waves}}
	settled := false
	var took []time.Duration
	for i := range waves {
		mark := markOf(&waves[i])
		if waves[i].Epoch > 0 {
			h.Marks = append(h.Marks, mark)
		}
		switch mark.Status {
		case engine.StatusSucceeded:
			h.Ended++
			h.Succeeded++
			settled = true
		case engine.StatusFailed:
			h.Ended++
			if !settled {
				h.Failures++
			}
		default:
			continue
		}
		if span, ok := mark.Took(); ok {
			took = append(took, span)
		}
	}
	h.Duration = spreadOf(took)
	return h
}

// markOf makes the mark of a wave: it began as much later as it has rested between an end and a resume.
func markOf(wave *engine.Wave) engine.RunMark {
	mark := engine.RunMark{
		ID: wave.ID, Status: wave.Status, Trigger: wave.Trigger, Slot: wave.Slot,
		CreatedAt: wave.CreatedAt, StartedAt: wave.StartedAt, FinishedAt: wave.FinishedAt,
	}
	if mark.Status.Terminal() && !mark.StartedAt.IsZero() {
		mark.StartedAt = wave.FinishedAt.Add(-wave.Took(wave.FinishedAt))
	}
	return mark
}

// RootSlots reports when one CRON root of a DAG fires next, and describes its schedule. A root without one has neither.
func (s *Service) RootSlots(dag *engine.DAG, root, count int) (slots []cron.Slot, description string, err error) {
	task := &dag.Spec.Tasks[root]
	if len(task.Schedule) == 0 && len(dag.Spec.Schedule) == 0 {
		return nil, "", nil
	}
	return Preview(dag.Spec.Definition(root, dag.Key()+"/"+task.Name, dag.CreatedAt), s.now(), count)
}

// RunsOf returns those runs that there are, by their ids.
func (s *Service) RunsOf(ctx context.Context, namespace string, ids []string) (map[string]engine.Run, error) {
	found := make(map[string]engine.Run, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	runs, err := s.store.RunsByID(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("look up %d runs: %w", len(ids), err)
	}
	for i := range runs {
		if runs[i].Namespace == namespace {
			found[runs[i].ID] = runs[i]
		}
	}
	return found, nil
}

// Neighbours returns the waves of the same DAG that stand before and after one, by their ids; "" for none.
func (s *Service) Neighbours(ctx context.Context, wave *engine.Wave) (before, after string, err error) {
	if wave.Epoch == 0 {
		return "", "", nil
	}
	// A manual wave is not named by its epoch, so that a neighbour is looked for where it must stand in time.
	for _, search := range []struct {
		filter engine.WaveFilter
		epoch  int64
		found  *string
	}{
		{engine.WaveFilter{Until: wave.CreatedAt.Add(time.Millisecond)}, wave.Epoch - 1, &before},
		{engine.WaveFilter{Since: wave.CreatedAt.Add(-time.Millisecond)}, wave.Epoch + 1, &after},
	} {
		if search.epoch == 0 {
			continue
		}
		known, err := s.store.WavesByID(ctx, []string{engine.WaveID(wave.DAGUID, search.epoch)})
		if err != nil {
			return "", "", fmt.Errorf("look up wave %d: %w", search.epoch, err)
		}
		if len(known) > 0 {
			*search.found = known[0].ID
			continue
		}
		search.filter.Namespace, search.filter.DAGUID, search.filter.Limit = wave.Namespace, wave.DAGUID, neighboursLookedAt
		waves, _, err := s.store.Waves(ctx, search.filter)
		if err != nil {
			return "", "", fmt.Errorf("list the waves beside %s: %w", wave.ID, err)
		}
		if at := slices.IndexFunc(waves, func(w engine.Wave) bool { return w.Epoch == search.epoch }); at >= 0 {
			*search.found = waves[at].ID
		}
	}
	return before, after, nil
}

// neighboursLookedAt is how many waves are looked at for one that was triggered manually, and may have waited for long.
const neighboursLookedAt = 50
