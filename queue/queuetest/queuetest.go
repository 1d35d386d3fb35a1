package queuetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/spec"
)

// Queue is all that a queue does: for engines, for executors and for the web.
type Queue interface {
	shard.Queue
	shard.Leases
	executor.Queue
	PublishWake(ctx context.Context, wake engine.Wake) error
	WatchLog(ctx context.Context, run string, attempt int, handle func(engine.LogFrame)) error
	Executors(ctx context.Context) ([]engine.Presence, error)
	Engines(ctx context.Context) ([]engine.EnginePresence, error)
	ShardOwners(ctx context.Context) ([engine.Shards]string, error)
	OrderDrain(ctx context.Context, executor string, order engine.DrainOrder) error
	Depths(ctx context.Context) ([]engine.QueueDepth, error)
	Ping(ctx context.Context) error
	// Trim forgets what every shard has acknowledged and what is older, at now, than the claim window.
	Trim(ctx context.Context, now time.Time) (uint64, error)
	// SweepPools removes what was kept for labels that no task needs at now.
	SweepPools(ctx context.Context, now time.Time) error
}

// Harness is an empty queue with short waits.
type Harness struct {
	// Connect gives a connection, ended by the test's cleanup.
	Connect func(t *testing.T) Queue
	// Restart ends the queue's server and starts it again with what it had stored; only
	// RunRestarts needs it.
	Restart func(t *testing.T)
	// AckWait is how long a task may stay unacknowledged, ClaimWindow how long results are kept at least.
	AckWait, ClaimWindow time.Duration
}

// Run holds a queue to every promise that needs no restart. open is called once for each.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	run(t, open, tasks, pools, shares, locks, attempts, results, live, leases, drains)
}

// RunRestarts holds a queue whose server can be restarted to what it promises of that.
func RunRestarts(t *testing.T, open func(t *testing.T) Harness) {
	run(t, open, restarts)
}

func run(t *testing.T, open func(t *testing.T) Harness, groups ...map[string]func(*testing.T, Harness)) {
	for _, group := range groups {
		for _, name := range slices.Sorted(maps.Keys(group)) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				group[name](t, open(t))
			})
		}
	}
}

// patience is how long anything may take that should take milliseconds: the machine may be busy.
const patience = 30 * time.Second

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// newTask is an attempt of a run of its own.
func newTask(tier spec.Tier, class spec.Class) *engine.Task {
	uid := strings.ToLower(rand.Text()[:16])
	return &engine.Task{
		Run: engine.SlotRunID(uid, time.UnixMilli(1_800_000_000_000)), Attempt: 1, Shard: engine.ShardOf(uid),
		JobUID: uid, Namespace: "default", Job: "job", Lock: uid, Tier: tier, Class: class, QueuedAt: time.Now().UTC(),
		Digest: "0123", Kind: "elf",
	}
}

// revocation takes the task's first attempt back.
func revocation(task *engine.Task) core.Revoke {
	return core.Revoke{Shard: task.Shard, Run: task.Run, Attempt: 1, Tier: string(task.Tier), Class: string(task.Class), RunsOn: task.RunsOn}
}

func publish(t *testing.T, q Queue, task *engine.Task) {
	t.Helper()
	if err := tryPublish(patient(t), q, task); err != nil {
		t.Fatalf("publish %s: %v", task.Run, err)
	}
}

