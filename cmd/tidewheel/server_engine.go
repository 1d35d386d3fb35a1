package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// startLimit is how long the engine may take to read what a crash has left, before the server gives up starting.
const startLimit = 5 * time.Minute

// engineRole keeps an engine turning: one that ends because a part is away is begun anew.
type engineRole struct {
	runner atomic.Pointer[shard.Runner]
	once   sync.Once
	ready  chan struct{} // closed when an engine was ready for the first time
}

// stats counts what the engine holds now.
func (e *engineRole) stats() engine.Stats {
	if runner := e.runner.Load(); runner != nil {
		return runner.Stats()
	}
	return engine.Stats{}
}

// shards counts those that the engine turns: all of them, once it has read its state.
func (e *engineRole) shards() int {
	if e.check() != nil {
		return 0
	}
	return engine.Shards
}

// check tells whether the engine is at work.
func (e *engineRole) check() error {
	if runner := e.runner.Load(); runner != nil {
		select {
		case <-runner.Ready():
			return nil
		default:
		}
	}
	return errors.New("the engine is reading its state")
}

// startEngine begins the engine, which owns all shards, and waits until it is at work.
func (s *Server) startEngine(ctx context.Context) error {
	role := &engineRole{ready: make(chan struct{})}
	s.engine = role
	s.metrics.watchEngine(role.stats, role.shards)
	s.parts.add("the engine", func(ctx context.Context) error { return s.runEngine(ctx, role) })
	s.parts.add("the janitor", func(ctx context.Context) error {
		newJanitor(s.store, s.blobs, s.config.Retention, s.log, s.metrics).run(ctx)
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

// runEngine runs one engine after another until ctx ends.
func (s *Server) runEngine(ctx context.Context, role *engineRole) error {
	shards := make([]int, engine.Shards)
	for i := range shards {
		shards[i] = i
	}
	config := shard.DefaultConfig()
	config.ExactTimers = true
	config.Core.LockTTL = s.config.LockTTL
	queue := grantingQueue{s.queue, s.runKey, s.programAPI()}
	const most = 10 * time.Second
	wait := 250 * time.Millisecond
	for ctx.Err() == nil {
		runner := shard.NewRunner(config, countingStore{s.store, s.metrics}, queue, shards, s.log, s.metrics)
		role.runner.Store(runner)
		var watch sync.WaitGroup
		began, stop := context.WithCancel(ctx)
		watch.Go(func() {
			select {
			case <-runner.Ready():
				role.once.Do(func() { close(role.ready) })
			case <-began.Done():
			}
		})
		started := time.Now()
		err := runner.Run(ctx)
		stop()
		watch.Wait()
		if ctx.Err() == nil {
			if time.Since(started) > time.Minute {
				wait = 250 * time.Millisecond
			}
			s.log.Error("the engine has ended and begins anew", "error", err, "after", wait)
			if pause(ctx, wait) == nil {
				wait = min(2*wait, most)
			}
		}
	}
	return nil
}
