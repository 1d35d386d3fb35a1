package chaos

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// A NATS that comes back as it was before has lost claims, locks and acknowledgements, as after a power cut: it gives the tasks
// again while their programs run. What may begin once does not begin again; the other job shows that the tasks did come again.
func TestNATSThatForgetsBeginsNothingASecondTimeThatMayBeginOnce(t *testing.T) {
	t.Parallel()
	w := newWitnessed(t, Config{Executors: 2, Slots: 4, LockTTL: 6 * time.Second, Drain: time.Second}, longJobs)
	for _, executor := range w.executors {
		executor.signal(syscall.SIGSTOP, 0)
	}
	again, once := w.run("again"), w.run("once")
	w.until(func(ctx context.Context) (bool, error) { // both tasks are in the queue
		queues, err := w.api.Queues(ctx)
		tasks := uint64(0)
		for _, queue := range queues {
			tasks += queue.Waiting
		}
		return tasks == 2, err
	})
	store, before := filepath.Join(w.dir, partNATS, "store"), filepath.Join(w.dir, partNATS, "before")
	w.nats.signal(syscall.SIGSTOP, 0)
	if err := os.CopyFS(before, os.DirFS(store)); err != nil {
		t.Fatal(err)
	}
	w.nats.signal(syscall.SIGCONT, 0)
	for _, executor := range w.executors {
		executor.signal(syscall.SIGCONT, 0)
	}
	began := map[string]bool{}
	for len(began) < 2 {
		if l := <-w.lines; l.what == "start" {
			began[l.run] = true
		}
	}
	w.until(func(ctx context.Context) (bool, error) { // the engine has written down who runs it
		run, err := w.api.Run(ctx, once)
		return run.Status == engine.StatusRunning, err
	})

	w.nats.signal(syscall.SIGKILL, 2*time.Second)
	for w.nats.id() != 0 {
		<-w.lines // a beat of the programs
	}
	for _, move := range [][2]string{{store, store + ".lost"}, {before, store}} {
		if err := os.Rename(move[0], move[1]); err != nil {
			t.Fatal(err)
		}
	}

	run := w.ended(once)
	if run.Status != engine.StatusLost || run.Attempt != 1 || run.Reason == "" {
		t.Errorf("what may begin once is %s at attempt %d: %s", run.Status, run.Attempt, run.Reason)
	}
	starts := map[string]int{again: 1, once: 1}
	for starts[again] < 2 {
		select {
		case l := <-w.lines:
			if l.what == "start" {
				starts[l.run]++
			}
		case <-time.After(waitLimit):
			t.Fatal("the tasks did not come again: this shows nothing")
		}
	}
	if starts[once] != 1 {
		t.Errorf("what may begin once began %d times", starts[once])
	}
}
