package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// DueTasks returns all scheduled tasks of these shards with RunAt in (after, until], the earliest first.
func (s *Store) DueTasks(ctx context.Context, shards []int, after, until time.Time) ([]engine.ScheduledTask, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	mine := shardSet(shards)
	var due []engine.ScheduledTask
	for _, task := range s.tasks {
		if mine.has(task.Shard) && task.RunAt.After(after) && !task.RunAt.After(until) {
			due = append(due, copyTask(&task))
		}
	}
	slices.SortFunc(due, earliestFirst)
	return due, nil
}

func earliestFirst(a, b engine.ScheduledTask) int {
	return cmp.Or(a.RunAt.Compare(b.RunAt), cmp.Compare(a.ID, b.ID))
}

// TasksByID returns those scheduled tasks that exist.
func (s *Store) TasksByID(ctx context.Context, uids []string) ([]engine.ScheduledTask, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	var tasks []engine.ScheduledTask
	for _, uid := range uids {
		if task, found := s.tasks[uid]; found {
			tasks = append(tasks, copyTask(&task))
		}
	}
	return tasks, nil
}

// ActiveRuns returns runs of these shards that have not ended, with ids above after, in the order of their ids.
func (s *Store) ActiveRuns(ctx context.Context, shards []int, after string, limit int) ([]engine.Run, error) {
	mine := shardSet(shards)
	return s.activeRuns(ctx, limit, func(run *engine.Run) bool { return run.ID > after && mine.has(run.Shard) })
}

// ActiveRunIDs returns the ids of runs of these shards that have not ended, those above after, in order.
func (s *Store) ActiveRunIDs(ctx context.Context, shards []int, after string, limit int) ([]string, error) {
	runs, err := s.ActiveRuns(ctx, shards, after, limit)
	ids := make([]string, len(runs))
	for i := range runs {
		ids[i] = runs[i].ID
	}
	return ids, err
}

// ActiveRunsOf returns all runs of these jobs that have not ended, in the order of their ids.
func (s *Store) ActiveRunsOf(ctx context.Context, uids []string) ([]engine.Run, error) {
	return s.activeRuns(ctx, -1, func(run *engine.Run) bool { return slices.Contains(uids, run.JobUID) })
}

func (s *Store) activeRuns(ctx context.Context, limit int, choose func(*engine.Run) bool) ([]engine.Run, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	var chosen []*engine.Run
	for _, run := range s.active {
		if choose(run) {
			chosen = append(chosen, run)
		}
	}
	slices.SortFunc(chosen, func(a, b *engine.Run) int { return cmp.Compare(a.ID, b.ID) })
	if limit >= 0 && limit < len(chosen) {
		chosen = chosen[:limit]
	}
	return copyRuns(chosen), nil
}

func copyRuns(runs []*engine.Run) []engine.Run {
	copies := make([]engine.Run, len(runs))
	for i, run := range runs {
		copies[i] = copyRun(run)
	}
	return copies
}

// RunsByID returns those runs that exist.
func (s *Store) RunsByID(ctx context.Context, ids []string) ([]engine.Run, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	var runs []engine.Run
	for _, id := range ids {
		if run := s.runs[id]; run != nil {
			runs = append(runs, copyRun(run))
		}
	}
	return runs, nil
}

// Commands returns the commands for these shards, oldest first.
func (s *Store) Commands(ctx context.Context, shards []int, limit int) ([]engine.Command, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	mine := shardSet(shards)
	var commands []engine.Command
	for _, command := range s.commands {
		if mine.has(command.Shard) {
			commands = append(commands, copyCommand(command))
		}
	}
	slices.SortFunc(commands, func(a, b engine.Command) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return commands[:min(limit, len(commands))], nil
}

// BinariesByKey returns those binaries ("namespace/name") that exist.
func (s *Store) BinariesByKey(ctx context.Context, keys []string) ([]engine.Binary, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	var binaries []engine.Binary
	for _, key := range keys {
		if binary, found := s.binaries[key]; found {
			binaries = append(binaries, copyBinary(binary))
		}
	}
	return binaries, nil
}

// shards is a set of shards.
type shards [engine.Shards]bool

func shardSet(list []int) *shards {
	var set shards
	for _, shard := range list {
		if shard >= 0 && shard < engine.Shards {
			set[shard] = true
		}
	}
	return &set
}

func (s *shards) has(shard int) bool { return shard >= 0 && shard < engine.Shards && s[shard] }
