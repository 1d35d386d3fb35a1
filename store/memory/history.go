package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// Run returns one run; engine.ErrNotFound.
func (s *Store) Run(ctx context.Context, id string) (engine.Run, error) {
	if err := s.read(ctx); err != nil {
		return engine.Run{}, err
	}
	defer s.mu.RUnlock()
	run := s.runs[id]
	if run == nil {
		return engine.Run{}, fmt.Errorf("memory: run %s: %w", id, engine.ErrNotFound)
	}
	return copyRun(run), nil
}

// Runs lists history, newest first.
func (s *Store) Runs(ctx context.Context, filter engine.RunFilter) (runs []engine.Run, next string, err error) {
	cursor, given, err := engine.DecodeCursor("runs", filter.Cursor)
	if err != nil {
		return nil, "", fmt.Errorf("memory: list runs: %w", err)
	}
	if err := s.read(ctx); err != nil {
		return nil, "", err
	}
	defer s.mu.RUnlock()
	text := strings.ToLower(filter.Text)
	var chosen []*engine.Run
	for _, run := range s.runs {
		if chooses(&filter, text, run) && (!given || newestFirst(run.CreatedAt, cursor.At, run.ID, cursor.ID) > 0) {
			chosen = append(chosen, run)
		}
	}
	slices.SortFunc(chosen, func(a, b *engine.Run) int { return newestFirst(a.CreatedAt, b.CreatedAt, a.ID, b.ID) })
	chosen, next = page("runs", chosen, filter.Limit, func(run *engine.Run) engine.Cursor {
		return engine.Cursor{At: run.CreatedAt, ID: run.ID}
	})
	return copyRuns(chosen), next, nil
}

func newestFirst(a, b time.Time, aID, bID string) int {
	return cmp.Or(cmp.Compare(b.UnixMilli(), a.UnixMilli()), cmp.Compare(bID, aID))
}

func chooses(filter *engine.RunFilter, text string, run *engine.Run) bool {
	return (filter.Namespace == "" || run.Namespace == filter.Namespace) &&
		(filter.JobUID == "" || run.JobUID == filter.JobUID) &&
		(filter.Job == "" || run.Job == filter.Job) &&
		(filter.DAGUID == "" || run.JobUID == filter.DAGUID) &&
		(filter.DAG == "" || run.DAG == filter.DAG) &&
		(filter.Task == "" || run.Task == filter.Task) &&
		(!filter.OfJobs || run.Task == "") &&
		(len(filter.Statuses) == 0 || slices.Contains(filter.Statuses, run.Status)) &&
		(filter.Tier == "" || run.Tier == filter.Tier) &&
		(filter.By == "" || run.By == filter.By) &&
		(filter.Since.IsZero() || !run.CreatedAt.Before(filter.Since)) &&
		(filter.Until.IsZero() || run.CreatedAt.Before(filter.Until)) &&
		(text == "" || strings.Contains(strings.ToLower(run.ID), text) || strings.Contains(strings.ToLower(run.Job), text) ||
			strings.Contains(strings.ToLower(run.DAG), text) || strings.Contains(strings.ToLower(run.Reason), text))
}

// PutCommand inserts a command; one that is there already stays as it is.
func (s *Store) PutCommand(ctx context.Context, command engine.Command) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if _, found := s.commands[command.ID]; !found {
		s.commands[command.ID] = copyCommand(command)
	}
	return nil
}

// Command returns one command; engine.ErrNotFound.
func (s *Store) Command(ctx context.Context, id string) (engine.Command, error) {
	if err := s.read(ctx); err != nil {
		return engine.Command{}, err
	}
	defer s.mu.RUnlock()
	command, found := s.commands[id]
	if !found {
		return engine.Command{}, fmt.Errorf("memory: command %s: %w", id, engine.ErrNotFound)
	}
	return copyCommand(command), nil
}
