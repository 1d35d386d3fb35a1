package shard_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/spec"
)

// silentStore never answers what is due once it hangs, and is unavailable once it is down.
type silentStore struct {
	shard.Store
	hangs, down atomic.Bool
}

func (s *silentStore) DueTasks(ctx context.Context, shards []int, after, until time.Time) ([]engine.ScheduledTask, error) {
	switch {
	case s.hangs.Load():
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case s.down.Load():
		return nil, errors.New("the store is away")
	}
	return s.Store.DueTasks(ctx, shards, after, until)
}

func runWith(t *testing.T, store shard.Store, queue shard.Queue, shards []int) (runner *shard.Runner, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	runner = shard.NewRunner(shard.DefaultConfig(), store, queue, shards, slog.New(slog.DiscardHandler), nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = runner.Run(ctx) // with the reason of the test
	}()
	return runner, func() { cancel(); <-ended }
}

func TestEngineThatWaitsForAnAnswerForEverIsStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Millisecond)
		store := &silentStore{Store: w.store}
		runner, stop := runWith(t, store, w.queue, []int{0})
		<-runner.Ready()
		pass(time.Minute)
		if err := runner.Stalled(); err != nil {
			t.Errorf("while all is well: %v", err)
		}
		store.hangs.Store(true)
		pass(time.Minute)
		if err := runner.Stalled(); err != nil {
			t.Errorf("before long: %v", err)
		}
		pass(2 * time.Minute)
		if err := runner.Stalled(); err == nil || !strings.Contains(err.Error(), "poll") {
			t.Errorf("after the store has not answered for minutes: %v", err)
		}
		stop()
		if err := runner.Stalled(); err != nil {
			t.Errorf("once it was asked to end: %v", err)
		}
	})
}

func TestEngineWithoutWorkOrWithoutItsStoreIsNotStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Millisecond)
		store := &silentStore{Store: w.store}
		runner, stop := runWith(t, store, w.queue, nil) // it owns nothing
		<-runner.Ready()
		pass(time.Hour)
		if err := runner.Stalled(); err != nil {
			t.Errorf("without shards: %v", err)
		}
		stop()
		runner, stop = runWith(t, store, w.queue, []int{0})
		<-runner.Ready()
		store.down.Store(true)
		pass(time.Hour)
		if err := runner.Stalled(); err != nil {
			t.Errorf("an outage of the store ends the process: %v", err)
		}
		stop()
	})
}

// blockingQueue stops the loop itself: publishing must not wait.
type blockingQueue struct {
	shard.Queue
	release chan struct{}
}

func (q blockingQueue) Publish(task *engine.Task, done func(error)) {
	<-q.release
	q.Queue.Publish(task, done)
}

func TestEngineWithABlockedLoopIsReportedAsStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Millisecond)
		job := w.create("tick", func(j *spec.Job) { j.Every = spec.Duration(time.Second) })
		release := make(chan struct{})
		runner, stop := runWith(t, w.store, blockingQueue{w.queue, release}, []int{job.Shard})
		<-runner.Ready()
		pass(20 * time.Second)
		if err := runner.Stalled(); err != nil {
			t.Errorf("before long: %v", err)
		}
		pass(20 * time.Second)
		if err := runner.Stalled(); err == nil || !strings.Contains(err.Error(), "not stepped") {
			t.Errorf("after its loop stood still: %v", err)
		}
		close(release)
		synctest.Wait()
		if err := runner.Stalled(); err != nil {
			t.Errorf("once it continues: %v", err)
		}
		stop()
		w.queue.work.Wait()
	})
}
