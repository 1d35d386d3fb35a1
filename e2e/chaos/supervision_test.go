package chaos

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// waitLimit bounds every wait of these tests.
const waitLimit = time.Minute

// witnessed is a cluster whose programs are heard at once.
type witnessed struct {
	*cluster
	t     *testing.T
	api   *client.Client
	lines chan line
}

// line is a line of the journal.
type line struct {
	what, run string
	attempt   int
	at        time.Time
}

func newWitnessed(t *testing.T, config Config, jobs string) *witnessed {
	t.Helper()
	w := &witnessed{t: t, cluster: newCluster(t, program, config), lines: make(chan line, 10_000)}
	w.api = w.apis()[0]
	pipe := filepath.Join(w.dir, "lines")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(pipe, 0o666); err != nil { // jobs may run as nobody
		t.Fatal(err)
	}
	file, err := os.OpenFile(pipe, os.O_RDWR, 0) // for writing too: it never ends
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(file); lines.Scan(); {
			words := strings.Fields(lines.Text())
			if len(words) != 5 {
				t.Errorf("a torn line %q", lines.Text())
				continue
			}
			attempt, _ := strconv.Atoi(words[2])
			at, _ := strconv.ParseInt(words[4], 10, 64)
			w.lines <- line{words[0], words[1], attempt, time.Unix(0, at)}
		}
	}()
	t.Cleanup(func() {
		_ = file.Close() // ends the reader
		<-read
	})
	(&workload{}).load(t.Context(), t, w.api, witness, fmt.Sprintf(jobs, pipe))
	return w
}

// run triggers a run.
func (w *witnessed) run(job string) string {
	w.t.Helper()
	run, err := w.api.RunJob(w.t.Context(), job, wire.RunRequest{}, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return run.ID
}

// await reads lines until one of this kind, and returns all that were read.
func (w *witnessed) await(what, run string, attempt int) (found line, before []line) {
	w.t.Helper()
	limit := time.After(waitLimit)
	for {
		select {
		case l := <-w.lines:
			if l.what == what && l.run == run && l.attempt == attempt {
				return l, before
			}
			before = append(before, l)
		case <-limit:
			w.t.Fatalf("attempt %d of %s did not say %q within %s", attempt, run, what, waitLimit)
		}
	}
}

// executorOf finds the part that runs the present attempt of a run.
func (w *witnessed) executorOf(run string) *part {
	w.t.Helper()
	var id string
	w.until(func(ctx context.Context) (bool, error) {
		r, err := w.api.Run(ctx, run)
		if err != nil || len(r.Attempts) == 0 {
			return false, err
		}
		id = r.Attempts[len(r.Attempts)-1].Executor
		return id != "", nil
	})
	executors, err := w.api.Executors(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	at := slices.IndexFunc(executors, func(e wire.Executor) bool { return e.ID == id })
	if at < 0 {
		w.t.Fatalf("there is no executor %s among %+v", id, executors)
	}
	for _, part := range w.executors {
		if part.id() == executors[at].PID {
			return part
		}
	}
	w.t.Fatalf("no part has the process %d", executors[at].PID)
	return nil
}

// until asks the API at each of its events until the answer is yes.
func (w *witnessed) until(yes func(context.Context) (bool, error)) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), waitLimit)
	defer cancel()
	changed := make(chan struct{}, 1)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		_ = w.api.Watch(ctx, func(wire.Event) error { // a hint only
			select {
			case changed <- struct{}{}:
			default:
			}
			return nil
		})
	}()
	defer func() { cancel(); <-watching }()
	hint := time.NewTicker(time.Second) // for hints that get lost: they may
	defer hint.Stop()
	for {
		ok, err := yes(ctx)
		if err != nil && ctx.Err() == nil {
			w.t.Fatal(err)
		}
		if ok {
			return
		}
		select {
		case <-changed:
		case <-hint.C:
		case <-ctx.Done():
			w.t.Fatalf("it did not come to that within %s", waitLimit)
		}
	}
}

