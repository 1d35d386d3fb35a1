package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// recordKey is the identity of a record.
type recordKey struct{ kind, key string }

// InsertRecord inserts a record of revision 1; engine.ErrExists.
func (s *Store) InsertRecord(ctx context.Context, record engine.Record) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	id := recordKey{record.Kind, record.Key}
	if _, found := s.records[id]; found {
		return fmt.Errorf("memory: insert %s %s: %w", record.Kind, record.Key, engine.ErrExists)
	}
	s.records[id] = record.Clone()
	return nil
}

// ReplaceRecord writes a record on condition of its revision; engine.ErrConflict or engine.ErrNotFound.
func (s *Store) ReplaceRecord(ctx context.Context, record engine.Record) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := s.recordIs(record.Kind, record.Key, record.Revision-1); err != nil {
		return fmt.Errorf("memory: replace %s %s: %w", record.Kind, record.Key, err)
	}
	s.records[recordKey{record.Kind, record.Key}] = record.Clone()
	return nil
}

// DeleteRecord deletes a record of this revision, 0 for any; engine.ErrConflict or engine.ErrNotFound.
func (s *Store) DeleteRecord(ctx context.Context, kind, key string, revision int64) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := s.recordIs(kind, key, revision); err != nil && (revision != 0 || errors.Is(err, engine.ErrNotFound)) {
		return fmt.Errorf("memory: delete %s %s: %w", kind, key, err)
	}
	delete(s.records, recordKey{kind, key})
	return nil
}

// recordIs reports whether a record is there in a revision.
func (s *Store) recordIs(kind, key string, revision int64) error {
	stored, found := s.records[recordKey{kind, key}]
	switch {
	case !found:
		return engine.ErrNotFound
	case stored.Revision != revision:
		return engine.ErrConflict
	}
	return nil
}

// Record returns one record; engine.ErrNotFound.
func (s *Store) Record(ctx context.Context, kind, key string) (engine.Record, error) {
	if err := s.read(ctx); err != nil {
		return engine.Record{}, err
	}
	defer s.mu.RUnlock()
	record, found := s.records[recordKey{kind, key}]
	if !found {
		return engine.Record{}, fmt.Errorf("memory: %s %s: %w", kind, key, engine.ErrNotFound)
	}
	return record.Clone(), nil
}

// Records lists records of a kind.
func (s *Store) Records(ctx context.Context, filter engine.RecordFilter) (records []engine.Record, err error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	for id, record := range s.records {
		behind := filter.After == "" || filter.Backwards == (id.key < filter.After) && id.key != filter.After
		if id.kind == filter.Kind && strings.HasPrefix(id.key, filter.Prefix) && behind {
			records = append(records, record.Clone())
		}
	}
	slices.SortFunc(records, func(a, b engine.Record) int {
		if filter.Backwards {
			a, b = b, a
		}
		return cmp.Compare(a.Key, b.Key)
	})
	return records[:min(len(records), filter.Limit)], nil
}

// ExpireRecords deletes at most limit records that expired before an instant, and counts them.
func (s *Store) ExpireRecords(ctx context.Context, before time.Time, limit int) (deleted int, err error) {
	if err := s.write(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	for id, record := range s.records {
		if deleted < limit && !record.ExpiresAt.IsZero() && record.ExpiresAt.Before(before) {
			delete(s.records, id)
			deleted++
		}
	}
	return deleted, nil
}
