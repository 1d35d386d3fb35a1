package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
)

func (s *Store) putWave(wave *engine.Wave) {
	kept := copyWave(wave)
	s.waves[wave.ID] = &kept
}

// Wave returns one wave; engine.ErrNotFound.
func (s *Store) Wave(ctx context.Context, id string) (engine.Wave, error) {
	if err := s.read(ctx); err != nil {
		return engine.Wave{}, err
	}
	defer s.mu.RUnlock()
	wave := s.waves[id]
	if wave == nil {
		return engine.Wave{}, fmt.Errorf("memory: wave %s: %w", id, engine.ErrNotFound)
	}
	return copyWave(wave), nil
}

// WavesByID returns those waves that exist.
func (s *Store) WavesByID(ctx context.Context, ids []string) ([]engine.Wave, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	var waves []engine.Wave
	for _, id := range ids {
		if wave := s.waves[id]; wave != nil {
			waves = append(waves, copyWave(wave))
		}
	}
	return waves, nil
}

// OpenWaves returns waves of these shards that are scheduled or running, with ids above after, in the order of their ids.
func (s *Store) OpenWaves(ctx context.Context, shards []int, after string, limit int) ([]engine.Wave, error) {
	mine := shardSet(shards)
	waves, err := s.someWaves(ctx, func(wave *engine.Wave) bool {
		return !wave.Status.Terminal() && wave.ID > after && mine.has(wave.Shard)
	})
	return waves[:min(limit, len(waves))], err
}

// OpenWavesOf returns all waves of these DAGs that are scheduled or running, in the order of their ids.
func (s *Store) OpenWavesOf(ctx context.Context, dagUIDs []string) ([]engine.Wave, error) {
	return s.someWaves(ctx, func(wave *engine.Wave) bool {
		return !wave.Status.Terminal() && slices.Contains(dagUIDs, wave.DAGUID)
	})
}

// someWaves returns copies of the waves that are chosen, in the order of their ids.
func (s *Store) someWaves(ctx context.Context, choose func(*engine.Wave) bool) ([]engine.Wave, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	var waves []engine.Wave
	for _, wave := range s.waves {
		if choose(wave) {
			waves = append(waves, copyWave(wave))
		}
	}
	slices.SortFunc(waves, func(a, b engine.Wave) int { return cmp.Compare(a.ID, b.ID) })
	return waves, nil
}

// LastEpochs returns the highest epoch that any wave of each DAG has.
func (s *Store) LastEpochs(ctx context.Context, dagUIDs []string) (map[string]int64, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	last := map[string]int64{}
	for _, wave := range s.waves {
		if wave.Epoch > 0 && slices.Contains(dagUIDs, wave.DAGUID) {
			last[wave.DAGUID] = max(last[wave.DAGUID], wave.Epoch)
		}
	}
	return last, nil
}

// RunsOfWave returns runs of a wave, ended or not, with ids above after, in the order of their ids.
func (s *Store) RunsOfWave(ctx context.Context, wave, after string, limit int) ([]engine.Run, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	var chosen []*engine.Run
	for _, run := range s.runs {
		if run.Wave == wave && run.Wave != "" && run.ID > after {
			chosen = append(chosen, run)
		}
	}
	slices.SortFunc(chosen, func(a, b *engine.Run) int { return cmp.Compare(a.ID, b.ID) })
	return copyRuns(chosen[:min(limit, len(chosen))]), nil
}

// Waves lists waves, the latest created first.
func (s *Store) Waves(ctx context.Context, filter engine.WaveFilter) (waves []engine.Wave, next string, err error) {
	cursor, given, err := engine.DecodeCursor("waves", filter.Cursor)
	if err != nil {
		return nil, "", fmt.Errorf("memory: list waves: %w", err)
	}
	waves, err = s.someWaves(ctx, func(wave *engine.Wave) bool {
		return (filter.Namespace == "" || wave.Namespace == filter.Namespace) &&
			(filter.DAGUID == "" || wave.DAGUID == filter.DAGUID) &&
			(len(filter.Statuses) == 0 || slices.Contains(filter.Statuses, wave.Status)) &&
			(filter.Since.IsZero() || !wave.CreatedAt.Before(filter.Since)) &&
			(filter.Until.IsZero() || wave.CreatedAt.Before(filter.Until)) &&
			(!given || newestFirst(wave.CreatedAt, cursor.At, wave.ID, cursor.ID) > 0)
	})
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(waves, func(a, b engine.Wave) int { return newestFirst(a.CreatedAt, b.CreatedAt, a.ID, b.ID) })
	waves, next = page("waves", waves, filter.Limit, func(wave engine.Wave) engine.Cursor {
		return engine.Cursor{At: wave.CreatedAt, ID: wave.ID}
	})
	return waves, next, nil
}
