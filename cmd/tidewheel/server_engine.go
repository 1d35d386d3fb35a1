package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// startLimit is how long the engine may take to read what a crash has left, before the server gives up starting.
const startLimit = 5 * time.Minute

// engineRole keeps an engine running: one that ends because a part is unavailable is restarted.
type engineRole struct {
	runner atomic.Pointer[shard.Runner]
	holder atomic.Pointer[shard.Holder] // nil where this engine is the only one
	once   sync.Once
	ready  chan struct{} // closed when an engine was ready for the first time
}

// stats counts what the engine holds now.
func (e *engineRole) stats() core.Stats {
	if runner := e.runner.Load(); runner != nil {
		return runner.Stats()
	}
	return core.Stats{}
}

// held counts the queued runs whose tasks the engine keeps back from the queue now.
func (e *engineRole) held() []engine.HeldRuns {
	if runner := e.runner.Load(); runner != nil {
		return runner.Held()
	}
	return nil
}

// counts returns how many runs of each namespace wait and run now, as far as they are the engine's.
func (e *engineRole) counts() map[string]engine.RunCount {
	if runner := e.runner.Load(); runner != nil {
		return runner.Counts()
	}
	return nil
}

// shards counts those that the engine turns; all of them, once it has read its state, if it is the only one.
func (e *engineRole) shards() int {
	switch holder := e.holder.Load(); {
	case e.check() != nil:
		return 0
	case holder != nil:
		return holder.Owned()
	}
	return engine.Shards
}

// first reports whether this engine does what one of them does for all: the one that owns the first shard.
func (e *engineRole) first() bool { return e.owns(0) }

// owns reports whether a shard is this engine's. For a moment two may think so, or none.
func (e *engineRole) owns(shard int) bool {
	holder := e.holder.Load()
	return holder == nil || holder.Owns(shard)
}

// check reports whether the engine is at work.
func (e *engineRole) check() error {
	runner, holder := e.runner.Load(), e.holder.Load()
	if runner == nil || !closed(runner.Ready()) {
		return errors.New("the engine is reading its state")
	}
	if holder != nil && !closed(holder.Begun()) {
		return errors.New("the engine waits for its shards")
	}
	return nil
}

// stalled reports why the engine makes no progress; nil if it does, or is not there now.
func (e *engineRole) stalled() error {
	if runner := e.runner.Load(); runner != nil {
		return runner.Stalled()
	}
	return nil
}

// slow reports that the engine waits for a slow store, "" if it does not.
func (e *engineRole) slow() string {
	var presence engine.EnginePresence
	stats := e.stats()
	presence.Waits(stats.Unwritten, stats.Since, time.Now())
	return presence.Slow()
}

func closed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}

// startEngine begins the engine, and waits until it is at work.
func (s *Server) startEngine(ctx context.Context) error {
	role := &engineRole{ready: make(chan struct{})}
	s.engine = role
	s.metrics.watchEngine(role.stats, role.shards)
	s.secrets.giver = newSecretGiver(s.secrets.vault)
	s.parts.add("the secrets of runs", s.secrets.giver.run) // ends after the engine
	s.stored = newStoredBytes(s.store, s.log)
	s.stored.keep(ctx)                                        // before the first task is published
	s.parts.add("the count of what runs store", s.stored.run) // ends after the engine, too
	s.openTriggers(role)
	s.parts.add("the engine", func(ctx context.Context) error { return s.runEngine(ctx, role) })
	s.parts.add("the watch over the engine", func(ctx context.Context) error {
		watchStall(ctx, role.stalled, s.log)
		return nil
	})
	s.parts.add("the watch over the store", func(ctx context.Context) error {
		watchSlow(ctx, role.slow, s.log)
		return nil
	})
	s.parts.add("the sweep of edits", s.watchEdits)
	s.parts.add("the upkeep of the queue", func(ctx context.Context) error { return s.queue.Maintain(ctx, role.first) })
	s.parts.add("the janitor", func(ctx context.Context) error {
		janitor := newJanitor(s.store, s.blobs, s.stored, s.config.retention(), role.owns, s.log, s.metrics)
		if s.config.MongoURI != "" {
			janitor.batch, janitor.apart = janitorBulk, true
		}
		janitor.run(ctx)
		return nil
	})
	limit, cancel := context.WithTimeoutCause(ctx, startLimit, errors.New("it took too long"))
	defer cancel()
	select {
	case <-role.ready:
		return nil
	case err := <-s.parts.failures():
		return err
	case <-limit.Done():
		return fmt.Errorf("start the engine: %w", context.Cause(limit))
	}
}

// runEngine runs one engine after another until ctx ends; none while the disk that it stands on is full.
func (s *Server) runEngine(ctx context.Context, role *engineRole) error {
	config := shard.DefaultConfig()
	config.ExactTimers = true
	config.Core.LockTTL = s.config.LockTTL
	config.Notifier = s.notify.notifier
	_, config.Owner = executorID()
	if s.config.sharesShards() {
		config.CheckEvery = leaseTTL
	}
	queue := grantingQueue{s.queue, s.runKey, s.programAPI(), s.secrets.giver, s.stored, s.metrics}
	store := newCountingStore(triggeringStore{tellingStore{s.forEngine, s.disk}, s.outbox}, s.metrics, s.stored, s.traces)
	hold := s.disk.hold
	if s.config.MongoURI != "" && s.config.NATSURL != "" { // nothing that the engine stands on is on this disk
		hold = func(ctx context.Context, run func(context.Context) error) error { return run(ctx) }
	}
	const most = 10 * time.Second
	wait := 250 * time.Millisecond
	for ctx.Err() == nil {
		started := time.Now()
		err := hold(ctx, func(ctx context.Context) error {
			return s.turn(ctx, role, shard.NewRunner(config, store, queue, s.firstShards(), s.log, s.metrics))
		})
		if errors.Is(err, errDiskFull) {
			continue
		}
		if ctx.Err() == nil {
			if time.Since(started) > time.Minute {
				wait = 250 * time.Millisecond
			}
			s.log.Error("the engine has ended and restarts", "error", err, "after", wait)
			if pause(ctx, wait) == nil {
				wait = min(2*wait, most)
			}
		}
	}
	return nil
}

// turn runs an engine until ctx ends or it fails.
func (s *Server) turn(ctx context.Context, role *engineRole, runner *shard.Runner) error {
	role.runner.Store(runner)
	ready := []<-chan struct{}{runner.Ready()}
	run := runner.Run
	if s.config.sharesShards() {
		holder, err := s.newHolder(runner)
		if err != nil {
			return err
		}
		role.holder.Store(holder)
		ready = append(ready, holder.Begun())
		run = func(ctx context.Context) error { return runWithLeases(ctx, runner, holder) }
	}
	var watch sync.WaitGroup
	began, stop := context.WithCancel(ctx)
	bounds := newRunningBounds(s, runner)
	bounds.refresh(began)
	watch.Go(func() { bounds.follow(began) })
	watch.Go(func() {
		for _, part := range ready {
			select {
			case <-part:
			case <-began.Done():
				return
			}
		}
		role.once.Do(func() { close(role.ready) })
	})
	err := run(ctx)
	stop()
	watch.Wait()
	return err
}
