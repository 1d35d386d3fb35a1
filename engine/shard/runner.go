package shard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/internal/sparse"
)

// Observer is told what happens, for metrics. Its methods are called from the runner's goroutines and must not wait.
type Observer interface {
	// Published tells how late an attempt's task went out: against its slot for a first attempt of a slot, else 0.
	Published(task *engine.Task, lag time.Duration)
	// Finished passes on the end of an attempt; one that was lost has no Finish.
	Finished(result *engine.Result)
	// Committed tells how long a batch took to become durable, and how many runs it wrote.
	Committed(runs int, took time.Duration)
	// Reset tells that the machine forgot everything and reads it again.
	Reset()
}

// Runner owns shards: it turns a Machine over a store and a queue.
type Runner struct {
	config   Config
	loader   Loader
	queue    Queue
	log      *slog.Logger
	observer Observer
	sayings  sparse.Sayings
	pulse    *pulse

	inputs  chan Input
	owned   chan ownership
	slots   chan struct{} // bounds the questions to the queue that are under way
	work    sync.WaitGroup
	commits *sync.WaitGroup // writes of the store for the shards that are owned now
	stats   atomic.Pointer[engine.Stats]
	ready   chan struct{}
}

// questions bounds the queue questions (Inspect, Revoke, …) that are under way at one time.
const questions = 64

// headStart is how long a commit waits that comes with publishing tasks which need not wait for it: to start the
// programs is what the processors are needed for then, and what they report meanwhile goes with the next commit.
const headStart = 4 * time.Millisecond

// NewRunner makes a runner for these shards. observer may be nil.
func NewRunner(config Config, store Store, queue Queue, shards []int, log *slog.Logger, observer Observer) *Runner {
	if observer == nil {
		observer = silent{}
	}
	r := &Runner{
		config: config, loader: Loader{Store: store, Shards: shards}, queue: queue, log: log, observer: observer, pulse: newPulse(),
		inputs: make(chan Input, 4096), owned: make(chan ownership), commits: new(sync.WaitGroup), slots: make(chan struct{}, questions), ready: make(chan struct{}),
	}
	r.stats.Store(&engine.Stats{})
	return r
}

// Ready is closed once the runner has recovered and is at work.
func (r *Runner) Ready() <-chan struct{} { return r.ready }

// Stats counts what the core held a moment ago.
func (r *Runner) Stats() engine.Stats { return *r.stats.Load() }

// Run works until ctx ends, and returns once everything it started has ended. What is under way then is repaired by
// the next owner.
func (r *Runner) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer r.work.Wait()
	defer func() { r.commits.Wait() }()
	defer cancel(errors.New("the runner ends"))

	r.goDo(func() {
		if err := r.queue.Wakes(ctx, func(w engine.Wake) { r.send(ctx, Woken{Wake: w}) }); err != nil && ctx.Err() == nil {
			cancel(fmt.Errorf("listen for wakes: %w", err))
		}
	})

	machine := NewMachine(r.config, time.Now(), rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	results := &listener{runner: r}
	defer results.stop()
	alarm := newAlarm(r.config, r.log)
	defer alarm.close()
	announced := false
	r.pulse.step()
	defer r.pulse.stop()

	r.perform(ctx, machine.Step(time.Now(), Start{}), results, cancel)
	for {
		if machine.Running() && !announced {
			announced = true
			close(r.ready)
		}
		stats := machine.Stats()
		r.stats.Store(&stats)
		r.pulse.step()
		wait := pulseEvery
		if next := machine.Next(); !next.IsZero() {
			wait = min(wait, time.Until(next))
		}
		if wait <= 0 {
			r.perform(ctx, machine.Step(time.Now(), Clock{}), results, cancel)
		} else {
			alarm.set(wait)
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-alarm.rings():
				r.perform(ctx, machine.Step(time.Now(), Clock{}), results, cancel)
			case input := <-r.inputs:
				r.perform(ctx, machine.Step(time.Now(), input), results, cancel)
			case owned := <-r.owned:
				r.change(ctx, machine, owned, results, cancel)
			}
			continue
		}
		select { // timers are never starved, and neither are inputs
		case <-ctx.Done():
			return context.Cause(ctx)
		case input := <-r.inputs:
			r.perform(ctx, machine.Step(time.Now(), input), results, cancel)
		case owned := <-r.owned:
			r.change(ctx, machine, owned, results, cancel)
		default:
		}
	}
}

func (r *Runner) send(ctx context.Context, input Input) {
	select {
	case r.inputs <- input:
	case <-ctx.Done():
	}
}

func (r *Runner) goDo(f func()) { r.work.Go(f) }

