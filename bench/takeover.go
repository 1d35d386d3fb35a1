package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/queue/jetstream"
	"github.com/tidewheel/tidewheel/signing"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/mongo"
)

const (
	probeRate   = 100              // runs a second that are watched, spread over all shards
	probeLead   = 45 * time.Second // from the start of a round to the first of them
	probeSpan   = 20 * time.Second
	beforeEnd   = 5 * time.Second // of probes before an engine ends, to compare with
	waitingJobs = 250             // jobs that the runs in flight are of
	lateBy      = 50 * time.Millisecond
)

// takeover measures what the end of an engine delays. Two engines are processes of their own and have 32 shards each; a
// number of runs is in flight, waiting for executors that are not there. The runs that are watched are due every 10 ms,
// on all shards, and count as fired when the one executor, in this process, is given them.
func (b *bench) takeover(ctx context.Context, inFlight int) error {
	if b.mongodb == "" {
		return errors.New("engines cannot share a SQLite: name a server with -mongodb-uri, such as that of store/mongo/mongotest/cmd/mongotest")
	}
	for _, ending := range []struct {
		name, budget string
		signal       syscall.Signal
	}{
		{"kill -9", "all shards again within the lease's 5 s + 1 s", syscall.SIGKILL},
		{"SIGTERM", "no run of the shards that move delayed by more than 100 ms", syscall.SIGTERM},
	} {
		text, err := b.takeoverRound(ctx, ending.signal, inFlight)
		if err != nil {
			return fmt.Errorf("%s: %w", ending.name, err)
		}
		b.print(fmt.Sprintf("an engine of two ends by %s, %d runs in flight", ending.name, inFlight), text,
			ending.budget+"; no run of the other shards by more than 50 ms")
	}
	return nil
}

func (b *bench) takeoverRound(ctx context.Context, signal syscall.Signal, inFlight int) (text string, err error) {
	dir, err := b.folder()
	if err != nil {
		return "", err
	}
	log := slog.New(slog.DiscardHandler)
	database := "bench_" + rand.Text()
	store, err := mongo.Open(ctx, b.mongodb, mongo.Config{Logger: log, Database: database})
	if err != nil {
		return "", err
	}
	defer func() {
		last := context.WithoutCancel(ctx)
		err = errors.Join(err, store.Drop(last), store.Close(last))
	}()
	nats, err := jetstream.StartServer(ctx, jetstream.ServerConfig{
		StoreDir: filepath.Join(dir, "nats"), Listen: "127.0.0.1:0", Logger: log,
	})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, nats.Shutdown()) }()
	taskKeys := filepath.Join(dir, "task-keys.pem")
	own, err := newTaskKeys(taskKeys)
	if err != nil {
		return "", err
	}
	var keys signing.Ring
	keys.Use(own)
	queue, err := jetstream.Connect(ctx, jetstream.Config{Server: nats, Keys: &keys, Logger: log})
	if err != nil {
		return "", err
	}
	defer queue.Close()

	first := time.Now().Add(probeLead).Truncate(time.Millisecond).UTC()
	if err := takeoverJobs(ctx, store, first, inFlight); err != nil {
		return "", err
	}
	uri, err := withDatabase(b.mongodb, database)
	if err != nil {
		return "", err
	}
	fired := &firings{}
	worker := executor.New(executor.Config{
		ID: "bench", Tiers: []spec.Tier{spec.TierLight}, Slots: 10 * probeRate, CacheDir: filepath.Join(dir, "cache"), Runner: nothing{},
	}, &firingQueue{queue, fired}, noBlobs{}, log, nil)
	running, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() { _ = worker.Run(running) })
	group.Go(func() { fired.watchTimers(running) })

	engines := make(map[int]*server, 2) // by process
	for _, name := range []string{"one", "two"} {
		folder := filepath.Join(dir, name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			return "", err
		}
		s, _, err := startServer(ctx, b.binary, filepath.Join(folder, "data"),
			"--roles", "engine,web", "--mongodb-uri", uri, "--nats-url", nats.URL(), "--task-keys-file", taskKeys, "--retention", "0")
		if err != nil {
			return "", err
		}
		engines[s.pid()] = s
		defer func() { _ = s.stop() }() // one of them has ended by then
	}
	if err := awaitLoad(ctx, queue, inFlight, first); err != nil {
		return "", err
	}

	if err := sleepUntil(ctx, first.Add(beforeEnd)); err != nil {
		return "", err
	}
	moved, pid, err := shardsOf(ctx, queue)
	if err != nil {
		return "", err
	}
	ended := time.Now()
	if err := engines[pid].command.Process.Signal(signal); err != nil {
		return "", err
	}
	if err := sleepUntil(ctx, first.Add(probeSpan)); err != nil {
		return "", err
	}
	return fired.report(moved, first, ended), nil
}

