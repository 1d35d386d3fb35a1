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

	"golang.org/x/sync/errgroup"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/internal/logthrottle"
)

// Observer receives what happens, for metrics. Its methods are called from the runner's goroutines and must not wait.
type Observer interface {
	// Published reports how late an attempt's task was published: against its slot for a first attempt of a slot, else 0.
	Published(task *engine.Task, lag time.Duration)
	// Finished passes on the end of an attempt; one that was lost has no Finish.
	Finished(result *engine.Result)
	// Committed reports how long a batch took to become durable, and how many runs it wrote.
	Committed(runs int, took time.Duration)
	// Fenced reports that another engine took a shard over before this engine knew.
	Fenced(shard int)
}

// Runner owns shards: it turns a Machine over a store and a queue.
type Runner struct {
	config   Config
	loader   Loader
	queue    Queue
	log      *slog.Logger
	observer Observer
	throttle logthrottle.Throttle
	pulse    *pulse

	inputs        chan Input
	shards        []int // that it owns from the start on
	owned         chan ownership
	slots         chan struct{} // bounds the questions to the queue that are under way
	notifications chan struct{} // bounds the calls of the notifier that are under way
	work          sync.WaitGroup
	commits       *sync.WaitGroup // writes of the store for the shards that are owned now
	stats         atomic.Pointer[core.Stats]
	held          atomic.Pointer[[]engine.HeldRuns]
	counts        atomic.Pointer[map[string]engine.RunCount]
	counted       time.Time // when; of Run's goroutine
	ready         chan struct{}
}

// questions bounds the queue questions (Inspect, Revoke, …) that are under way at one time.
const questions = 64

// notifications bounds the calls of the notifier that are under way at one time. notifyWithin is how long one call may take.
const (
	notifications = 16
	notifyWithin  = 30 * time.Second
)

// countEvery is how often the runs of namespaces are counted: that looks at all shards.
const countEvery = 200 * time.Millisecond

// headStart is how long a commit waits that comes with publishing tasks which need not wait for it: to start the
// programs is what the processors are needed for then, and what they report meanwhile goes with the next commit.
const headStart = 4 * time.Millisecond

// NewRunner makes a runner that owns these shards from the start on. observer may be nil.
func NewRunner(config Config, store Store, queue Queue, shards []int, log *slog.Logger, observer Observer) *Runner {
	if observer == nil {
		observer = silent{}
	}
	config.Core.Incidents = config.Notifier != nil
	r := &Runner{
		config: config, loader: Loader{Store: store}, shards: shards, queue: queue, log: log, observer: observer, pulse: newPulse(),
		inputs: make(chan Input, 4096), owned: make(chan ownership), commits: new(sync.WaitGroup), slots: make(chan struct{}, questions), notifications: make(chan struct{}, notifications), ready: make(chan struct{}),
	}
	r.stats.Store(&core.Stats{})
	r.held.Store(new([]engine.HeldRuns))
	r.counts.Store(new(map[string]engine.RunCount))
	return r
}

// Ready is closed once the runner has recovered and is at work.
func (r *Runner) Ready() <-chan struct{} { return r.ready }

// Stats counts what the core held a moment ago.
func (r *Runner) Stats() core.Stats { return *r.stats.Load() }

// Held counts the queued runs whose tasks were kept back from the queue a moment ago.
func (r *Runner) Held() []engine.HeldRuns { return *r.held.Load() }

// Counts returns how many runs of each namespace waited and ran a moment ago. The caller must not change it.
func (r *Runner) Counts() map[string]engine.RunCount { return *r.counts.Load() }

