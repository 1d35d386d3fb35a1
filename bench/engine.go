package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/executor/process"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

// engine measures the whole path of a run but for the process: plan, publish, lock, claim, acknowledge, report, unlock,
// every write durable, engine and executor in this process on the embedded store and queue.
func (b *bench) engine(ctx context.Context, jobs, each int) error {
	var uids []string
	counter := &finishCounter{want: jobs * each, all: make(chan struct{})}
	return b.inProcess(ctx, roles{
		slots: 256, observer: counter,
		register: func(ctx context.Context, store engineStore) (err error) {
			uids, err = pausedJobs(ctx, store, jobs, spec.TierLight)
			return err
		},
		measure: func(ctx context.Context, store engineStore, failed <-chan error) error {
			before, began := usage(), time.Now()
			if err := backfillAll(ctx, store, uids, began, each); err != nil {
				return err
			}
			select {
			case <-counter.all:
			case err := <-failed:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
			took, cpu, n := time.Since(began), usage()-before, jobs*each
			b.print("engine path without the process, everything durable, all roles in one process, on "+b.storeName(),
				fmt.Sprintf("%.0f runs/s (%d runs in %.1f s), CPU %.0f µs a run, all roles together",
					float64(n)/took.Seconds(), n, took.Seconds(), micros(cpu, n)),
				"10000 runs/s and 200 µs; design 20000 and 100")
			return nil
		},
	})
}

// backfillAll asks for past slots of each job, one a second.
func backfillAll(ctx context.Context, store engineStore, uids []string, now time.Time, each int) error {
	to := now.Truncate(time.Minute).Add(-time.Minute)
	for _, uid := range uids {
		if err := store.PutCommand(ctx, engine.Command{
			ID: uid + "-backfill", Shard: engine.ShardOf(uid), Kind: engine.CommandBackfill, JobUID: uid, At: now.UTC(),
			From: to.Add(-time.Duration(each) * time.Second), To: to,
		}); err != nil {
			return err
		}
	}
	return nil
}

// pausedJobs registers jobs whose runs may overlap and whose schedule is suspended: only backfills run.
func pausedJobs(ctx context.Context, store engineStore, n int, tier spec.Tier) ([]string, error) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	var uids []string
	for i := range n {
		definition := spec.Job{
			Kind: spec.KindJob, Tier: tier, Name: "nothing-" + strconv.Itoa(i), Binary: "sha256:" + digestOfNothing,
			Schedule: spec.Strings{"* * * * * *"}, Overlap: spec.OverlapAllow, Timeout: spec.Duration(time.Minute),
		}
		definition.ApplyDefaults()
		job := engine.Job{
			UID: service.NewUID(), Namespace: engine.DefaultNamespace, Name: definition.Name, Spec: definition,
			Generation: 1, Revision: 1, Pending: true, Paused: true, PausedAt: now, CreatedAt: now, UpdatedAt: now,
		}
		job.Shard = engine.ShardOf(job.UID)
		if err := store.Jobs().Create(ctx, job); err != nil {
			return nil, err
		}
		uids = append(uids, job.UID)
	}
	return uids, nil
}

// digestOfNothing is the sha256 of zero bytes, which is what noBlobs holds.
const digestOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// usage is the CPU time of this process, user and system.
func usage() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// finishCounter waits for a number of attempts to end.
type finishCounter struct {
	mu   sync.Mutex
	seen int
	want int
	all  chan struct{}
}

func (c *finishCounter) Finished(*engine.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen++; c.seen == c.want {
		close(c.all)
	}
}

// count is how many have ended so far.
func (c *finishCounter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

func (c *finishCounter) Published(*engine.Task, time.Duration) {}
func (c *finishCounter) Committed(int, time.Duration)          {}
func (c *finishCounter) Fenced(int)                            {}

// nothing is a program that ends before it has begun.
type nothing struct{}

func (nothing) Start(process.Command, io.Writer, io.Writer) (executor.Running, error) {
	return ended{at: time.Now()}, nil
}

type ended struct{ at time.Time }

func (e ended) Wait() process.Exit    { return process.Exit{} }
func (e ended) Signal(syscall.Signal) {}
func (e ended) Kill()                 {}
func (e ended) Started() time.Time    { return e.at }

// noBlobs holds the empty program and takes no output.
type noBlobs struct{}

func (noBlobs) GetBinary(context.Context, string) (io.ReadCloser, int64, error) {
	return io.NopCloser(empty{}), 0, nil
}

func (noBlobs) NewLogWriter(context.Context, string, int) (executor.LogWriter, error) {
	return nil, errors.New("no output is expected")
}

func (noBlobs) PutArtifact(context.Context, string, int, string, *io.SectionReader) (string, error) {
	return "", errors.New("no artifact is expected")
}

func (noBlobs) GetArtifact(context.Context, string, int, string, string) (io.ReadCloser, error) {
	return nil, errors.New("no artifact is expected")
}

type empty struct{}

func (empty) Read([]byte) (int, error) { return 0, io.EOF }