// perform does the machine's actions in order. What takes time goes on in goroutines and answers through inputs.
func (r *Runner) perform(ctx context.Context, list []Action, results *listener, cancel context.CancelCauseFunc) {
	published := false
	loader := r.loader // what is begun now is about the shards of now
	for _, action := range list {
		switch a := action.(type) {
		case Recover:
			r.needs("recover", recoverLost, func() {
				results.stop() // what is delivered under an old epoch must have ended
				jobs, err := loader.Recover(ctx, a.Due)
				r.report(ctx, "recover", err)
				r.send(ctx, Recovered{Epoch: a.Epoch, Jobs: jobs, Failed: err != nil})
			})
		case Listen:
			results.start(ctx, a.Epoch, cancel)
		case Reset:
			r.log.Warn("a write was refused: reading everything again", "why", a.Why)
			r.observer.Reset()
		case Poll:
			r.needs("poll", answerLost, func() {
				uids, err := loader.Due(ctx, a.After, a.Until)
				r.report(ctx, "poll", err)
				r.send(ctx, Polled{Epoch: a.Epoch, UIDs: uids, Failed: err != nil})
			})
		case Load:
			r.needs("load", answerLost, func() {
				if a.Again > 0 {
					r.pause(ctx, a.Again)
				}
				jobs, err := loader.Jobs(ctx, a.UIDs, a.Due)
				r.report(ctx, "load", err)
				r.send(ctx, Loaded{Epoch: a.Epoch, UIDs: a.UIDs, Again: a.Again, Jobs: jobs, Failed: err != nil})
			})
		case Sweep:
			r.needs("sweep", answerLost, func() {
				swept, err := loader.Sweep(ctx)
				r.report(ctx, "sweep", err)
				swept.Epoch, swept.Failed = a.Epoch, err != nil
				r.send(ctx, swept)
			})
		case Reconcile:
			r.needs("compare active runs", answerLost, func() {
				active, err := loader.Active(ctx, a.Until)
				r.report(ctx, "compare active runs", err)
				if err == nil {
					active.Epoch = a.Epoch
					r.send(ctx, active)
				}
			})
		case LoadCommand:
			r.needs("load a command", answerLost, func() {
				loaded, err := loader.Command(ctx, a.Command, a.Due)
				r.report(ctx, "load a command", err)
				loaded.Epoch, loaded.Failed = a.Epoch, err != nil
				r.send(ctx, loaded)
			})
		case ReadBinaries:
			r.needs("read binaries", answerLost, func() {
				changed, err := loader.Binaries(ctx, a.Keys)
				r.report(ctx, "read binaries", err)
				if err == nil {
					r.send(ctx, Answered{Epoch: a.Epoch, Event: changed})
				}
			})
		case Commit:
			head := time.Duration(0)
			if published {
				head = headStart
			}
			answered := r.pulse.await("commit", answerLost)
			r.commits.Go(func() {
				defer answered()
				waitFor(ctx, head)
				began := time.Now()
				conflicts, err := loader.Store.Commit(ctx, a.Batch)
				r.report(ctx, "commit", err)
				if err == nil {
					r.observer.Committed(len(a.Batch.Runs), time.Since(began))
				}
				r.send(ctx, Committed{Epoch: a.Epoch, Conflicts: conflicts, Failed: err != nil})
			})
		case ReadRefused:
			r.needs("read refused runs", answerLost, func() {
				runs, err := loader.Store.RunsByID(ctx, a.IDs)
				r.report(ctx, "read refused runs", err)
				r.send(ctx, RefusedRead{Epoch: a.Epoch, Asked: len(a.IDs), Runs: runs, Failed: err != nil})
			})
		case ReadStrange:
			r.needs("read the runs of strange results", answerLost, func() {
				runs, err := loader.Store.RunsByID(ctx, a.IDs())
				r.report(ctx, "read the runs of strange results", err)
				if err != nil {
					r.pause(ctx, 1)
				}
				r.send(ctx, StrangeRead{Epoch: a.Epoch, Results: a.Results, Runs: runs, Failed: err != nil})
			})
		case Acknowledge:
			if err := a.Receipt.(Delivery).Ack(); err != nil {
				r.log.Warn("acknowledging results failed: they come again", "error", err)
			}
		case Perform:
			_, publish := a.Effect.(engine.Publish)
			published = published || publish
			r.effect(ctx, a)
		}
	}
}

func (r *Runner) pause(ctx context.Context, failures int) {
	waitFor(ctx, min(r.config.RetryMin<<min(failures, 10), r.config.RetryMax))
}

// waitFor waits for d, or until ctx ends.
func waitFor(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// report logs a failure that the machine will try again by itself.
func (r *Runner) report(ctx context.Context, what string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	if passed, say := r.sayings.Say(what, time.Now()); say {
		r.log.Warn("the engine could not "+what+", and will try again", "error", err, "as_often_before", passed)
	}
}

// listener owns the goroutines that receive results, one for each shard.
type listener struct {
	runner *Runner
	mu     sync.Mutex
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func (l *listener) start(ctx context.Context, epoch uint64, fail context.CancelCauseFunc) {
	l.stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, l.cancel = context.WithCancel(ctx)
	r := l.runner
	for _, shard := range r.loader.Shards {
		l.done.Go(func() {
			err := r.queue.Results(ctx, shard, func(d Delivery) {
				for i := range d.Results {
					if kind := d.Results[i].Kind; kind == engine.ResultFinished || kind == engine.ResultLost {
						r.observer.Finished(&d.Results[i])
					}
				}
				r.send(ctx, Results{Epoch: epoch, Results: d.Results, Receipt: d})
			})
			if err != nil && ctx.Err() == nil {
				fail(fmt.Errorf("receive results of shard %d: %w", shard, err))
			}
		})
	}
}

// stop ends the delivery and waits until no handler runs any more.
func (l *listener) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel != nil {
		l.cancel()
		l.cancel = nil
		l.done.Wait()
	}
}

type silent struct{}

func (silent) Published(*engine.Task, time.Duration) {}
func (silent) Finished(*engine.Result)               {}
func (silent) Committed(int, time.Duration)          {}
func (silent) Reset()                                {}
