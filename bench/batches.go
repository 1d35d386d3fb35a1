package main

import (
	"context"
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
// the scheduled task, and three more revisions, each one call with a commit for each shard.
// The CPU is of this process alone, so with MongoDB it is that of the adapter, and with SQLite it is all.
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
	owner, err := takeShards(ctx, store)
	if err != nil {
		return err
	}
	var text strings.Builder
	slot := time.Now().Truncate(time.Second)
	for _, size := range []int{1, 10, 100, 300, 1000, 3000} {
		n := min(runs, size*batchesMost) / size * size
		if n == 0 {
			continue
		}
		took, cpu, err := writeLives(ctx, owner, n, size, slot)
		if err != nil {
			return err
		}
		slot = slot.Add(time.Duration(n) * time.Second)
		fmt.Fprintf(&text, "\n    %4d at once: %6.0f runs/s, CPU %4.0f µs a run, a commit takes %s (%d runs)",
			size, float64(n)/took.Seconds(), micros(cpu, n), milliseconds(took/time.Duration(4*n/size)), n)
	}
	b.print("the life of runs by the size of batches, on "+b.storeName(), strings.TrimPrefix(text.String(), "\n    "), "")
	return nil
}

// lifeStep is one of the four writes of some runs' lives, side by side.
type lifeStep struct {
	runs  []engine.Run
	tasks []engine.ScheduledTask
}

// writeLives writes n lives of runs, some at once. What it takes to make the runs does not count.
func writeLives(ctx context.Context, owner *shardOwner, n, size int, slot time.Time) (took, cpu time.Duration, err error) {
	for at := 0; at < n; at += size {
		lives := newLives(size, slot.Add(time.Duration(at)*time.Second))
		before, began := usage(), time.Now()
		for step := range lives {
			if err := owner.commit(ctx, lives[step].runs, lives[step].tasks); err != nil {
				return took, cpu, err
			}
		}
		took, cpu = took+time.Since(began), cpu+usage()-before
	}
	if behind, is := owner.store.(interface{ CatchUp(context.Context) error }); is { // what is to be projected yet counts
		before, began := usage(), time.Now()
		err = behind.CatchUp(ctx)
		took, cpu = took+time.Since(began), cpu+usage()-before
	}
	return took, cpu, err
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
