package executor_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/executor/process"
	"github.com/tidewheel/tidewheel/spec"
)

// nothing is a Runner of programs that have ended before they began.
type nothing struct{}

func (nothing) Start(process.Command, io.Writer, io.Writer) (executor.Running, error) {
	return ended{time.Now()}, nil
}

type ended struct{ at time.Time }

func (e ended) Wait() process.Exit  { return process.Exit{} }
func (e ended) Started() time.Time  { return e.at }
func (ended) Signal(syscall.Signal) {}
func (ended) Kill()                 {}

// still is a Queue that says yes to everything and hands out n tasks.
type still struct {
	task     engine.Task
	left     atomic.Int64
	sequence atomic.Uint64
	done     chan struct{}
	failed   atomic.Int64
	took     time.Duration
	cpu      time.Duration
}

type stillDelivery struct{ task *engine.Task }

func (d stillDelivery) Task() (engine.Task, error)        { return *d.task, nil }
func (stillDelivery) Outlived() bool                      { return false }
func (stillDelivery) Ack() error                          { return nil }
func (stillDelivery) Nak(time.Duration) error             { return nil }
func (stillDelivery) Confirm() string                     { return "" }
func (stillDelivery) Refuse(*executor.RefusedError) error { return nil }

func (q *still) Pull(ctx context.Context, config executor.PullConfig, handle func(executor.Delivery)) error {
	var all sync.WaitGroup
	begin, before := time.Now(), ownCPU()
	for range config.Slots {
		all.Go(func() {
			for {
				n := q.left.Add(-1)
				if n < 0 {
					return
				}
				task := q.task
				task.Run = fmt.Sprintf("uid-s%d", n)
				task.Lock = task.Run
				// As the queue does, a goroutine for each.
				var one sync.WaitGroup
				one.Go(func() { handle(stillDelivery{&task}) })
				one.Wait()
			}
		})
	}
	all.Wait()
	q.took, q.cpu = time.Since(begin), ownCPU()-before
	close(q.done)
	<-ctx.Done()
	return nil
}

func (q *still) Lock(context.Context, string, executor.LockHolder, time.Duration) (uint64, error) {
	return q.sequence.Add(1), nil
}

func (q *still) Refresh(context.Context, string, executor.LockHolder, uint64, time.Duration) (uint64, error) {
	return q.sequence.Add(1), nil
}
func (q *still) Unlock(context.Context, string, uint64) error { return nil }
func (q *still) Claim(context.Context, engine.Result) (uint64, error) {
	return q.sequence.Add(1), nil
}

func (q *still) Report(_ context.Context, result engine.Result, _ uint64) (uint64, error) {
	if result.Finish != nil && result.Finish.Status != engine.StatusSucceeded {
		q.failed.Add(1)
	}
	return q.sequence.Add(1), nil
}
func (q *still) DrainOrder(context.Context, string) (order engine.DrainOrder, left bool, err error) {
	return order, false, nil
}
func (q *still) Controls(ctx context.Context, _ func(engine.Control)) error {
	<-ctx.Done()
	return nil
}
func (q *still) LogFrame(engine.LogFrame) error                                 { return nil }
func (q *still) Announce(context.Context, engine.Presence, time.Duration) error { return nil }

// measure runs n tasks and returns how long that took and what CPU this process used.
func measure(b *testing.B, n int, program []byte, config executor.Config) (took, cpu time.Duration) {
	b.Helper()
	blobs := newBlobs()
	q := &still{done: make(chan struct{}), task: engine.Task{
		Attempt: 1, Job: "bench", Digest: blobs.add(program), Kind: "elf", Timeout: time.Minute, Grace: time.Second,
	}}
	q.left.Store(int64(n))
	config.ID, config.Tiers = "bench", []spec.Tier{spec.TierLight}
	config.WorkDir, config.CacheDir = reachable(b)+"/work", reachable(b)+"/cache"
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- executor.New(config, q, blobs, discard, nil).Run(ctx) }()
	<-q.done
	took, cpu = q.took, q.cpu // not with the executor's own start and end
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	if n := q.failed.Load(); n > 0 {
		b.Fatalf("%d runs failed", n)
	}
	return took, cpu
}

func ownCPU() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// All that the executor does for a run but the process and the queue.
func BenchmarkPathWithoutProcess(b *testing.B) {
	_, cpu := measure(b, b.N, []byte("\x7fELF"), executor.Config{Slots: 2, Runner: nothing{}})
	b.ReportMetric(float64(cpu.Microseconds())/float64(b.N), "cpu-µs/run")
}

// Real programs against the machine's own rate of fork, exec, read to the end and wait, two at once, in turns.
func BenchmarkTrue(b *testing.B) {
	program, err := os.ReadFile("/bin/true")
	if err != nil {
		b.Skip(err)
	}
	for name, config := range map[string]executor.Config{
		"nobody":           {Slots: 2},
		"root":             {Slots: 2, AllowRoot: true},
		"without cgroups":  {Slots: 2, NoCgroups: true},
		"root, no cgroups": {Slots: 2, AllowRoot: true, NoCgroups: true},
	} {
		b.Run(name, func(b *testing.B) {
			config.Guardian = []string{"/proc/self/exe", "__guard"}
			var ours, bare, cpu time.Duration
			for done := 0; done < b.N; done += 200 {
				n := min(200, b.N-done)
				bare += bareLoop(b, n)
				took, used := measure(b, n, program, config)
				ours, cpu = ours+took, cpu+used
			}
			b.ReportMetric(float64(b.N)/ours.Seconds(), "runs/s")
			b.ReportMetric(float64(b.N)/bare.Seconds(), "bare/s")
			b.ReportMetric(100*bare.Seconds()/ours.Seconds(), "%of-bare")
			b.ReportMetric(float64(cpu.Microseconds())/float64(b.N), "cpu-µs/run")
		})
	}
}

// bareLoop is the least that starting a program and reading its output costs.
func bareLoop(b *testing.B, n int) time.Duration {
	null, err := os.Open(os.DevNull)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	var left atomic.Int64
	left.Store(int64(n))
	begin := time.Now()
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			var buffer [512]byte
			for left.Add(-1) >= 0 {
				var pipe [2]int
				if err := unix.Pipe(pipe[:]); err != nil {
					b.Error(err)
					return
				}
				unix.CloseOnExec(pipe[0])
				unix.CloseOnExec(pipe[1])
				pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{
					Env: []string{"PATH=/bin"}, Files: []uintptr{null.Fd(), uintptr(pipe[1]), uintptr(pipe[1])},
				})
				unix.Close(pipe[1])
				if err != nil {
					b.Error(err)
					return
				}
				for {
					if n, err := unix.Read(pipe[0], buffer[:]); n == 0 || (err != nil && err != unix.EINTR) {
						break
					}
				}
				unix.Close(pipe[0])
				_, _ = syscall.Wait4(pid, nil, 0, nil)
			}
		})
	}
	all.Wait()
	return time.Since(begin)
}

// A program that prints a gigabyte.
func BenchmarkOutput(b *testing.B) {
	r := newRig(b)
	const size = 256 << 20
	b.SetBytes(size)
	for b.Loop() {
		task := r.task(fmt.Sprintf("head -c %d /dev/zero", size))
		if finish := r.run(task); finish.Output.Size != size {
			b.Fatalf("%+v", finish.Output)
		}
	}
}
