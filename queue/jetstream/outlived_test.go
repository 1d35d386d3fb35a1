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

// A task that was handed out and never acknowledged comes again and again. Once its claim may have been trimmed no executor is
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
	// If no executor was running it after all, the engine is to see to it soon.
	select {
	case wake := <-woken:
		if want := (engine.Wake{Shard: task.Shard, Kind: engine.WakeTask, Key: task.Run, Attempt: 1}); wake != want {
			t.Errorf("the engine was notified of %+v, want %+v", wake, want)
		}
	case <-time.After(30 * time.Second):
		t.Error("the engine was not notified")
	}
}

// Of what may have been published before a copy may have been claimed, and the claim be forgotten since.
func TestACopyThatMayHaveBeenPublishedBeforeIsNotHandedOutLate(t *testing.T) {
	q := connect(t, Config{Server: startServer(t, t.TempDir(), ""), AckWait: 30 * time.Second, ClaimWindow: 400 * time.Millisecond})
	for run, again := range map[string]bool{"yjouwbosezaopxvn-s1": true, "yjouwbosezaopxvn-s2": false} {
		task := &engine.Task{
			Run: run, Attempt: 1, JobUID: "yjouwbosezaopxvn", Lock: run, Namespace: "default", Job: "job", Tier: spec.TierLight, Class: spec.ClassStandard,
			Digest: "0123", Kind: "elf", Again: again,
		}
		published := make(chan error, 1)
		q.Publish(task, func(err error) { published <- err })
		if err := <-published; err != nil {
			t.Fatal(err)
		}
	}
	<-time.After(q.config.ClaimWindow) // no engine was there
	given := make(chan string, 10)
	ctx, cancel := context.WithCancel(t.Context())
	var pulling sync.WaitGroup
	pulling.Go(func() {
		err := q.Pull(ctx, executor.PullConfig{Executor: "x", Tiers: []spec.Tier{spec.TierLight}, Slots: 4}, func(d executor.Delivery) {
			task, err := d.Task()
			if err != nil || d.Ack() != nil {
				t.Error("a task cannot be read and acknowledged", err)
			}
			given <- task.Run
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
	for left := 2; left > 0; {
		select {
		case <-tick.C:
			left = 0
			for _, run := range []string{"yjouwbosezaopxvn-s1", "yjouwbosezaopxvn-s2"} {
				waiting, err := q.last(t.Context(), q.names.tasks, q.names.task("light", "standard", run))
				if err != nil {
					t.Fatal(err)
				}
				if waiting != nil {
					left++
				}
			}
		case <-limit:
			t.Fatal("they still wait")
		}
	}
	if run := <-given; run != "yjouwbosezaopxvn-s2" || len(given) > 0 {
		t.Errorf("handed out were %s and %d more, want only the one that was published once", run, len(given))
	}
}

func TestWhatGoesIsWhatCouldGoAWindowBefore(t *testing.T) {
	const window = 2 * time.Minute
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var at trims
	for i, want := range []uint64{0, 0, 10, 20, 30, 40} { // a minute each
		if got := at.before(now.Add(-window), now, uint64(10*(i+1))); got != want {
			t.Errorf("after %d minutes %d may go, want %d", i, got, want)
		}
		now = now.Add(time.Minute)
	}
	if got := at.before(now.Add(-window), now, 35); got != 35 {
		t.Errorf("after a power cut has taken what came behind 35, %d may go, want 35", got)
	}
}
