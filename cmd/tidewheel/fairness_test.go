package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/executor/process"
	"github.com/tidewheel/tidewheel/queue/jetstream"
	"github.com/tidewheel/tidewheel/signing"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/memory"
)

// A run waits behind a window of another namespace, and not behind all that this has queued. How many that are changes nothing: of
// 5,000 runs as of 100,000 those beyond the window are with the engine.
func TestRunOfAnotherNamespaceDoesNotWaitForABacklog(t *testing.T) {
	const jobs, each, slots, window = 5, engine.MaxBackfill, 4, 256
	ctx, cancel := context.WithCancel(t.Context())
	nats, err := jetstream.StartServer(ctx, jetstream.ServerConfig{StoreDir: t.TempDir(), Logger: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nats.Shutdown() }()
	own, err := signing.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	var keys signing.Ring
	keys.Use(own)
	queue, err := jetstream.Connect(ctx, jetstream.Config{Server: nats, Keys: &keys, Logger: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	store, now := memory.New(), time.Now().UTC().Truncate(time.Minute)
	put := func(command engine.Command) {
		t.Helper()
		if err := store.PutCommand(ctx, command); err != nil {
			t.Fatal(err)
		}
	}
	for i := range jobs {
		job := pausedJob(t, store, "crowded", fmt.Sprintf("many%d", i))
		put(engine.Command{
			ID: job.UID + "-backfill", Shard: job.Shard, Kind: engine.CommandBackfill, JobUID: job.UID, At: now, From: now.Add(-each * time.Second), To: now,
		})
	}
	single := pausedJob(t, store, "quiet", "single")

	shards := make([]int, engine.Shards)
	for i := range shards {
		shards[i] = i
	}
	runner := shard.NewRunner(shard.DefaultConfig(), store, queue, shards, testLog(t), nil)
	order := &startOrder{seen: make(chan struct{})}
	worker := executor.New(executor.Config{
		ID: "x", Tiers: []spec.Tier{spec.TierLight, spec.TierMedium, spec.TierHeavy}, Slots: slots, CacheDir: t.TempDir(), Runner: order,
	}, queue, emptyPrograms{}, testLog(t), nil)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	work.Go(func() { _ = runner.Run(ctx) }) // it ends with the test
	queued := func(n int) func() bool {
		return func() bool { stats := runner.Stats(); return stats.Runs == n && stats.Unwritten == 0 }
	}
	until(t, "all runs are queued", queued(jobs*each))
	run := engine.Run{
		ID: engine.ManualRunID(single.UID, "now"), Namespace: "quiet", JobUID: single.UID, Job: "single", Shard: single.Shard,
		Trigger: engine.TriggerManual, Status: engine.StatusScheduled, CreatedAt: time.Now().UTC(),
	}
	put(engine.Command{ID: engine.StartCommand(run.ID), Shard: run.Shard, Kind: engine.CommandStart, JobUID: run.JobUID, RunID: run.ID, Run: &run, At: run.CreatedAt})
	until(t, "the run of the other namespace is queued", queued(jobs*each+1))
	work.Go(func() { _ = worker.Run(ctx) }) // it ends with the test
	select {
	case <-order.seen:
	case <-ctx.Done():
	}
	if before := order.before(); before > window+4*slots {
		t.Errorf("the run of the other namespace started after %d others", before)
	}
}

func pausedJob(t *testing.T, store *memory.Store, namespace, name string) engine.Job {
	t.Helper()
	definition := spec.Job{
		Kind: spec.KindJob, Name: name, Binary: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		Schedule: spec.Strings{"* * * * * *"}, Overlap: spec.OverlapAllow, Interpreter: "/bin/true", Env: map[string]string{"WHO": name},
	}
	definition.ApplyDefaults()
	now := time.Now().UTC().Truncate(time.Millisecond)
	job := engine.Job{
		UID: name, Namespace: namespace, Name: name, Shard: engine.ShardOf(name), Spec: definition, Generation: 1, Revision: 1, Pending: true,
		Paused: true, PausedAt: now, CreatedAt: now, UpdatedAt: now,
	}
	if err := store.Jobs().Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	return job
}

// startOrder counts the programs that begin before that of the single job; all end at once.
type startOrder struct {
	mu     sync.Mutex
	others int
	done   bool
	seen   chan struct{}
}

func (s *startOrder) Start(command process.Command, _, _ io.Writer) (executor.Running, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.done:
	case strings.Contains(strings.Join(command.Env, "\n"), "WHO=single"):
		s.done = true
		close(s.seen)
	default:
		s.others++
	}
	return endedAtOnce{time.Now()}, nil
}

func (s *startOrder) before() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.others
}

type endedAtOnce struct{ at time.Time }

func (endedAtOnce) Wait() process.Exit    { return process.Exit{} }
func (endedAtOnce) Signal(syscall.Signal) {}
func (endedAtOnce) Kill()                 {}
func (e endedAtOnce) Started() time.Time  { return e.at }

// emptyPrograms has one program, of no bytes.
type emptyPrograms struct{ executor.Blobs }

func (emptyPrograms) GetBinary(context.Context, string) (io.ReadCloser, int64, error) {
	return io.NopCloser(strings.NewReader("")), 0, nil
}

// until waits until something holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for tick := time.Tick(20 * time.Millisecond); !holds(); {
		select {
		case <-tick:
		case <-t.Context().Done():
			t.Fatalf("the test ended before %s", what)
		}
	}
}