// newTaskKeys makes the keys that the engines sign tasks with, in a file for them.
func newTaskKeys(path string) (*signing.Keys, error) {
	keys, err := signing.NewKeys()
	if err != nil {
		return nil, err
	}
	text, err := keys.PrivateText()
	if err != nil {
		return nil, err
	}
	return keys, os.WriteFile(path, text, 0o600)
}

// takeoverJobs registers the jobs whose runs are watched, each once, and those of which runs wait for executors.
func takeoverJobs(ctx context.Context, store *mongo.Store, first time.Time, inFlight int) error {
	waiting, err := pausedJobs(ctx, store, waitingJobs, spec.TierHeavy)
	if err != nil {
		return err
	}
	if err := backfillAll(ctx, store, waiting, first.Add(-probeLead), inFlight/waitingJobs); err != nil {
		return err
	}
	return createJobs(ctx, store, probeRate*int(probeSpan/time.Second), func(i int) spec.Job {
		at := first.Add(time.Duration(i) * time.Second / probeRate)
		return spec.Job{Name: "probe-" + strconv.Itoa(i), Tier: spec.TierLight, Binary: "sha256:" + digestOfNothing, At: &at}
	})
}

// awaitLoad returns once two engines have the same number of shards each and the runs in flight wait in the queue, or in the
// engines, which let a part of them into it.
func awaitLoad(ctx context.Context, queue *jetstream.Queue, inFlight int, until time.Time) error {
	for {
		queued, shards := 0, 0
		depths, err := queue.Depths(ctx)
		if err != nil {
			return err
		}
		for _, depth := range depths {
			if depth.Tier == spec.TierHeavy {
				queued += int(depth.Waiting)
			}
		}
		engines, err := queue.Engines(ctx)
		if err != nil {
			return err
		}
		even := len(engines) == 2
		for _, e := range engines {
			shards += e.Shards
			for _, held := range e.Held {
				queued += held.Runs
			}
			even = even && e.Shards == engine.Shards/2
		}
		if even && queued >= inFlight/waitingJobs*waitingJobs {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("%d engines with %d shards and %d runs in flight were there in time: the machine is too busy", len(engines), shards, queued)
		}
		if err := sleepUntil(ctx, time.Now().Add(200*time.Millisecond)); err != nil {
			return err
		}
	}
}

// shardsOf returns the shards of one of the engines, and its process: that of the engine that began last.
func shardsOf(ctx context.Context, queue *jetstream.Queue) (shards []bool, pid int, err error) {
	engines, err := queue.Engines(ctx)
	if err != nil {
		return nil, 0, err
	}
	if len(engines) == 0 {
		return nil, 0, errors.New("no engine is there")
	}
	last := slices.MaxFunc(engines, func(a, b engine.EnginePresence) int { return a.Since.Compare(b.Since) })
	owners, err := queue.ShardOwners(ctx)
	if err != nil {
		return nil, 0, err
	}
	shards = make([]bool, engine.Shards)
	for i, owner := range owners {
		shards[i] = owner == last.ID
	}
	return shards, last.PID, nil
}

// withDatabase returns the connection string of another database of the same server.
func withDatabase(uri, database string) (string, error) {
	parsed, err := url.Parse(uri)
	if err != nil {
		return "", err
	}
	parsed.Path = "/" + database
	return parsed.String(), nil
}

// firingQueue notes when the executor is given a run.
type firingQueue struct {
	*jetstream.Queue
	fired *firings
}

