package jetstream

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/spec"
)

func benchQueue(b *testing.B) *Queue {
	b.Helper()
	log := slog.New(slog.NewTextHandler(b.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	server, err := StartServer(b.Context(), ServerConfig{StoreDir: b.TempDir(), Logger: log})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := server.Shutdown(); err != nil {
			b.Error(err)
		}
	})
	q, err := Connect(b.Context(), Config{Keys: testKeys, Server: server, Logger: log})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(q.Close)
	return q
}

func benchTask(i int) *engine.Task {
	uid := fmt.Sprintf("bench%011d", i)
	run := engine.SlotRunID(uid, time.UnixMilli(1_700_000_000_000))
	return &engine.Task{
		Run: run, Attempt: 1, Shard: i % engine.Shards, JobUID: uid, Namespace: "default", Job: "bench", Lock: uid,
		Tier: spec.TierLight, Class: spec.ClassStandard, Digest: "sha256", Kind: "elf", Args: []string{"-n", "1"},
		QueuedAt: time.Now(), Timeout: time.Minute, Grace: time.Second,
	}
}

// cpu is what this process, server and clients together, has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func reportCPU(b *testing.B, before time.Duration) {
	b.Helper()
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
}

func BenchmarkPublish(b *testing.B) { benchPublish(b, benchQueue(b)) }

func benchPublish(b *testing.B, q *Queue) {
	var done sync.WaitGroup
	var failed atomic.Pointer[error]
	window := make(chan struct{}, 4096)
	b.ReportAllocs()
	before := cpu(b)
	for i := 0; b.Loop(); i++ {
		done.Add(1)
		window <- struct{}{}
		q.Publish(benchTask(i), func(err error) {
			if err != nil {
				failed.Store(&err)
			}
			<-window
			done.Done()
		})
	}
	done.Wait()
	reportCPU(b, before)
	reportStored(b, q, q.names.tasks, "task", 0)
	if err := failed.Load(); err != nil {
		b.Fatal(*err)
	}
}

// reportStored reports how many messages a stream has taken for each run, and how large they are on the disk, of one replica.
func reportStored(b *testing.B, q *Queue, stream, unit string, before uint64) {
	b.Helper()
	state := stateOf(b, q, stream)
	b.ReportMetric(float64(state.LastSeq-before)/float64(b.N), unit+"-msgs/op")
	if state.Msgs > 0 {
		b.ReportMetric(float64(state.Bytes)/float64(state.Msgs), "B/"+unit+"-msg")
	}
}

func BenchmarkLockPair(b *testing.B) {
	q := benchQueue(b)
	holder := executor.LockHolder{Run: "run", Attempt: 1, Executor: "bench"}
	var next atomic.Int64
	before := cpu(b)
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			key := fmt.Sprintf("key%d", next.Add(1))
			token, err := q.Lock(b.Context(), key, holder, 30*time.Second)
			if err == nil {
				err = q.Unlock(b.Context(), key, token)
			}
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
	reportCPU(b, before)
}

// BenchmarkWholePath is all that the queue does for a run: publish, deliver, lock, claim, acknowledge, finish, unlock,
// and both results delivered and acknowledged; with so many runs at once. Clients and server are this process, so that
// cpu-µs/op is all that a run costs, and a profile shows both:
//
//	go test -run '^$' -bench WholePath/256 -benchtime 60000x -cpuprofile cpu.out ./queue/jetstream
//
// On a machine that does other things too compare two builds by the least of several rounds, one after the other.
func BenchmarkWholePath(b *testing.B) {
	for _, slots := range []int{64, 256} {
		b.Run(fmt.Sprint(slots), func(b *testing.B) { benchWholePath(b, benchQueue(b), slots) })
	}
}

