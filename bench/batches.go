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
// the scheduled task, and three more revisions, each a batch. The CPU is of this process alone, so with MongoDB it is
// that of the adapter, and with SQLite it is all.
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
	var text strings.Builder
	for i, size := range []int{1, 10, 100, 300, 1000, 3000} {
		n := min(runs, size*batchesMost) / size * size
		if n == 0 {
			continue
		}
		before, began := usage(), time.Now()
		for at := 0; at < n; at += size {
			if err := writeLives(ctx, store, size, began.Truncate(time.Second).Add(time.Duration(at)*time.Second)); err != nil {
				return err
			}
		}
		took, cpu := time.Since(began), usage()-before
		if i > 0 {
			text.WriteString("\n    ")
		}
		fmt.Fprintf(&text, "%4d at once: %6.0f runs/s, CPU %4.0f µs a run, a commit takes %s (%d runs)", size, float64(n)/took.Seconds(), micros(cpu, n),
			milliseconds(took/time.Duration(4*n/size)), n)
	}
	b.print("the life of runs by the size of batches, on "+b.storeName(), text.String(), "")
	return nil
}

// writeLives writes the lives of some runs of jobs of their own, side by side.
func writeLives(ctx context.Context, store store, size int, slot time.Time) error {
	var steps [4]engine.Batch
	for i := range size {
		job := &engine.Job{UID: service.NewUID(), Namespace: engine.DefaultNamespace, Name: "batch"}
		job.Shard = engine.ShardOf(job.UID)
		ended := pastRun(job, i+1, slot.UTC())
		life := [4]engine.Run{ended, ended, ended, ended}
		for step := range life {
			life[step].Revision = int64(step + 1)
		}
		life[0].Status, life[0].Attempt, life[0].Attempts = engine.StatusScheduled, 0, nil
		life[0].QueuedAt, life[0].StartedAt, life[0].FinishedAt = time.Time{}, time.Time{}, time.Time{}
		life[1].Status, life[1].StartedAt, life[1].FinishedAt = engine.StatusQueued, time.Time{}, time.Time{}
		life[1].Attempts = []engine.Attempt{{N: 1, Status: engine.StatusQueued, QueuedAt: slot.UTC()}}
		life[2].Status, life[2].FinishedAt = engine.StatusRunning, time.Time{}
		for step := range steps {
			steps[step].Runs = append(steps[step].Runs, engine.RunWrite{Run: life[step]})
		}
		steps[0].Tasks = append(steps[0].Tasks, engine.TaskWrite{Task: engine.ScheduledTask{
			ID: job.UID, Shard: job.Shard, Slot: slot.UTC(), RunAt: slot.UTC(), Revision: 1, Generation: 1, Namespace: job.Namespace, Job: job.Name,
		}})
	}
	for step := range steps {
		conflicts, err := store.Commit(ctx, &steps[step])
		if err != nil {
			return err
		}
		if len(conflicts) > 0 {
			return fmt.Errorf("%d of %d writes were refused", len(conflicts), size)
		}
	}
	return nil
}