func (q *firingQueue) Pull(ctx context.Context, config executor.PullConfig, handle func(executor.Delivery)) error {
	return q.Queue.Pull(ctx, config, func(d executor.Delivery) {
		now := time.Now()
		if task, err := d.Task(); err == nil {
			q.fired.note(firing{shard: task.Shard, slot: task.Slot, at: now})
		}
		handle(d)
	})
}

// firings are the runs that are watched, and how late timers of this process were meanwhile: what is late by no more than
// they are says nothing of the engines.
type firings struct {
	mu     sync.Mutex
	all    []firing
	timers []firing
}

type firing struct {
	shard    int
	slot, at time.Time
}

func (f *firings) note(one firing) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, one)
}

// watchTimers notes how late a timer of every 10 ms is.
func (f *firings) watchTimers(ctx context.Context) {
	for {
		due := time.Now().Add(10 * time.Millisecond)
		if sleepUntil(ctx, due) != nil {
			return
		}
		f.mu.Lock()
		f.timers = append(f.timers, firing{slot: due, at: time.Now()})
		f.mu.Unlock()
	}
}

// report prints how the shards that moved came back, and what that did to the others.
func (f *firings) report(moved []bool, first, ended time.Time) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var movedBefore, movedDelays, before, during sample
	fired := map[int]bool{} // by shard
	for _, one := range f.all {
		switch {
		case !moved[one.shard]:
		case one.slot.Before(ended.Add(-time.Second / probeRate)):
			movedBefore = append(movedBefore, one.at.Sub(one.slot))
		default:
			fired[one.shard] = true
		}
	}
	again := map[int]time.Duration{} // by shard with runs that were late: from the end of the engine to the first of these
	for _, one := range f.all {
		since, late := one.at.Sub(ended), one.at.Sub(one.slot) > lateBy
		if moved[one.shard] && !one.slot.Before(ended) && late && (again[one.shard] == 0 || since < again[one.shard]) {
			again[one.shard] = since
		}
	}
	var fires sample
	for _, since := range again {
		fires = append(fires, since)
	}
	over := ended.Add(fires.at(1) + time.Second) // what the take-over has put off is done by then
	for _, one := range f.all {
		switch delay, early := one.at.Sub(one.slot), one.slot.Before(ended.Add(-time.Second/probeRate)); {
		case one.slot.After(over):
		case moved[one.shard] && early: // above
		case moved[one.shard]:
			movedDelays = append(movedDelays, delay)
		case early:
			before = append(before, delay)
		default:
			during = append(during, delay)
		}
	}
	var timersBefore, timersDuring sample
	for _, one := range f.timers {
		switch {
		case one.slot.Before(first), one.slot.After(over):
		case one.slot.Before(ended):
			timersBefore = append(timersBefore, one.at.Sub(one.slot))
		default:
			timersDuring = append(timersDuring, one.at.Sub(one.slot))
		}
	}
	shards := 0
	for _, is := range moved {
		if is {
			shards++
		}
	}
	return fmt.Sprintf("%d of %d shards that moved fired again; %d had runs that were late by more than %s, and fired p50 %s, max %s after the end: by max %s (before: %s)\n"+
		"    runs of the other shards, slot to delivered: before %s; during %s; %+.2f ms at p99, %+.2f ms at max\n"+
		"    the machine: timers of 10 ms were late by %s before; %s during",
		len(fired), shards, len(fires), milliseconds(lateBy), milliseconds(fires.at(0.5)), milliseconds(fires.at(1)), milliseconds(movedDelays.at(1)), milliseconds(movedBefore.at(1)),
		before.percentiles(), during.percentiles(), difference(during, before, 0.99), difference(during, before, 1),
		timersBefore.percentiles(), timersDuring.percentiles())
}

// percentiles is for what is printed.
func (s sample) percentiles() string {
	return fmt.Sprintf("p50 %s, p99 %s, max %s (%d)", milliseconds(s.at(0.5)), milliseconds(s.at(0.99)), milliseconds(s.at(1)), len(s))
}

// difference is that of a share of two samples, in milliseconds.
func difference(of, from sample, share float64) float64 {
	return float64(of.at(share)-from.at(share)) / float64(time.Millisecond)
}
