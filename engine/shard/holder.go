package shard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/lease"
)

// Holder holds leases for an engine, and has its runner work on what they cover: lease.Keeper over a network.
type Holder struct {
	config   lease.Config
	keeper   *lease.Keeper
	presence engine.EnginePresence
	leases   Leases
	runner   *Runner
	log      *slog.Logger

	inputs  chan lease.Input
	work    sync.WaitGroup
	writes  chan struct{} // bounds the writes of the table that are under way
	begun   chan struct{}
	once    sync.Once
	owners  atomic.Pointer[[engine.Shards]string]
	mine    atomic.Int64
	failing atomic.Bool // the last write of the table did not reach it
}

// leaseWrites bounds the writes of the table that are under way at one time.
const leaseWrites = 32

// leaveLimit is how long a holder that ends tries to hand over its shards. What is left then ends by its TTL.
const leaveLimit = 5 * time.Second

// NewHolder makes the holder of an engine's leases. runner must own nothing yet; the caller runs it for longer than
// the holder. presence names the engine: its id must be of this process alone.
func NewHolder(config lease.Config, presence engine.EnginePresence, leases Leases, runner *Runner, log *slog.Logger) (*Holder, error) {
	keeper, err := lease.NewKeeper(config, presence.ID)
	if err != nil {
		return nil, err
	}
	return &Holder{
		config: config, keeper: keeper, presence: presence, leases: leases, runner: runner, log: log,
		inputs: make(chan lease.Input, 1024), writes: make(chan struct{}, leaseWrites), begun: make(chan struct{}),
	}, nil
}

// Begun is closed once this engine has work, or knows that others have all of it.
func (h *Holder) Begun() <-chan struct{} { return h.begun }

// Owned counts the shards that this engine works on.
func (h *Holder) Owned() int { return int(h.mine.Load()) }

// Owns reports whether this engine has a shard, as far as it knows.
func (h *Holder) Owns(shard int) bool { return h.Owners()[shard] == h.presence.ID }

// Owners returns which engine has each shard, as far as this one knows; "" for none.
func (h *Holder) Owners() [engine.Shards]string {
	if owners := h.owners.Load(); owners != nil {
		return *owners
	}
	return [engine.Shards]string{}
}

// Run holds leases until ctx ends. Then it hands all of them over, for which the runner must still be running, and
// returns once that is done or has taken too long.
func (h *Holder) Run(ctx context.Context) error {
	ended := ctx.Done()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer h.work.Wait()
	defer cancel(errors.New("the holder of leases ends"))
	failed := make(chan error, 1)
	h.work.Go(func() {
		if err := h.leases.WatchLeases(ctx, func(in lease.Input) { h.send(ctx, in) }); err != nil && ctx.Err() == nil {
			failed <- fmt.Errorf("watch leases: %w", err)
		}
	})
	owns := make(chan lease.Own, 1024)
	h.work.Go(func() { h.own(ctx, owns) })

	timer := time.NewTimer(0)
	defer timer.Stop()
	var limit <-chan time.Time
	for !h.keeper.Gone() {
		var inputs []lease.Input
		select {
		case in := <-h.inputs:
			inputs = append(inputs, in)
		case <-timer.C:
			inputs = append(inputs, lease.Tick{})
		case <-ended:
			inputs, ended, limit = append(inputs, lease.Leave{}), nil, time.After(leaveLimit)
		case err := <-failed:
			return err
		case <-limit:
			h.log.Warn("shards were not handed over in time: they are free when their leases end", "shards", len(h.keeper.Owned()))
			return nil
		}
		for waiting := len(h.inputs); waiting > 0; waiting-- { // many come together: renewals, the table at the beginning
			inputs = append(inputs, <-h.inputs)
		}
		now := time.Now()
		for _, action := range h.keeper.Step(now, inputs...) {
			h.perform(ctx, now, action, owns)
		}
		owners := h.keeper.Owners()
		h.owners.Store(&owners)
		h.announceBegun(&owners)
		timer.Reset(time.Until(h.keeper.Next(now)))
	}
	return nil
}

// announceBegun closes begun once every shard has an owner.
func (h *Holder) announceBegun(owners *[engine.Shards]string) {
	if !h.keeper.Synced() {
		return
	}
	mine := 0
	for _, owner := range owners {
		if owner == "" {
			return
		}
		if owner == h.presence.ID {
			mine++
		}
	}
	if int(h.mine.Load()) >= mine {
		h.once.Do(func() { close(h.begun) })
	}
}

func (h *Holder) send(ctx context.Context, in lease.Input) {
	select {
	case h.inputs <- in:
	case <-ctx.Done():
	}
}

// own has the runner work on what is owned, one change after the other.
func (h *Holder) own(ctx context.Context, owns <-chan lease.Own) {
	for {
		select {
		case <-ctx.Done():
			return
		case own := <-owns:
			for len(owns) > 0 { // each makes the runner read again what it owns
				own = <-owns
			}
			h.log.Info("this engine's shards", "count", len(own.Shards))
			stopped, err := h.runner.Own(ctx, own.Shards)
			if err != nil {
				return
			}
			h.mine.Store(int64(len(own.Shards)))
			h.work.Go(func() {
				select {
				case <-stopped:
					h.send(ctx, lease.Stopped{Own: own})
				case <-ctx.Done():
				}
			})
		}
	}
}

func (h *Holder) perform(ctx context.Context, now time.Time, action lease.Action, owns chan<- lease.Own) {
	if own, ok := action.(lease.Own); ok {
		owns <- own
		return
	}
	h.work.Go(func() {
		select {
		case h.writes <- struct{}{}:
			defer func() { <-h.writes }()
		case <-ctx.Done():
			return
		}
		answer := lease.Answered{To: action, Sent: now, Outcome: lease.Done}
		var err error
		answer.Revision, err = h.write(ctx, action)
		switch {
		case errors.Is(err, lease.ErrRefused):
			answer.Outcome = lease.Refused
		case err != nil:
			answer.Outcome = lease.Unknown
			if ctx.Err() == nil && !h.failing.Swap(true) { // the first of many
				h.log.Warn("leases cannot be written; trying again", "error", err)
			}
		default:
			if h.failing.Swap(false) {
				h.log.Info("leases can be written again")
			}
		}
		h.send(ctx, answer)
	})
}

func (h *Holder) write(ctx context.Context, action lease.Action) (uint64, error) {
	switch a := action.(type) {
	case lease.Acquire:
		return h.leases.AcquireLease(ctx, a.Shard, h.presence.ID, a.Revision, h.config.TTL)
	case lease.Renew:
		return h.leases.RenewLease(ctx, a.Shard, h.presence.ID, a.Revision, h.config.TTL)
	case lease.Release:
		return h.leases.ReleaseLease(ctx, a.Shard, a.Revision)
	case lease.Announce:
		presence := h.presence
		presence.Leaving, presence.Shards, presence.Seen = a.Leaving, h.Owned(), time.Now().UTC()
		stats := h.runner.Stats()
		presence.Waits(stats.Unwritten, stats.Since, time.Now())
		presence.Held, presence.Namespaces = h.runner.Held(), h.runner.Counts()
		ttl := h.config.TTL
		if a.Gone {
			ttl = 0
		}
		return 0, h.leases.AnnounceEngine(ctx, presence, ttl)
	case lease.Own: // not a write
	}
	return 0, fmt.Errorf("%T is no write of the table", action)
}
