package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/memory"
	"github.com/tidewheel/tidewheel/web/service"
)

// fillingDisk is a disk of which a test says how much is free.
func fillingDisk(log *slog.Logger) (d *disk, free *atomic.Int64) {
	free = new(atomic.Int64)
	free.Store(1 << 30)
	d = newDisk("/data", log)
	d.free = func(string) (int64, error) { return free.Load(), nil }
	return d, free
}

func TestFullDiskIsOneConditionUntilThereIsEnoughSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text safeBuffer
		d, free := fillingDisk(slog.New(slog.NewTextHandler(&text, nil)))
		ctx, cancel := context.WithCancel(t.Context())
		var watch sync.WaitGroup
		watch.Go(func() { d.watch(ctx) })
		pass := func(d time.Duration) { <-time.After(d); synctest.Wait() }
		pass(time.Minute)
		if err := d.full(); err != nil {
			t.Errorf("with space: %v", err)
		}
		free.Store(1 << 20)
		pass(2 * time.Second)
		var problem interface{ Error() string }
		if err := d.full(); !errors.Is(err, errDiskFull) || !strings.Contains(err.Error(), "/data") {
			t.Errorf("without space: %v", err)
		} else if problem = diskFull(err); !strings.Contains(problem.Error(), "nothing starts until 32") {
			t.Errorf("the user gets %v", problem)
		}
		free.Store(leastFree - 1) // more than what makes it full: it does not go to and fro
		pass(time.Minute)
		if d.full() == nil {
			t.Error("it counts as well with little more than nothing free")
		}
		free.Store(1 << 30)
		pass(2 * time.Second)
		if err := d.full(); err != nil {
			t.Errorf("with space again: %v", err)
		}
		d.refused("the database", false) // whatever is said to be free: a quota
		pass(2 * time.Second)
		if d.full() == nil {
			t.Error("a part could not write, and the disk does not count as full")
		}
		pass(fullAtLeast)
		if err := d.full(); err != nil {
			t.Errorf("some time after a write was refused: %v", err)
		}
		if log := text.String(); strings.Count(log, "level=ERROR") != 2 || strings.Count(log, "space on the disk again") != 2 {
			t.Errorf("the log says %s", log)
		}
		cancel()
		watch.Wait()
	})
}

// carryingQueue takes every task while there is space, and nothing answers for it.
type carryingQueue struct {
	quietQueue
	disk      *disk
	mu        sync.Mutex
	published map[string]time.Time // run → when it was taken
}

func (q *carryingQueue) Publish(task *engine.Task, done func(error)) {
	if q.disk.full() != nil {
		go done(errors.New("insufficient resources"))
		return
	}
	q.mu.Lock()
	if _, again := q.published[task.Run]; !again {
		q.published[task.Run] = time.Now()
	}
	q.mu.Unlock()
	go done(nil)
}

func (q *carryingQueue) Inspect(context.Context, core.Inspect) (engine.AttemptState, error) {
	return engine.AttemptState{}, nil
}

func (q *carryingQueue) Revoke(context.Context, core.Revoke) (bool, error) { return true, nil }

// An embedded queue refuses what the database still takes, or the other way round: without the one condition, slots are
// queued without an executor that can start them, block of those that follow, and fire late.
func TestSlotsOfAFullDiskAreJudgedAsInAnyOtherOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		d, free := fillingDisk(testLog(t))
		store := memory.New()
		if err := store.CreateBinary(ctx, engine.Binary{
			Namespace: "default", Name: "tool", Revision: 1, Versions: []engine.BinaryVersion{{N: 1, SHA256: "d", Size: 1, Kind: "elf"}},
		}); err != nil {
			t.Fatal(err)
		}
		definition := spec.Job{
			Name: "tick", Binary: "tool", Every: spec.Duration(time.Second), Overlap: spec.OverlapAllow,
			CatchUp: spec.CatchUp{Policy: spec.CatchUpNone},
		}
		definition.ApplyDefaults()
		now := time.Now().UTC()
		job := engine.Job{
			UID: "tick", Namespace: "default", Name: "tick", Shard: engine.ShardOf("tick"), Spec: definition, Generation: 1, Revision: 1, Pending: true,
			CreatedAt: now, UpdatedAt: now,
		}
		if err := store.Jobs().Create(ctx, job); err != nil {
			t.Fatal(err)
		}
		queue := &carryingQueue{disk: d, published: map[string]time.Time{}}
		var parts sync.WaitGroup
		parts.Go(func() { d.watch(ctx) })
		parts.Go(func() {
			for ctx.Err() == nil {
				_ = d.hold(ctx, func(ctx context.Context) error { // with why it ends
					return shard.NewRunner(shard.DefaultConfig(), store, queue, []int{job.Shard}, testLog(t), nil).Run(ctx)
				})
			}
		})
		pass := func(d time.Duration) { <-time.After(d); synctest.Wait() }
		pass(20 * time.Second)
		began := time.Now()
		free.Store(0)
		pass(5 * time.Minute)
		free.Store(1 << 30)
		ended := time.Now()
		pass(20 * time.Second)
		cancel()
		parts.Wait()

		runs, _, err := store.Runs(context.WithoutCancel(ctx), engine.RunFilter{JobUID: "tick", Limit: 1000})
		if err != nil || len(runs) < 30 {
			t.Fatalf("%d runs, %v", len(runs), err)
		}
		for i := range runs {
			at, taken := queue.published[runs[i].ID]
			if slot := runs[i].Slot; taken && at.Sub(slot) > 13*time.Second {
				t.Errorf("the slot of %s fired %s late", slot, at.Sub(slot))
			}
		}
		slots, _, err := store.Slots(context.WithoutCancel(ctx), engine.SlotFilter{JobUID: "tick", Since: began.Add(-time.Minute), Until: ended.Add(time.Minute), Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		missed := int64(0)
		for _, s := range slots {
			if s.Outcome != engine.OutcomeMissed || s.Reason != engine.ReasonOutage {
				t.Errorf("%d slots from %s on are %s: %s", s.Count, s.From, s.Outcome, s.Reason)
			}
			missed += s.Count
		}
		if missed < 285 || missed > 295 {
			t.Errorf("%d slots of five minutes are recorded as missed", missed)
		}
	})
}

// From the disk to all who ask: the whole server.
func TestServerWithAFullDiskSaysSoEverywhere(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	if _, text := get(t, s.server.URL()+"/readyz"); text != "ok\n" {
		t.Fatalf("readyz with space: %s", text)
	}
	s.server.disk.refused("a test", true)
	if status, text := get(t, s.server.URL()+"/readyz"); status != 503 || !strings.Contains(text, "the server's disk is full (") || !strings.Contains(text, s.config.Data) {
		t.Errorf("readyz: %d %s", status, text)
	}
	if result := s.run("doctor", "--data", s.config.Data, "--http", strings.TrimPrefix(s.server.URL(), "http://")); !strings.Contains(result.out, "the server's disk is full (") {
		t.Errorf("the doctor says %s", result.out)
	}
	view, err := s.server.service.Overview(t.Context(), engine.DefaultNamespace)
	if err != nil || len(view.Concerns) == 0 || view.Concerns[0].Kind != service.ConcernDisk {
		t.Errorf("the overview says %+v, %v", view.Concerns, err)
	}
}
