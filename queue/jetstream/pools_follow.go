package jetstream

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tidewheel/tidewheel/spec"
)

// followPools lets a puller serve those pools of the table that it may, until ctx ends. It reads the table when it is
// notified of another pool, and from time to time, because a notification may be lost.
func (q *Queue) followPools(ctx context.Context, p *puller) {
	if len(p.config.Labels) == 0 {
		return // every pool asks for some
	}
	connection := q.listen()
	defer q.ignore(connection)
	changed := make(chan *nats.Msg, 64)
	if sub, err := q.conn.ChanSubscribe(q.names.poolsChanged(), changed); err != nil {
		q.log.Debug("new pools are found by looking only", "error", err)
	} else {
		defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection, where nothing is left to undo
	}
	timer := time.NewTimer(poolLook)
	defer timer.Stop()
	for failures := 0; ; {
		wait := poolLook
		if err := q.servePools(ctx, p); err == nil {
			failures = 0
		} else if ctx.Err() == nil {
			q.log.Debug("the pools of labels were not read; trying again", "error", err)
			wait = backoff(failures)
			failures++
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-connection.again:
		case <-timer.C:
		}
	}
}

// servePools reads the table once.
func (q *Queue) servePools(ctx context.Context, p *puller) error {
	table, _, err := q.readPools(ctx)
	if err != nil {
		return fmt.Errorf("jetstream: %w", err)
	}
	p.serve(table.Pools)
	return nil
}

// serve asks from now on at those of all pools whose labels this executor has, and at no other.
func (p *puller) serve(all []pool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.pools
	p.pools = nil
	wanted := make(map[string]bool)
	for _, one := range all {
		if slices.Contains(p.config.Tiers, one.Tier) && spec.Satisfies(p.config.Labels, one.RunsOn) && p.q.mayTake(one.token()) {
			p.pools = append(p.pools, one)
			wanted[one.token()] = true
		}
	}
	for _, one := range before {
		if !wanted[one.token()] {
			p.leave(one.token())
		}
	}
	for priority, l := range p.levels {
		for _, one := range p.pools {
			known := slices.ContainsFunc(before, func(b pool) bool { return b.token() == one.token() })
			if one.Tier == l.tier && !known {
				p.add(l, one.token(), priority)
			}
		}
	}
	p.pump(time.Now())
}

// leave forgets a pool: what its requests may still bring is run all the same. It is called with the lock.
func (p *puller) leave(pool string) {
	gone := func(s *source) bool { return s.pool == pool }
	p.sources = slices.DeleteFunc(p.sources, gone)
	for _, l := range p.levels {
		for _, of := range []*lanes{&l.premium, &l.standard} {
			of.sources = slices.DeleteFunc(of.sources, gone)
			of.turn = 0
		}
	}
}

// served lists the pools that it asks at.
func (p *puller) served() []pool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.pools)
}