// Bound sets how many runs of each namespace may be under way from now on, as Bounded does.
func (r *Runner) Bound(ctx context.Context, running map[string]int) {
	r.send(ctx, Bounded{Running: running})
}

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

	machine := NewMachine(r.config, time.Now(), rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))) //nolint:gosec // it spreads retries, and guards nothing
	results := &listener{runner: r, of: map[int]context.CancelFunc{}}
	defer results.close()
	alarm := newAlarm(r.config, r.log)
	defer alarm.close()
	announced := false
	r.pulse.step()
	defer r.pulse.stop()

	r.perform(ctx, machine.Step(time.Now(), Owned{Shards: r.shards}), results, cancel)
	for {
		if machine.Running() && !announced {
			announced = true
			close(r.ready)
		}
		stats, held := machine.Stats(), machine.Held()
		r.stats.Store(&stats)
		r.held.Store(&held)
		if now := time.Now(); now.Sub(r.counted) >= countEvery {
			counts := machine.Counts()
			r.counts.Store(&counts)
			r.counted = now
		}
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

// perform does the machine's actions in order. What takes time runs in goroutines and answers through inputs.
func (r *Runner) perform(ctx context.Context, list []Action, results *listener, cancel context.CancelCauseFunc) {
	published := false
	for _, action := range list {
		switch a := action.(type) {
		case Listen:
			results.start(ctx, a.Seat, cancel)
		case Leave:
			results.stop(a.Shard)
			if a.Why != "" {
				r.log.Warn("left a shard; reading it again if this engine still owns it", "shard", a.Shard, "why", a.Why)
				r.observer.Fenced(a.Shard)
			}
		case Commit:
			r.commit(ctx, a, published)
		case Acknowledge:
			if err := a.Receipt.(Delivery).Ack(); err != nil {
				r.log.Warn("acknowledging results failed: they come again", "error", err)
			}
		case Perform:
			_, publish := a.Effect.(core.Publish)
			published = published || publish
			r.effect(ctx, a)
		default:
			r.read(ctx, action)
		}
	}
}

// read does what the machine wants to know of the store.
func (r *Runner) read(ctx context.Context, action Action) {
	switch a := action.(type) {
	case Recover:
		r.needs("recover", recoverLost, func() {
			recovered, err := r.recover(ctx, a.Seats)
			r.report(ctx, "recover", err)
			recovered.Seats, recovered.Failed = a.Seats, err != nil
			r.send(ctx, recovered)
		})
	case Poll:
		r.needs("poll", answerLost, func() {
			uids, err := r.loader.Due(ctx, shardsOf(a.Seats), a.After, a.Until)
			r.report(ctx, "poll", err)
			r.send(ctx, Polled{Seats: a.Seats, UIDs: uids, Failed: err != nil})
		})
	case Load:
		r.needs("load", answerLost, func() {
			if a.Again > 0 {
				r.pause(ctx, a.Again)
			}
			jobs, err := r.loader.Jobs(ctx, a.UIDs)
			r.report(ctx, "load", err)
			r.send(ctx, Loaded{Seats: a.Seats, UIDs: a.UIDs, Again: a.Again, Jobs: jobs, Failed: err != nil})
		})
	case Sweep:
		r.needs("sweep", answerLost, func() {
			swept, err := r.loader.Sweep(ctx, a.Shards)
			r.report(ctx, "sweep", err)
			swept.Failed = err != nil
			r.send(ctx, swept)
		})
	case LoadCommands:
		r.needs("load commands", answerLost, func() {
			received, err := r.loader.Commands(ctx, a.Commands)
			r.report(ctx, "load commands", err)
			r.send(ctx, CommandsLoaded{Seat: a.Seat, Commands: a.Commands, Received: received, Failed: err != nil})
		})
	case ReadAlerts:
		r.goDo(func() {
			rules, err := r.config.Notifier.AlertRules(ctx)
			r.report(ctx, "read alert rules", err)
			if err == nil {
				r.send(ctx, AlertsRead{Rules: core.AlertRules{Namespaces: rules}})
			}
		})
	case ReadBinaries:
		r.needs("read binaries", answerLost, func() {
			changed, err := r.loader.Binaries(ctx, a.Keys)
			r.report(ctx, "read binaries", err)
			if err == nil {
				r.send(ctx, BinariesRead{Changed: changed})
			}
		})
	}
}

// recover takes shards over, and finds what has not ended in them.
func (r *Runner) recover(ctx context.Context, seats []Seat) (found Recovered, err error) {
	terms := make([]engine.Term, len(seats))
	var taking errgroup.Group
	for i, seat := range seats {
		taking.Go(func() (err error) {
			terms[i], err = r.loader.Store.Take(ctx, seat.Shard, r.config.Owner)
			return err
		})
	}
	if err := taking.Wait(); err != nil {
		return found, fmt.Errorf("take shards over: %w", err)
	}
	found.Terms = terms
	if found.Active, err = r.loader.Recover(ctx, shardsOf(seats)); err != nil || r.config.Notifier == nil {
		return found, err
	}
	if found.Alerts.Namespaces, err = r.config.Notifier.AlertRules(ctx); err != nil {
		return found, fmt.Errorf("read alert rules: %w", err)
	}
	found.Incidents, err = r.loader.Incidents(ctx, shardsOf(seats))
	return found, err
}

func shardsOf(seats []Seat) []int {
	shards := make([]int, len(seats))
	for i, seat := range seats {
		shards[i] = seat.Shard
	}
	return shards
}

// commit writes decisions, after a moment where tasks were published with them.
func (r *Runner) commit(ctx context.Context, a Commit, published bool) {
	head := time.Duration(0)
	if published {
		head = headStart
	}
	answered := r.pulse.await("commit", answerLost)
	r.commits.Go(func() {
		defer answered()
		waitFor(ctx, head)
		began := time.Now()
		answers := r.loader.Store.Commit(ctx, a.Commits)
		runs := 0
		for i, err := range answers {
			switch {
			case err == nil:
				runs += len(a.Commits[i].Batch.Runs)
			case !errors.Is(err, engine.ErrFenced):
				r.report(ctx, "commit", err)
			}
		}
		r.observer.Committed(runs, time.Since(began))
		r.send(ctx, Committed{Seats: a.Seats, Errors: answers})
	})
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
	if suppressed, ok := r.throttle.Allow(what, time.Now()); ok {
		r.log.Warn("the engine could not "+what+"; trying again", "error", err, "suppressed", suppressed)
	}
}

// listener owns the goroutines that receive results, one for each shard. It belongs to the runner's goroutine.
type listener struct {
	runner *Runner
	of     map[int]context.CancelFunc
	done   sync.WaitGroup
}

// start begins the delivery of a shard's results for one seat.
func (l *listener) start(ctx context.Context, seat Seat, fail context.CancelCauseFunc) {
	l.stop(seat.Shard)
	ctx, l.of[seat.Shard] = context.WithCancel(ctx)
	r := l.runner
	l.done.Go(func() {
		err := r.queue.Results(ctx, seat.Shard, func(d Delivery) {
			for i := range d.Results {
				if kind := d.Results[i].Kind; kind == engine.ResultFinished || kind == engine.ResultLost {
					r.observer.Finished(&d.Results[i])
				}
			}
			r.send(ctx, Results{Seat: seat, Results: d.Results, Receipt: d})
		})
		if err != nil && ctx.Err() == nil {
			fail(fmt.Errorf("receive results of shard %d: %w", seat.Shard, err))
		}
	})
}

// stop ends the delivery of a shard's results. What is delivered nevertheless is for a seat that is left.
func (l *listener) stop(shard int) {
	if cancel := l.of[shard]; cancel != nil {
		cancel()
		delete(l.of, shard)
	}
}

// close ends all of it, and waits until no handler runs any more.
func (l *listener) close() {
	for shard := range l.of {
		l.stop(shard)
	}
	l.done.Wait()
}

type silent struct{}

func (silent) Published(*engine.Task, time.Duration) {}
func (silent) Finished(*engine.Result)               {}
func (silent) Committed(int, time.Duration)          {}
func (silent) Fenced(int)                            {}
