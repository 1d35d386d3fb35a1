package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
)

// CreateBinary inserts a binary; engine.ErrExists.
func (s *Store) CreateBinary(ctx context.Context, binary engine.Binary) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if _, found := s.binaries[binary.Key()]; found {
		return fmt.Errorf("memory: create binary %s: %w", binary.Key(), engine.ErrExists)
	}
	s.binaries[binary.Key()] = copyBinary(binary)
	return nil
}

// ReplaceBinary writes a binary on condition of its revision; engine.ErrConflict or engine.ErrNotFound.
func (s *Store) ReplaceBinary(ctx context.Context, binary engine.Binary) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := s.expect(binary.Key(), binary.Revision-1); err != nil {
		return fmt.Errorf("memory: replace binary %s: %w", binary.Key(), err)
	}
	s.binaries[binary.Key()] = copyBinary(binary)
	return nil
}

// DeleteBinary removes a binary of this revision; engine.ErrConflict or engine.ErrNotFound.
func (s *Store) DeleteBinary(ctx context.Context, namespace, name string, revision int64) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	key := namespace + "/" + name
	if err := s.expect(key, revision); err != nil {
		return fmt.Errorf("memory: delete binary %s: %w", key, err)
	}
	delete(s.binaries, key)
	return nil
}

func (s *Store) expect(key string, revision int64) error {
	stored, found := s.binaries[key]
	switch {
	case !found:
		return engine.ErrNotFound
	case stored.Revision != revision:
		return engine.ErrConflict
	}
	return nil
}

// Binary returns one binary; engine.ErrNotFound.
func (s *Store) Binary(ctx context.Context, namespace, name string) (engine.Binary, error) {
	if err := s.read(ctx); err != nil {
		return engine.Binary{}, err
	}
	defer s.mu.RUnlock()
	binary, found := s.binaries[namespace+"/"+name]
	if !found {
		return engine.Binary{}, fmt.Errorf("memory: binary %s/%s: %w", namespace, name, engine.ErrNotFound)
	}
	return copyBinary(binary), nil
}

// Binaries lists binaries of a namespace (of all, if it is "") by name.
func (s *Store) Binaries(ctx context.Context, namespace, cursor string, limit int) (binaries []engine.Binary, next string, err error) {
	place, _, err := engine.DecodeCursor("binaries", cursor)
	if err != nil {
		return nil, "", fmt.Errorf("memory: list binaries: %w", err)
	}
	if err := s.read(ctx); err != nil {
		return nil, "", err
	}
	defer s.mu.RUnlock()
	var keys []string
	for key, binary := range s.binaries {
		if key > place.ID && (namespace == "" || binary.Namespace == namespace) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	keys, next = page("binaries", keys, limit, func(key string) engine.Cursor { return engine.Cursor{ID: key} })
	for _, key := range keys {
		binaries = append(binaries, copyBinary(s.binaries[key]))
	}
	return binaries, next, nil
}