func benchWholePath(b *testing.B, q *Queue, slots int) {
	ctx, cancel := context.WithCancel(b.Context())
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	finished := make(chan int, 4096)
	for i := range engine.Shards {
		background.Go(func() {
			_ = q.Results(ctx, i, func(d shard.Delivery) {
				count := 0
				for _, result := range d.Results {
					if result.Kind == engine.ResultFinished {
						count++
					}
				}
				if err := d.Ack(); err != nil {
					b.Error(err)
				}
				finished <- count
			})
		})
	}
	background.Go(func() {
		_ = q.Pull(ctx, executor.PullConfig{Executor: "bench", Tiers: []spec.Tier{spec.TierLight}, Slots: slots}, func(d executor.Delivery) {
			if err := benchRun(ctx, q, d); err != nil && ctx.Err() == nil {
				b.Error(err)
			}
		})
	})
	window := make(chan struct{}, 2000)
	locked := stateOf(b, q, "KV_"+q.names.locks).LastSeq // tokens do not begin at zero
	b.ResetTimer()
	before := cpu(b)
	background.Go(func() {
		for i := range b.N {
			window <- struct{}{}
			q.Publish(benchTask(i), func(err error) {
				if err != nil {
					b.Error(err)
				}
			})
		}
	})
	for left := b.N; left > 0; {
		count := <-finished
		left -= count
		for range count {
			<-window
		}
	}
	reportCPU(b, before)
	reportStored(b, q, q.names.results, "result", 0)
	reportStored(b, q, "KV_"+q.names.locks, "lock", locked)
}

func stateOf(b *testing.B, q *Queue, stream string) jetstream.StreamState {
	b.Helper()
	found, err := q.js.Stream(b.Context(), stream)
	if err != nil {
		b.Fatal(err)
	}
	return found.CachedInfo().State
}

// BenchmarkCluster is the same on three servers that form a cluster, all on this machine, with one and with three
// replicas of everything. The machine's cores and disk are shared by the three.
//
//	go test -run '^$' -bench Cluster -benchtime 20000x ./queue/jetstream
func BenchmarkCluster(b *testing.B) {
	for _, replicas := range []int{1, 3} {
		b.Run(fmt.Sprintf("publish/R%d", replicas), func(b *testing.B) { benchPublish(b, clusterQueue(b, replicas)) })
		b.Run(fmt.Sprintf("whole/R%d", replicas), func(b *testing.B) { benchWholePath(b, clusterQueue(b, replicas), 256) })
	}
}

