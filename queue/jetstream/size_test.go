package jetstream

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/spec"
)

func embedded(t *testing.T, config Config) *Queue {
	t.Helper()
	config.Server = startServer(t, t.TempDir(), "")
	t.Cleanup(func() {
		if err := config.Server.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	return connect(t, config)
}

func someTask() *engine.Task {
	uid := strings.ToLower(rand.Text()[:16])
	return &engine.Task{
		Run: engine.SlotRunID(uid, time.UnixMilli(1_800_000_000_000)), Attempt: 1, Shard: engine.ShardOf(uid), JobUID: uid, Namespace: "default",
		Job: "job", Lock: uid, Tier: spec.TierLight, Class: spec.ClassStandard, QueuedAt: time.Now().UTC(), Digest: "0123", Kind: "elf",
	}
}

// claimed reports that a run of its own has begun.
func claimed(t *testing.T, q *Queue) engine.Result {
	t.Helper()
	task := someTask()
	begun := engine.Result{Kind: engine.ResultStarted, Run: task.Run, Attempt: 1, Shard: task.Shard, Executor: "x", Token: 1, At: time.Now().UTC()}
	if _, err := q.Claim(t.Context(), begun); err != nil {
		t.Fatal(err)
	}
	return begun
}

// acknowledgeAll owns all shards until stop or the test's end, and acknowledges what comes.
func acknowledgeAll(t *testing.T, q *Queue) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var owners sync.WaitGroup
	for number := range engine.Shards {
		owners.Go(func() {
			if err := q.Results(ctx, number, func(d shard.Delivery) { _ = d.Ack() }); err != nil {
				t.Errorf("results: %v", err)
			}
		})
	}
	stop = func() { cancel(); owners.Wait() }
	t.Cleanup(stop)
	return stop
}

func stream(t *testing.T, q *Queue, name string) engine.Stream {
	t.Helper()
	streams, err := q.Streams(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range streams {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no stream %s among %v", name, streams)
	return engine.Stream{}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); !holds(); {
		if time.Now().After(limit) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func TestMaintainTrimsResults(t *testing.T) {
	t.Parallel()
	q := embedded(t, Config{})
	q.config.ClaimWindow = 100 * time.Millisecond // it is read first by what follows
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	for range 50 {
		claimed(t, q)
	}
	if got := stream(t, q, "RESULTS"); got.Messages != 50 || got.Bytes == 0 || got.Age(time.Now()) > time.Minute || got.Oldest.IsZero() {
		t.Errorf("before trimming: %+v", got)
	}
	if got := stream(t, q, "RESULTS"); time.Since(got.Watched) < 0 || time.Since(got.Watched) > time.Minute || got.Keeps == 0 {
		t.Errorf("it is watched since %s, and keeps %s", got.Watched, got.Keeps)
	}
	acknowledgeAll(t, q)
	go func() { done <- q.Maintain(ctx, func() bool { return true }) }()
	eventually(t, "RESULTS is empty", func() bool { return stream(t, q, "RESULTS").Messages == 0 })
	if got := stream(t, q, "RESULTS"); got.Age(time.Now()) != 0 {
		t.Errorf("an empty stream has the age %s", got.Age(time.Now()))
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("maintain: %v", err)
	}
}

func TestMaintainLeavesTrimmingToAnotherProcess(t *testing.T) {
	t.Parallel()
	q := embedded(t, Config{})
	q.config.ClaimWindow = 10 * time.Millisecond
	claimed(t, q)
	acknowledgeAll(t, q)
	ctx, stop := context.WithCancel(t.Context())
	asked := 0
	if err := q.Maintain(ctx, func() bool {
		if asked++; asked == 3 {
			stop()
		}
		return false
	}); err != nil {
		t.Fatal(err)
	}
	if got := stream(t, q, "RESULTS").Messages; got != 1 {
		t.Errorf("RESULTS holds %d messages, want the one of before", got)
	}
}

// A full RESULTS keeps what it has, takes the ends of what runs, and no executor takes new work until there is room.
func TestNothingNewIsTakenWhileResultsAreFull(t *testing.T) {
	t.Parallel()
	q := embedded(t, Config{ResultsLimit: 2000})
	q.config.ClaimWindow = 100 * time.Millisecond
	first := claimed(t, q)
	after, err := q.last(t.Context(), q.names.results, q.names.attempt(first.Shard, first.Run, 1))
	if err != nil {
		t.Fatal(err)
	}
	for !full(t, q) {
		claimed(t, q)
	}
	before := stream(t, q, "RESULTS")
	if before.Problem(time.Now()) == "" {
		t.Error("a stream above its limit has no problem")
	}
	given := make(chan bool, 10) // whether RESULTS was full when a task was taken
	pulling, stopPulling := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- q.Pull(pulling, executor.PullConfig{Executor: "x", Tiers: []spec.Tier{spec.TierLight}, Slots: 1}, func(d executor.Delivery) {
			_ = d.Ack()
			given <- full(t, q)
		})
	}()
	published := make(chan error, 1)
	q.Publish(someTask(), func(err error) { published <- err })
	if err := <-published; err != nil {
		t.Fatalf("publish: %v", err)
	}
	end := first
	end.Kind, end.Finish = engine.ResultFinished, &engine.Finish{Status: engine.StatusSucceeded, FinishedAt: time.Now().UTC()}
	if _, err := q.Report(t.Context(), end, after.sequence); err != nil {
		t.Errorf("the end of what runs is refused: %v", err)
	}
	if got := stream(t, q, "RESULTS"); got.Messages != before.Messages+1 {
		t.Errorf("RESULTS holds %d messages, want %d", got.Messages, before.Messages+1)
	}
	acknowledgeAll(t, q)
	maintaining, stopMaintaining := context.WithCancel(t.Context())
	maintained := make(chan error, 1)
	go func() { maintained <- q.Maintain(maintaining, func() bool { return true }) }()
	select {
	case wasFull := <-given:
		if wasFull {
			t.Error("a task was taken although the results were full")
		}
	case <-time.After(30 * time.Second):
		t.Error("the task is not taken once there is room")
	}
	stopMaintaining()
	stopPulling()
	for _, end := range []chan error{maintained, ended} {
		if err := <-end; err != nil {
			t.Error(err)
		}
	}
}

func full(t *testing.T, q *Queue) bool {
	t.Helper()
	s := stream(t, q, "RESULTS")
	return s.Full()
}

// After a power cut a floor may name messages that RESULTS has lost, and gives the same numbers to others.
func TestTrimLeavesWhatAFloorOfLostMessagesCovers(t *testing.T) {
	t.Parallel()
	q := embedded(t, Config{})
	stop := acknowledgeAll(t, q)
	first := claimed(t, q)
	eventually(t, "it is acknowledged", func() bool {
		floors, err := q.floors.all(t.Context())
		return err == nil && len(floors) == engine.Shards && floors[first.Shard].Sequence > 0
	})
	stop()
	for number := range engine.Shards { // as if messages of before a power cut had had these numbers
		if _, err := q.publish(t.Context(), q.floors.message(number, floor{Sequence: 3, At: time.Now().Add(-time.Hour)}), nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		claimed(t, q)
	}
	for i := range 3 {
		if _, err := q.Trim(t.Context(), time.Now().Add(time.Duration(2*(i+1))*q.config.ClaimWindow)); err != nil {
			t.Fatal(err)
		}
	}
	if got := stream(t, q, "RESULTS").Messages; got < 4 {
		t.Errorf("RESULTS holds %d messages: some of 4 that no engine has seen are gone", got)
	}
}
