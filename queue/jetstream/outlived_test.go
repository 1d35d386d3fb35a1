package jetstream

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/spec"
)

// A task that was handed out and never acknowledged comes again and again. Once its claim may have been trimmed nobody is
// given it any more: who was given it first may have claimed and run it.
func TestACopyThatOutlivesItsClaimIsNotHandedOut(t *testing.T) {
	q := connect(t, Config{Server: startServer(t, t.TempDir(), ""), AckWait: 250 * time.Millisecond, ClaimWindow: time.Second})
	task := &engine.Task{
		Run: "yjouwbosezaopxvn-s1", Attempt: 1, JobUID: "yjouwbosezaopxvn", Lock: "yjouwbosezaopxvn", Namespace: "default", Job: "job",
		Tier: spec.TierLight, Class: spec.ClassStandard, Digest: "0123", Kind: "elf",
	}
	published := make(chan error, 1)
	q.Publish(task, func(err error) { published <- err })
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	woken := make(chan engine.Wake, 100)
	hearing, stopHearing := context.WithCancel(t.Context())
	var hears sync.WaitGroup
	hears.Go(func() {
		if err := q.Wakes(hearing, func(wake engine.Wake) { woken <- wake }); err != nil {
			t.Error(err)
		}
	})
	defer hears.Wait()
	defer stopHearing()
	began := time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	var pulling sync.WaitGroup
	var given atomic.Int32
	var latest atomic.Int64
	pulling.Go(func() {
		err := q.Pull(ctx, executor.PullConfig{Executor: "x", Tiers: []spec.Tier{spec.TierLight}, Slots: 4}, func(executor.Delivery) {
			given.Add(1) // and dies
			latest.Store(int64(time.Since(began)))
		})
		if err != nil {
			t.Error(err)
		}
	})
	defer pulling.Wait()
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(30 * time.Second)
	for gone := false; !gone; {
		select {
		case <-tick.C:
			waiting, err := q.last(t.Context(), q.names.tasks, q.names.task("light", "standard", task.Run))
			if err != nil {
				t.Fatal(err)
			}
			gone = waiting == nil
		case <-limit:
			t.Fatalf("after %d deliveries it still waits", given.Load())
		}
	}
	if given.Load() < 1 {
		t.Error("it was never handed out")
	}
	if window := q.config.ClaimWindow; time.Duration(latest.Load()) > window {
		t.Errorf("it was handed out after %v; claims are kept for %v", time.Duration(latest.Load()), window)
	}
	// If nobody was running it after all, the engine is to see to it soon.
	select {
	case wake := <-woken:
		if want := (engine.Wake{Shard: task.Shard, Kind: engine.WakeTask, Key: task.Run, Attempt: 1}); wake != want {
			t.Errorf("the engine was told %+v, want %+v", wake, want)
		}
	case <-time.After(30 * time.Second):
		t.Error("the engine was not told")
	}
}