func clusterQueue(b *testing.B, replicas int) *Queue {
	b.Helper()
	first := startMember(b, "one", &url.URL{Scheme: "nats", Host: "127.0.0.1:1"}) // one without any route is no cluster
	route := &url.URL{Scheme: "nats", Host: first.ClusterAddr().String()}
	startMember(b, "two", route)
	startMember(b, "three", route)
	log := slog.New(slog.NewTextHandler(b.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	q, err := Connect(b.Context(), Config{Keys: testKeys, URL: first.ClientURL(), Replicas: replicas, Logger: log})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(q.Close)
	return q
}

func benchRun(ctx context.Context, q *Queue, d executor.Delivery) error {
	task, err := d.Task()
	if err != nil {
		return err
	}
	holder := executor.LockHolder{Run: task.Run, Attempt: task.Attempt, Executor: "bench"}
	token, err := q.Lock(ctx, task.Lock, holder, 30*time.Second)
	if err != nil {
		return err
	}
	result := engine.Result{Kind: engine.ResultStarted, Run: task.Run, Attempt: task.Attempt, Shard: task.Shard, Executor: "bench", Token: token, At: time.Now()}
	sequence, err := q.Claim(ctx, result)
	if err != nil {
		return err
	}
	if err := d.Ack(); err != nil {
		return err
	}
	result.Kind, result.Finish = engine.ResultFinished, &engine.Finish{Status: engine.StatusSucceeded, FinishedAt: time.Now()}
	if _, err := q.Report(ctx, result, sequence); err != nil {
		return err
	}
	return q.Unlock(ctx, task.Lock, token)
}

// BenchmarkDelivery is the time from Publish to the handle of an idle executor.
func BenchmarkDelivery(b *testing.B) {
	q := benchQueue(b)
	ctx, cancel := context.WithCancel(b.Context())
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	arrived := make(chan time.Time, 1)
	background.Go(func() {
		_ = q.Pull(ctx, executor.PullConfig{Executor: "bench", Tiers: []spec.Tier{spec.TierLight}, Slots: 8}, func(d executor.Delivery) {
			at := time.Now()
			if err := d.Ack(); err != nil {
				b.Error(err)
			}
			arrived <- at
		})
	})
	var lags []time.Duration
	for i := 0; b.Loop(); i++ {
		task := benchTask(i)
		begun := time.Now()
		q.Publish(task, func(err error) {
			if err != nil {
				b.Error(err)
			}
		})
		lags = append(lags, (<-arrived).Sub(begun))
	}
	reportQuantiles(b, lags)
}

// BenchmarkResult is the time from Report to the shard's handle, when nothing else runs.
func BenchmarkResult(b *testing.B) {
	q := benchQueue(b)
	ctx, cancel := context.WithCancel(b.Context())
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	arrived := make(chan time.Time, 1)
	background.Go(func() {
		_ = q.Results(ctx, 7, func(d shard.Delivery) {
			at := time.Now()
			if err := d.Ack(); err != nil {
				b.Error(err)
			}
			arrived <- at
		})
	})
	var lags []time.Duration
	for i := 0; b.Loop(); i++ {
		result := engine.Result{Kind: engine.ResultStarted, Run: fmt.Sprintf("run-%d", i), Attempt: 1, Shard: 7, Executor: "bench", At: time.Now()}
		begun := time.Now()
		if _, err := q.Claim(ctx, result); err != nil {
			b.Fatal(err)
		}
		lags = append(lags, (<-arrived).Sub(begun))
	}
	reportQuantiles(b, lags)
}

func reportQuantiles(b *testing.B, lags []time.Duration) {
	b.Helper()
	slices.Sort(lags)
	b.ReportMetric(float64(lags[len(lags)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(lags[len(lags)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkBurst is the time from the first of 1,000 publishes to the last delivery.
func BenchmarkBurst(b *testing.B) {
	const burst = 1000
	q := benchQueue(b)
	ctx, cancel := context.WithCancel(b.Context())
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	arrived := make(chan struct{}, burst)
	background.Go(func() {
		_ = q.Pull(ctx, executor.PullConfig{Executor: "bench", Tiers: []spec.Tier{spec.TierLight}, Slots: 2 * burst}, func(d executor.Delivery) {
			if err := d.Ack(); err != nil {
				b.Error(err)
			}
			arrived <- struct{}{}
		})
	})
	next := 0
	var lags []time.Duration
	for b.Loop() {
		begun := time.Now()
		for range burst {
			next++
			q.Publish(benchTask(next), func(err error) {
				if err != nil {
					b.Error(err)
				}
			})
		}
		for range burst {
			<-arrived
		}
		lags = append(lags, time.Since(begun))
	}
	reportQuantiles(b, lags)
}

// BenchmarkIdle is what an idle engine and executor use: 64 shards and 6 consumers with their requests standing. The
// figure is in thousandths of a core.
func BenchmarkIdle(b *testing.B) {
	q := benchQueue(b)
	ctx, cancel := context.WithCancel(b.Context())
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	for i := range engine.Shards {
		background.Go(func() { _ = q.Results(ctx, i, func(shard.Delivery) {}) })
	}
	background.Go(func() {
		config := executor.PullConfig{Executor: "bench", Tiers: []spec.Tier{spec.TierHeavy, spec.TierMedium, spec.TierLight}, Slots: 8}
		_ = q.Pull(ctx, config, func(executor.Delivery) {})
	})
	pause(ctx, 2*time.Second)
	b.ResetTimer()
	before := cpu(b)
	pause(ctx, 10*time.Second)
	b.ReportMetric(float64((cpu(b)-before).Milliseconds())/10, "millicores")
}
