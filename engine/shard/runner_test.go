package shard_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/memory"
)

// world is a store and a queue, and runners one after the other.
type world struct {
	t     *testing.T
	store *memory.Store
	queue *memQueue

	engineStore shard.Store // what engines see of it
	log         *slog.Logger
	watch       shard.Observer
	notifier    shard.Notifier // nil: there is none
}

func newWorld(t *testing.T, takes time.Duration) *world {
	w := &world{t: t, store: memory.New(), queue: newMemQueue(takes), log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	w.engineStore = w.store
	binary := engine.Binary{Namespace: "default", Name: "tool", Revision: 1, Versions: []engine.BinaryVersion{{N: 1, SHA256: "d", Size: 1, Kind: "elf"}}}
	if err := w.store.CreateBinary(t.Context(), binary); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) create(uid string, alter func(*spec.Job)) engine.Job {
	w.t.Helper()
	definition := spec.Job{Name: uid, Binary: "tool"}
	alter(&definition)
	definition.ApplyDefaults()
	now := time.Now().UTC()
	job := engine.Job{
		UID: uid, Namespace: "default", Name: uid, Shard: engine.ShardOf(uid), Spec: definition, Generation: 1, Revision: 1, Pending: true,
		CreatedAt: now, UpdatedAt: now,
	}
	if err := w.store.Jobs().Create(w.t.Context(), job); err != nil {
		w.t.Fatal(err)
	}
	return job
}

// start runs an engine; the answer ends it and waits for it.
func (w *world) start() (runner *shard.Runner, stop func()) {
	shards := make([]int, engine.Shards)
	for i := range shards {
		shards[i] = i
	}
	ctx, cancel := context.WithCancelCause(w.t.Context())
	config := shard.DefaultConfig()
	config.Notifier = w.notifier
	runner = shard.NewRunner(config, w.engineStore, w.queue, shards, w.log, w.watch)
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	stopped := errors.New("the test stops it")
	return runner, func() {
		w.t.Helper()
		cancel(stopped)
		if err := <-ended; !errors.Is(err, stopped) {
			w.t.Errorf("the runner ended with %v", err)
		}
	}
}

func (w *world) runs(uid string) []engine.Run {
	w.t.Helper()
	runs, _, err := w.store.Runs(w.t.Context(), engine.RunFilter{JobUID: uid, Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	return runs
}

func (w *world) once() {
	w.t.Helper()
	for attempt, times := range w.queue.claimed {
		if times != 1 {
			w.t.Errorf("attempt %s started %d times", attempt, times)
		}
	}
}

// pass lets virtual time pass, and what happens in it settle.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestRunnerFiresEachSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100*time.Millisecond)
		w.create("tick", func(j *spec.Job) { j.Every = spec.Duration(time.Second) })
		runner, stop := w.start()
		<-runner.Ready()
		pass(20*time.Second + 500*time.Millisecond)
		stop()
		w.queue.work.Wait()
		runs := w.runs("tick")
		if len(runs) < 19 {
			t.Errorf("%d runs in 20 seconds", len(runs))
		}
		for i := range runs {
			run := &runs[i]
			if run.Status != engine.StatusSucceeded {
				t.Errorf("run %s is %s: %s", run.ID, run.Status, run.Reason)
			}
			if lag := run.QueuedAt.Sub(run.Slot); lag < 0 || lag > 5*time.Millisecond && !run.Slot.Before(runs[len(runs)-1].Slot.Add(time.Second)) {
				t.Errorf("run %s was queued %s after its slot", run.ID, lag)
			}
		}
		w.once()
	})
}

func TestRunnerContinuesAfterAnotherRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 700*time.Millisecond)
		w.create("tick", func(j *spec.Job) {
			j.Every, j.Overlap = spec.Duration(time.Second), spec.OverlapQueue
			j.CatchUp.Policy = spec.CatchUpAll
		})
		for range 6 {
			runner, stop := w.start()
			<-runner.Ready()
			pass(3*time.Second + 330*time.Millisecond)
			stop()
			pass(410 * time.Millisecond)
		}
		_, stop := w.start()
		pass(30 * time.Second)
		stop()
		w.queue.work.Wait()
		runs := w.runs("tick")
		slots := map[time.Time]bool{}
		for i := range runs {
			slots[runs[i].Slot] = true
		}
		first, last := runs[len(runs)-1].Slot, runs[0].Slot
		for slot := first; !slot.After(last); slot = slot.Add(time.Second) {
			if !slots[slot] {
				t.Errorf("slot %s was lost", slot)
			}
		}
		if len(runs) < 50 {
			t.Errorf("%d runs", len(runs))
		}
		w.once()
	})
}

func TestRunnerReceivesCommandsAndJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 10*time.Millisecond)
		runner, stop := w.start()
		<-runner.Ready()
		job := w.create("byhand", func(*spec.Job) {})
		w.queue.wakes <- engine.Wake{Shard: job.Shard, Kind: engine.WakeJob, Key: job.UID}
		ask := func(key string) {
			run := engine.Run{
				ID: engine.ManualRunID(job.UID, key), Namespace: "default", JobUID: job.UID, Job: job.Name, Shard: job.Shard,
				Trigger: engine.TriggerManual, Status: engine.StatusScheduled, CreatedAt: time.Now(),
			}
			if err := w.store.PutCommand(t.Context(), engine.Command{
				ID: engine.StartCommand(run.ID), Shard: job.Shard, Kind: engine.CommandStart, JobUID: job.UID, RunID: run.ID, Run: &run,
			}); err != nil {
				t.Fatal(err)
			}
		}
		ask("key")
		w.queue.wakes <- engine.Wake{Shard: job.Shard, Kind: engine.WakeCommand}
		pass(100 * time.Millisecond)
		if runs := w.runs(job.UID); len(runs) != 1 || runs[0].Status != engine.StatusSucceeded {
			t.Errorf("100 ms after the wakes: %+v", runs)
		}
		// Without a wake it is found by the sweep.
		ask("another")
		pass(shard.DefaultConfig().SweepEvery + 100*time.Millisecond)
		if runs := w.runs(job.UID); len(runs) != 2 || runs[0].Status != engine.StatusSucceeded || runs[1].Status != engine.StatusSucceeded {
			t.Errorf("a sweep later: %+v", runs)
		}
		if commands, err := w.store.Commands(t.Context(), []int{job.Shard}, 10); err != nil || len(commands) != 0 {
			t.Errorf("commands are left: %v, %v", commands, err)
		}
		if pending, err := w.store.PendingJobs(t.Context(), []int{job.Shard}, 10); err != nil || len(pending) != 0 {
			t.Errorf("jobs are pending: %v, %v", pending, err)
		}
		stop()
		w.queue.work.Wait()
		w.once()
	})
}

func TestRunnerPublishesAgainWhatTheQueueRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 10*time.Millisecond)
		w.queue.refusing = true
		at := time.Now().Add(time.Second)
		w.create("once", func(j *spec.Job) { j.At = &at })
		_, stop := w.start()
		pass(3 * time.Second)
		if runs := w.runs("once"); len(runs) != 1 || runs[0].Status != engine.StatusQueued {
			t.Errorf("while the queue refuses: %+v", runs)
		}
		w.queue.mu.Lock()
		w.queue.refusing = false
		w.queue.mu.Unlock()
		pass(3 * time.Second)
		if runs := w.runs("once"); len(runs) != 1 || runs[0].Status != engine.StatusSucceeded {
			t.Errorf("3 s after it refuses no more: %+v", runs)
		}
		stop()
		w.queue.work.Wait()
		w.once()
	})
}