func tryPublish(ctx context.Context, q Queue, task *engine.Task) error {
	done := make(chan error, 2)
	q.Publish(task, func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// taken is a task that an executor was given. Its handle returns when release is closed.
type taken struct {
	executor.Delivery
	task    engine.Task
	release chan struct{}
}

// finish acknowledges the task and lets its handle return.
func (d *taken) finish(t *testing.T) {
	t.Helper()
	if err := d.Ack(); err != nil {
		t.Fatalf("ack: %v", err)
	}
	close(d.release)
}

// puller is an executor that hands on what it is given.
type puller struct {
	given chan *taken
	stop  func() // ends the pull and waits for it; handles that were not released are let go
}

func pull(t *testing.T, q Queue, slots int, tiers ...spec.Tier) *puller {
	t.Helper()
	return pullAs(t, q, slots, nil, tiers...)
}

// pullAs is pull of an executor with labels.
func pullAs(t *testing.T, q Queue, slots int, labels map[string]string, tiers ...spec.Tier) *puller {
	t.Helper()
	return pullWith(t, q, executor.PullConfig{Executor: "x", Tiers: tiers, Slots: slots, Labels: labels})
}

func pullWith(t *testing.T, q Queue, config executor.PullConfig) *puller {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := &puller{given: make(chan *taken, 10_000)}
	var background sync.WaitGroup
	background.Go(func() {
		err := q.Pull(ctx, config, func(d executor.Delivery) {
			task, err := d.Task()
			if err != nil {
				t.Errorf("read task: %v", err)
			}
			one := &taken{Delivery: d, task: task, release: make(chan struct{})}
			p.given <- one
			select {
			case <-one.release:
			case <-ctx.Done():
			}
		})
		if err != nil {
			t.Errorf("pull: %v", err)
		}
	})
	p.stop = sync.OnceFunc(func() { cancel(); background.Wait() })
	t.Cleanup(p.stop)
	return p
}

func (p *puller) next(t *testing.T) *taken {
	t.Helper()
	select {
	case d := <-p.given:
		return d
	case <-patient(t).Done():
		t.Fatal("no task was delivered")
		return nil
	}
}

// depth is what one tier and class holds.
func depth(t *testing.T, q Queue, tier spec.Tier, class spec.Class) engine.QueueDepth {
	t.Helper()
	depths, err := q.Depths(patient(t))
	if err != nil {
		t.Fatalf("depths: %v", err)
	}
	for _, d := range depths {
		if d.Tier == tier && d.Class == class {
			return d
		}
	}
	t.Fatalf("no depth of %s %s", tier, class)
	return engine.QueueDepth{}
}

// await asks the queue until it says what is waited for. Each question waits for an answer, so that nothing is
// slept for.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx := patient(t)
	for !holds() {
		if ctx.Err() != nil {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// owner is an engine that owns shards.
type owner struct {
	given chan shard.Delivery
	stop  func()
}

func own(t *testing.T, q Queue, numbers ...int) *owner {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	o := &owner{given: make(chan shard.Delivery, 10_000)}
	var background sync.WaitGroup
	for _, number := range numbers {
		background.Go(func() {
			if err := q.Results(ctx, number, func(d shard.Delivery) { o.given <- d }); err != nil {
				t.Errorf("results: %v", err)
			}
		})
	}
	o.stop = sync.OnceFunc(func() { cancel(); background.Wait() })
	t.Cleanup(o.stop)
	return o
}

// take collects results until there are n of them, and the last delivery.
func (o *owner) take(t *testing.T, n int) (all []engine.Result, last shard.Delivery) {
	t.Helper()
	ctx := patient(t)
	for len(all) < n {
		select {
		case last = <-o.given:
			all = append(all, last.Results...)
		case <-ctx.Done():
			t.Fatalf("%d of %d results were delivered", len(all), n)
		}
	}
	return all, last
}

func started(task *engine.Task, executorID string, token uint64) engine.Result {
	return engine.Result{
		Kind: engine.ResultStarted, Run: task.Run, Attempt: task.Attempt, Shard: task.Shard, Executor: executorID,
		Token: token, At: time.Now().UTC(),
	}
}

func finished(claim engine.Result) engine.Result {
	claim.Kind, claim.At = engine.ResultFinished, time.Now().UTC()
	claim.Finish = &engine.Finish{Status: engine.StatusSucceeded, FinishedAt: claim.At}
	return claim
}

func holder(task *engine.Task, executorID string) executor.LockHolder {
	return executor.LockHolder{Run: task.Run, Attempt: task.Attempt, Executor: executorID}
}

func claim(t *testing.T, q Queue, result engine.Result) uint64 {
	t.Helper()
	sequence, err := q.Claim(patient(t), result)
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return sequence
}

func lock(t *testing.T, q Queue, key string, h executor.LockHolder, ttl time.Duration) uint64 {
	t.Helper()
	token, err := q.Lock(patient(t), key, h, ttl)
	if err != nil {
		t.Fatalf("lock: %v", err)
	}
	return token
}

func newProgress(claim engine.Result, n int) engine.Result {
	claim.Kind, claim.At = engine.ResultProgress, claim.At.Add(time.Duration(n)*time.Second)
	claim.Progress = &engine.Progress{Fraction: 0.5, Message: fmt.Sprint(n)}
	return claim
}
