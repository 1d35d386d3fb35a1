package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// effectKey is the identity of an effect.
type effectKey struct{ run, key string }

func copyEffect(effect engine.RunEffect) engine.RunEffect {
	effect.Result = bytes.Clone(effect.Result)
	return effect
}

// InsertEffect inserts an effect of revision 1; engine.ErrExists.
func (s *Store) InsertEffect(ctx context.Context, effect engine.RunEffect) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	id := effectKey{effect.Run, effect.Key}
	if _, found := s.effects[id]; found {
		return fmt.Errorf("memory: insert effect %s of run %s: %w", effect.Key, effect.Run, engine.ErrExists)
	}
	s.effects[id] = copyEffect(effect)
	return nil
}

// ReplaceEffect writes an effect on condition of its revision; engine.ErrConflict or engine.ErrNotFound.
func (s *Store) ReplaceEffect(ctx context.Context, effect engine.RunEffect) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	id := effectKey{effect.Run, effect.Key}
	stored, found := s.effects[id]
	switch {
	case !found:
		return fmt.Errorf("memory: replace effect %s of run %s: %w", effect.Key, effect.Run, engine.ErrNotFound)
	case stored.Revision != effect.Revision-1:
		return fmt.Errorf("memory: replace effect %s of run %s: %w", effect.Key, effect.Run, engine.ErrConflict)
	}
	s.effects[id] = copyEffect(effect)
	return nil
}

// Effect returns one effect; engine.ErrNotFound.
func (s *Store) Effect(ctx context.Context, run, key string) (engine.RunEffect, error) {
	if err := s.read(ctx); err != nil {
		return engine.RunEffect{}, err
	}
	defer s.mu.RUnlock()
	effect, found := s.effects[effectKey{run, key}]
	if !found {
		return engine.RunEffect{}, fmt.Errorf("memory: effect %s of run %s: %w", key, run, engine.ErrNotFound)
	}
	return copyEffect(effect), nil
}

// Effects lists the effects of a run by key.
func (s *Store) Effects(ctx context.Context, run, cursor string, limit int) (effects []engine.RunEffect, next string, err error) {
	after, _, err := engine.DecodeCursor("effects", cursor)
	if err != nil {
		return nil, "", fmt.Errorf("memory: list effects: %w", err)
	}
	if err := s.read(ctx); err != nil {
		return nil, "", err
	}
	defer s.mu.RUnlock()
	for id, effect := range s.effects {
		if id.run == run && id.key > after.ID {
			effects = append(effects, copyEffect(effect))
		}
	}
	slices.SortFunc(effects, func(a, b engine.RunEffect) int { return cmp.Compare(a.Key, b.Key) })
	effects, next = page("effects", effects, limit, func(effect engine.RunEffect) engine.Cursor { return engine.Cursor{ID: effect.Key} })
	return effects, next, nil
}

// ExpireEffects deletes at most limit effects that were opened first before an instant and whose runs are gone.
func (s *Store) ExpireEffects(ctx context.Context, before time.Time, limit int) (deleted int, err error) {
	if err := s.write(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	for id, effect := range s.effects {
		if deleted >= limit {
			break
		}
		if _, alive := s.runs[id.run]; !alive && effect.CreatedAt.Before(before) {
			delete(s.effects, id)
			deleted++
		}
	}
	return deleted, nil
}

// SharedKey returns the key that is kept under a name: fresh, if none was kept before.
func (s *Store) SharedKey(ctx context.Context, name string, fresh []byte) ([]byte, error) {
	if err := s.write(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	kept, found := s.keys[name]
	if !found {
		kept = bytes.Clone(fresh)
		s.keys[name] = kept
	}
	return bytes.Clone(kept), nil
}
