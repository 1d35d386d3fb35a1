package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
)

// batchesMost bounds how many batches of a size are written: small ones take their time.
const batchesMost = 500

// batches measures what a run's life costs the store by how many runs are written at once: the insert with the move of
// the scheduled task, and three more revisions, each a batch. It writes the same by Commit and by CommitShards, a few
// times in turn. The CPU is of this process alone, so with MongoDB it is that of the adapter, and with SQLite it is all.
func (b *bench) batches(ctx context.Context, runs int) error {
	dir, err := b.folder()
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	s, _, err := startServer(ctx, b.binary, data, b.storeFlags()...) // makes the folder
	if err != nil {
		return err
	}
	if err := s.stop(); err != nil {
		return err
	}
	store, err := b.openStore(ctx, data)
	if err != nil {
		return err
	}
	defer store.Close(ctx)
	ways, err := waysToCommit(ctx, store)
	if err != nil {
		return err
	}
	pairs := 3
	if b.quick {
		pairs = 1
	}
	var text strings.Builder
	slot := time.Now().Truncate(time.Second)
	for _, size := range []int{1, 10, 100, 300, 1000, 3000} {
		n := min(runs, size*batchesMost) / size * size
		if n == 0 {
			continue
		}
		for pair := range pairs {
			for i := range ways {
				way := ways[(pair+i)%len(ways)]
				took, cpu, err := writeLives(ctx, way, n, size, slot)
				if err != nil {
					return fmt.Errorf("%s: %w", way.name, err)
				}
				slot = slot.Add(time.Duration(n) * time.Second)
				fmt.Fprintf(&text, "\n    %4d at once, pair %d, %-12s: %6.0f runs/s, CPU %4.0f µs a run, a commit takes %s (%d runs)",
					size, pair+1, way.name,
					float64(n)/took.Seconds(), micros(cpu, n), milliseconds(took/time.Duration(4*n/size)), n)
			}
		}
	}
	b.print("the life of runs by the size of batches, on "+b.storeName(), strings.TrimPrefix(text.String(), "\n    "), "")
	return nil
}

// lifeStep is one of the four writes of some runs' lives, side by side.
type lifeStep struct {
	runs  []engine.Run
	tasks []engine.ScheduledTask
}

// wayToCommit writes a step.
type wayToCommit struct {
	name   string
	commit func(ctx context.Context, step *lifeStep) error
}

// waysToCommit takes all shards where the store offers that.
func waysToCommit(ctx context.Context, store store) ([]wayToCommit, error) {
	ways := []wayToCommit{{"Commit", func(ctx context.Context, step *lifeStep) error { return commitBatch(ctx, store, step) }}}
	shards, ok := store.(shardStore)
	if !ok {
		return ways, nil
	}
	var terms [engine.Shards]engine.Term
	for shard := range terms {
		var err error
		if terms[shard], err = shards.Take(ctx, shard, "bench"); err != nil {
			return nil, err
		}
	}
	return append(ways, wayToCommit{"CommitShards", func(ctx context.Context, step *lifeStep) error {
		return commitShards(ctx, shards, &terms, step)
	}}), nil
}

func commitBatch(ctx context.Context, store store, step *lifeStep) error {
	batch := &engine.Batch{}
	for _, run := range step.runs {
		batch.Runs = append(batch.Runs, engine.RunWrite{Run: run})
	}
	for _, task := range step.tasks {
		batch.Tasks = append(batch.Tasks, engine.TaskWrite{Task: task})
	}
	conflicts, err := store.Commit(ctx, batch)
	if err == nil && len(conflicts) > 0 {
		err = fmt.Errorf("%d of %d writes were refused", len(conflicts), len(step.runs))
	}
	return err
}

// commitShards writes a step as one call with a commit for each shard. terms have the positions of the last commits.
func commitShards(ctx context.Context, store shardStore, terms *[engine.Shards]engine.Term, step *lifeStep) error {
	var decisions [engine.Shards]engine.Decision
	for _, run := range step.runs {
		decisions[run.Shard].Runs = append(decisions[run.Shard].Runs, run)
	}
	for _, task := range step.tasks {
		decisions[task.Shard].Tasks = append(decisions[task.Shard].Tasks, task)
	}
	var commits []engine.ShardCommit
	for shard := range decisions {
		if decision := &decisions[shard]; !decision.Empty() {
			terms[shard].Position++
			commits = append(commits, engine.ShardCommit{
				Shard: shard, Term: terms[shard].Number, Position: terms[shard].Position, Decision: decision,
			})
		}
	}
	return errors.Join(store.CommitShards(ctx, commits)...)
}

// writeLives writes n lives of runs, some at once. What it takes to make the runs does not count.
func writeLives(ctx context.Context, way wayToCommit, n, size int, slot time.Time) (took, cpu time.Duration, err error) {
	for at := 0; at < n; at += size {
		lives := newLives(size, slot.Add(time.Duration(at)*time.Second))
		before, began := usage(), time.Now()
		for step := range lives {
			if err := way.commit(ctx, &lives[step]); err != nil {
				return took, cpu, err
			}
		}
		took, cpu = took+time.Since(began), cpu+usage()-before
	}
	return took, cpu, nil
}

// newLives makes the lives of some runs of jobs of their own.
func newLives(size int, slot time.Time) (steps [4]lifeStep) {
	slot = slot.UTC()
	for i := range size {
		job := &engine.Job{UID: service.NewUID(), Namespace: engine.DefaultNamespace, Name: "batch"}
		job.Shard = engine.ShardOf(job.UID)
		ended := pastRun(job, i+1, slot)
		life := [4]engine.Run{ended, ended, ended, ended}
		for step := range life {
			life[step].Revision = int64(step + 1)
		}
		life[0].Status, life[0].Attempt, life[0].Attempts = engine.StatusScheduled, 0, nil
		life[0].QueuedAt, life[0].StartedAt, life[0].FinishedAt = time.Time{}, time.Time{}, time.Time{}
		life[1].Status, life[1].StartedAt, life[1].FinishedAt = engine.StatusQueued, time.Time{}, time.Time{}
		life[1].Attempts = []engine.Attempt{{N: 1, Status: engine.StatusQueued, QueuedAt: slot}}
		life[2].Status, life[2].FinishedAt = engine.StatusRunning, time.Time{}
		for step := range steps {
			steps[step].runs = append(steps[step].runs, life[step])
		}
		steps[0].tasks = append(steps[0].tasks, engine.ScheduledTask{
			ID: job.UID, Shard: job.Shard, Slot: slot, RunAt: slot, Revision: 1, Generation: 1, Namespace: job.Namespace, Job: job.Name,
		})
	}
	return steps
}
