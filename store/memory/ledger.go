package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
)

// Slots lists ledger entries, newest first.
func (s *Store) Slots(ctx context.Context, filter engine.SlotFilter) (slots []engine.SlotRange, next string, err error) {
	cursor, given, err := engine.DecodeCursor("slots", filter.Cursor)
	if err != nil {
		return nil, "", fmt.Errorf("memory: list slots: %w", err)
	}
	if err := s.read(ctx); err != nil {
		return nil, "", err
	}
	defer s.mu.RUnlock()
	for _, entry := range s.slots {
		if entry.JobUID == filter.JobUID &&
			(filter.Since.IsZero() || !entry.To.Before(filter.Since)) && (filter.Until.IsZero() || entry.From.Before(filter.Until)) &&
			(!given || newestFirst(entry.From, cursor.At, entry.ID, cursor.ID) > 0) {
			slots = append(slots, entry)
		}
	}
	slices.SortFunc(slots, func(a, b engine.SlotRange) int { return newestFirst(a.From, b.From, a.ID, b.ID) })
	slots, next = page("slots", slots, filter.Limit, func(entry engine.SlotRange) engine.Cursor {
		return engine.Cursor{At: entry.From, ID: entry.ID}
	})
	return slots, next, nil
}

// Upcoming lists scheduled tasks of a namespace (of all, if it is "") that are not parked, the earliest first.
func (s *Store) Upcoming(ctx context.Context, namespace string, limit int) ([]engine.ScheduledTask, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	var tasks []engine.ScheduledTask
	for _, task := range s.tasks {
		if task.RunAt.Before(engine.Parked) && (namespace == "" || task.Namespace == namespace) {
			tasks = append(tasks, copyTask(&task))
		}
	}
	slices.SortFunc(tasks, earliestFirst)
	return tasks[:min(limit, len(tasks))], nil
}

// DeadLetters lists the dead letters of a namespace (of all, if it is ""), newest first.
func (s *Store) DeadLetters(ctx context.Context, namespace, cursor string, limit int) (letters []engine.DeadLetter, next string, err error) {
	place, given, err := engine.DecodeCursor("letters", cursor)
	if err != nil {
		return nil, "", fmt.Errorf("memory: list dead letters: %w", err)
	}
	if err := s.read(ctx); err != nil {
		return nil, "", err
	}
	defer s.mu.RUnlock()
	for _, letter := range s.letters {
		if (namespace == "" || letter.Namespace == namespace) && (!given || newestFirst(letter.At, place.At, letter.RunID, place.ID) > 0) {
			letters = append(letters, letter)
		}
	}
	slices.SortFunc(letters, func(a, b engine.DeadLetter) int { return newestFirst(a.At, b.At, a.RunID, b.RunID) })
	letters, next = page("letters", letters, limit, func(letter engine.DeadLetter) engine.Cursor {
		return engine.Cursor{At: letter.At, ID: letter.RunID}
	})
	return letters, next, nil
}

// DeadLetter returns one; engine.ErrNotFound.
func (s *Store) DeadLetter(ctx context.Context, runID string) (engine.DeadLetter, error) {
	if err := s.read(ctx); err != nil {
		return engine.DeadLetter{}, err
	}
	defer s.mu.RUnlock()
	letter, found := s.letters[runID]
	if !found {
		return engine.DeadLetter{}, fmt.Errorf("memory: dead letter %s: %w", runID, engine.ErrNotFound)
	}
	return letter, nil
}

// DeleteDeadLetter purges one; engine.ErrNotFound.
func (s *Store) DeleteDeadLetter(ctx context.Context, runID string) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if _, found := s.letters[runID]; !found {
		return fmt.Errorf("memory: delete dead letter %s: %w", runID, engine.ErrNotFound)
	}
	delete(s.letters, runID)
	return nil
}