// ended waits until a run has ended.
func (w *witnessed) ended(id string) (run wire.Run) {
	w.t.Helper()
	w.until(func(ctx context.Context) (ok bool, err error) {
		run, err = w.api.Run(ctx, id)
		return run.Status.Terminal(), err
	})
	return run
}

// lastAlive reports when an attempt's program was last known to live, by the lines that were read.
func lastAlive(lines []line, run string, attempt int) (at time.Time) {
	for _, l := range lines {
		if l.run == run && l.attempt == attempt && l.at.After(at) {
			at = l.at
		}
	}
	return at
}

const longJobs = `
kind: Job
name: again
binary: witness
overlap: allow
timeout: 5m
env: {WORK: "60000", JOURNAL: %[1]q}
---
kind: Job
name: once
binary: witness
overlap: allow
timeout: 5m
delivery: at_most_once
env: {WORK: "60000", JOURNAL: %[1]q}
---
kind: Job
name: short
binary: witness
overlap: allow
env: {WORK: "500", JOURNAL: %[1]q}
`

// forever is how long a part that a test has ended stays away.
const forever = time.Hour

// noticedWithin is how soon the loss of an attempt is noticed: when its lock has expired, and a second.
const noticedWithin = lockTTL + time.Second

func TestLossOfAnExecutorIsNoticedWithinTheLifeOfItsLocksAndASecond(t *testing.T) {
	w := newWitnessed(t, Config{Executors: 2, Slots: 4, Drain: time.Second}, longJobs)
	again, once := w.run("again"), w.run("once")
	w.await("start", again, 1)
	lost, other := w.executorOf(again), w.executorOf(once)
	killed := time.Now()
	lost.signal(syscall.SIGKILL, forever)
	next, before := w.await("start", again, 2)
	if after := next.at.Sub(killed); after > noticedWithin {
		t.Errorf("the next attempt began %s after its executor was killed", after)
	} else {
		t.Logf("the next attempt began %s after its executor was killed", after)
	}
	if alive := lastAlive(before, again, 1); alive.After(next.at) {
		t.Errorf("the first attempt's program lived on until %s after the second's had begun", alive.Sub(next.at))
	}
	run, err := w.api.Run(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	if a := run.Attempts[0]; a.Status != engine.StatusLost || run.Failures != 0 || run.Losses != 1 {
		t.Errorf("the lost attempt is %s: %s; %d failures, %d losses", a.Status, a.Error, run.Failures, run.Losses)
	}
	// The other run is delivered once only, by either executor.
	if other != lost {
		killed = time.Now()
		other.signal(syscall.SIGKILL, forever)
	}
	end := w.ended(once)
	if end.Status != engine.StatusLost || end.Attempt != 1 || end.Reason == "" {
		t.Errorf("the run that is delivered at most once is %s at attempt %d: %s", end.Status, end.Attempt, end.Reason)
	}
	if after := end.Attempts[0].FinishedAt.Sub(killed); after > noticedWithin {
		t.Errorf("its loss was noticed %s after its executor was killed", after)
	}
}

func TestLossIsNoticedByTheNextEngine(t *testing.T) {
	t.Parallel()
	w := newWitnessed(t, Config{Executors: 2, Slots: 4, Drain: time.Second}, longJobs)
	again := w.run("again")
	w.await("start", again, 1)
	w.executorOf(again).signal(syscall.SIGKILL, forever)
	w.engines[0].signal(syscall.SIGKILL, 0)
	patiently(t.Context(), t, "ask the next engine", func(ctx context.Context) error {
		_, err := w.api.Version(ctx)
		return err
	})
	answered := time.Now()
	next, _ := w.await("start", again, 2)
	if after := next.at.Sub(answered); after > noticedWithin {
		t.Errorf("the next attempt began %s after the next engine was there", after)
	}
	run := wire.Run{}
	patiently(t.Context(), t, "ask for the run", func(ctx context.Context) (err error) {
		run, err = w.api.Run(ctx, again)
		return err
	})
	if run.Attempts[0].Status != engine.StatusLost || run.Attempt != 2 {
		t.Errorf("the first attempt is %s, and there are %d", run.Attempts[0].Status, run.Attempt)
	}
}

func TestExecutorThatIsCutOffKillsItsProgramBeforeTheNextBegins(t *testing.T) {
	w := newWitnessed(t, Config{Executors: 2, Slots: 4, Drain: time.Second}, longJobs)
	again := w.run("again")
	w.await("start", again, 1)
	lost := w.executorOf(again)
	cut := time.Now()
	w.network.cut(lost.name)
	next, before := w.await("start", again, 2)
	if after := next.at.Sub(cut); after > noticedWithin {
		t.Errorf("the next attempt began %s after the executor was cut off", after)
	}
	if alive := lastAlive(before, again, 1); alive.Sub(cut) > lockTTL || alive.After(next.at) {
		t.Errorf("the program lived on for %s, the next began after %s, and a lock lasts %s", alive.Sub(cut), next.at.Sub(cut), lockTTL)
	}
	w.network.mend(lost.name)
}

func TestProgramsEndWhenTheQueueStalls(t *testing.T) {
	t.Parallel()
	w := newWitnessed(t, Config{Executors: 2, Slots: 4, Drain: time.Second}, longJobs)
	again := w.run("again")
	w.await("start", again, 1)
	stopped := time.Now()
	w.nats.signal(syscall.SIGSTOP, 0)
	for alive := stopped; ; { // until nothing is heard of it for some of its beats
		select {
		case l := <-w.lines:
			alive = l.at
			continue
		case <-time.After(lockTTL / 2):
		}
		if alive.Sub(stopped) > lockTTL {
			t.Errorf("the program lived on for %s, and a lock lasts %s", alive.Sub(stopped), lockTTL)
		}
		break
	}
	w.nats.signal(syscall.SIGCONT, 0)
	w.await("start", again, 2)
}

// An executor that is asked to end is replaced without anybody waiting for it, and without a blemish on any run.
func TestDrainHandsBackWhatHadNotStartedAndNothingWaitsForIt(t *testing.T) {
	t.Parallel()
	// With such locks a task that no executor gave back would come again after half a minute.
	const ttl, runs = 10 * time.Second, 24
	w := newWitnessed(t, Config{Executors: 2, Slots: 3, LockTTL: ttl, Drain: 10 * time.Second}, longJobs)
	var ids []string
	for range runs {
		ids = append(ids, w.run("short"))
	}
	w.await("start", ids[0], 1)
	asked := time.Now()
	w.executors[0].signal(syscall.SIGTERM, forever)
	for _, id := range ids {
		run := w.ended(id)
		if run.Status != engine.StatusSucceeded || run.Failures > 0 {
			t.Errorf("%s is %s at attempt %d with %d failures: %s", id, run.Status, run.Attempt, run.Failures, run.Reason)
		}
		for _, a := range run.Attempts {
			if !a.StartedAt.IsZero() && a.Status != engine.StatusSucceeded {
				t.Errorf("attempt %d of %s had begun, and is %s: %s", a.N, id, a.Status, a.Error)
			}
		}
		if after := run.FinishedAt.Sub(asked); after > ttl {
			t.Errorf("%s ended %s after an executor was asked to end, the queue was notified that it waits", id, after)
		}
	}
}

// What takes longer than a drain may is ended, and retried elsewhere at once.
func TestDrainEndsWhatTakesTooLongAndItBeginsElsewhereAtOnce(t *testing.T) {
	t.Parallel()
	const drain = time.Second
	w := newWitnessed(t, Config{Executors: 2, Slots: 4, LockTTL: 10 * time.Second, Drain: drain}, longJobs)
	again := w.run("again")
	w.await("start", again, 1)
	asked := time.Now()
	w.executorOf(again).signal(syscall.SIGTERM, forever)
	next, _ := w.await("start", again, 2)
	if after := next.at.Sub(asked); after < drain || after > drain+5*time.Second {
		t.Errorf("it began elsewhere %s after its executor was asked to end, which gives it %s", after, drain)
	}
	run, err := w.api.Run(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	if run.Failures != 0 || !strings.Contains(run.Attempts[0].Error, "was shut down") {
		t.Errorf("the first attempt: %s: %s, %d failures", run.Attempts[0].Status, run.Attempts[0].Error, run.Failures)
	}
}
