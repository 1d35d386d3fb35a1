package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/lease"
)

// AcquireLease makes an engine the owner of a shard for ttl, if the shard is free or its entry has this revision. The
// token is the entry's sequence in the bucket, which only ever grows.
func (q *Queue) AcquireLease(ctx context.Context, shard int, engineID string, revision uint64, ttl time.Duration) (uint64, error) {
	for tries := 0; ; tries++ {
		token, err := q.putLease(ctx, shard, engineID, revision, ttl, "")
		if !errors.Is(err, errConflict) {
			return token, wrap(leaseOperation("acquire", shard), err)
		}
		last, err := q.last(ctx, "KV_"+q.names.leases, q.names.lease(shard))
		switch {
		case err != nil:
			return 0, wrap(leaseOperation("acquire", shard), err)
		case last == nil && tries < 3: // the marker went in between, too
			revision = 0
		case last != nil && isMarker(last) && tries < 3:
			revision = last.sequence
		default:
			return 0, wrap(leaseOperation("acquire", shard), lease.ErrRefused)
		}
	}
}

// RenewLease extends an engine's entry by ttl. A renewal that was stored although its answer was lost is found again
// by the revision that it replaced, and renewed: its life began earlier than this call.
func (q *Queue) RenewLease(ctx context.Context, shard int, engineID string, revision uint64, ttl time.Duration) (uint64, error) {
	replaces := strconv.FormatUint(revision, 10)
	token, err := q.putLease(ctx, shard, engineID, revision, ttl, replaces)
	if !errors.Is(err, errConflict) {
		return token, wrap(leaseOperation("renew", shard), err)
	}
	last, err := q.last(ctx, "KV_"+q.names.leases, q.names.lease(shard))
	if err != nil {
		return 0, wrap(leaseOperation("renew", shard), err)
	}
	if onItsWay(last, revision) {
		return 0, wrap(leaseOperation("renew", shard), errOnItsWay)
	}
	if last != nil && !isMarker(last) && string(last.data) == engineID && last.header.Get(headerAfter) == replaces {
		token, err := q.putLease(ctx, shard, engineID, last.sequence, ttl, replaces)
		return token, wrap(leaseOperation("renew", shard), err)
	}
	return 0, wrap(leaseOperation("renew", shard), lease.ErrRefused)
}

// releasedLife is how long the marker of a lease that was released stays. The next owner comes about a second after, when an
// engine has settled, and replaces it; it is not to expire in a cluster at just that time.
const releasedLife = time.Hour

// ReleaseLease removes the entry with this revision, and returns the revision of the marker in its place.
func (q *Queue) ReleaseLease(ctx context.Context, shard int, revision uint64) (uint64, error) {
	message := newOutgoing(q.names.lease(shard))
	message.set("KV-Operation", "PURGE")
	message.set(headerTTL, ttlHeader(releasedLife))
	sequence, err := q.publish(ctx, message, &revision)
	if errors.Is(err, errConflict) {
		err = lease.ErrRefused
	}
	return sequence, wrap(leaseOperation("release", shard), err)
}

func (q *Queue) putLease(ctx context.Context, shard int, engineID string, expected uint64, ttl time.Duration, replaces string) (uint64, error) {
	if !engine.ValidID(engineID) {
		return 0, fmt.Errorf("%q is no engine id", engineID)
	}
	message := newOutgoing(q.names.lease(shard))
	message.Data = append(message.Data, engineID...)
	message.set(headerTTL, ttlHeader(ttl))
	if replaces != "" {
		message.set(headerAfter, replaces)
	}
	return q.publish(ctx, message, &expected)
}

func leaseOperation(what string, shard int) string {
	return "jetstream: " + what + " the lease of shard " + strconv.Itoa(shard)
}

// AnnounceEngine announces that an engine is alive for the next ttl; with ttl 0 that it is not any more.
func (q *Queue) AnnounceEngine(ctx context.Context, presence engine.EnginePresence, ttl time.Duration) error {
	if !engine.ValidID(presence.ID) {
		return fmt.Errorf("jetstream: announce: %q is no engine id", presence.ID)
	}
	return wrap("jetstream: announce engine "+presence.ID, q.announce(ctx, q.names.engine(presence.ID), presence, ttl))
}

// announce writes an entry of LEASES that lives for ttl; none if that is 0.
func (q *Queue) announce(ctx context.Context, subject string, presence any, ttl time.Duration) error {
	message := newOutgoing(subject)
	if ttl <= 0 {
		message.set("KV-Operation", "PURGE")
		message.set("Nats-Rollup", "sub")
		message.set(headerTTL, ttlHeader(time.Second))
	} else {
		data, err := json.Marshal(presence)
		if err != nil {
			return err
		}
		message.Data = data
		message.set(headerTTL, ttlHeader(ttl))
	}
	_, err := q.publish(ctx, message, nil)
	return err
}

// Engines lists the engines that are alive, in the order of their ids.
func (q *Queue) Engines(ctx context.Context) ([]engine.EnginePresence, error) {
	entries, err := q.entries(ctx, q.names.leases, "engine.>")
	if err != nil {
		return nil, fmt.Errorf("jetstream: list engines: %w", err)
	}
	present := make([]engine.EnginePresence, 0, len(entries))
	for _, entry := range entries {
		var presence engine.EnginePresence
		if err := json.Unmarshal(entry.data, &presence); err != nil {
			q.log.Warn("an engine's presence cannot be read", "key", entry.subject, "error", err)
			continue
		}
		presence.Ahead, presence.Seen = presence.Seen.Sub(entry.at), entry.at
		present = append(present, presence)
	}
	slices.SortFunc(present, func(a, b engine.EnginePresence) int { return cmp.Compare(a.ID, b.ID) })
	return present, nil
}

// ShardOwners returns the engine that has the lease of each shard, "" where none has.
func (q *Queue) ShardOwners(ctx context.Context) (owners [engine.Shards]string, err error) {
	entries, err := q.entries(ctx, q.names.leases, "shard.*")
	if err != nil {
		return owners, fmt.Errorf("jetstream: list leases: %w", err)
	}
	for _, entry := range entries {
		if seen, ok := q.leaseInput(entry).(lease.Seen); ok {
			owners[seen.Entry.Shard] = seen.Entry.Engine
		}
	}
	return owners, nil
}

// WatchLeases passes on what LEASES holds of shards and engines, and then each change, until ctx ends. It begins again
// whenever the connection was lost, because the server may have lost something with it.
func (q *Queue) WatchLeases(ctx context.Context, handle func(lease.Input)) error {
	for failures := 0; ; failures++ {
		began := time.Now()
		err := q.watchLeases(ctx, handle)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > time.Minute {
			failures = 0
		}
		if !errors.Is(err, errStale) {
			q.log.Warn("the leases cannot be watched; trying again", "error", err)
		}
		if !pause(ctx, backoff(failures)) {
			return nil
		}
		handle(lease.Lost{})
	}
}

func (q *Queue) watchLeases(ctx context.Context, handle func(lease.Input)) error {
	synced := func() bool {
		handle(lease.Synced{})
		return true
	}
	return q.watch(ctx, q.names.leases, []string{"shard.*", "engine.*"}, synced, func(entry *stored) {
		if in := q.leaseInput(entry); in != nil {
			handle(in)
		}
	})
}

// leaseInput reads an entry of LEASES, nil if it means nothing to leases.
func (q *Queue) leaseInput(entry *stored) lease.Input {
	gone := isMarker(entry)
	if id, ok := strings.CutPrefix(entry.subject, "engine."); ok {
		m := lease.Member{ID: id, Gone: gone}
		if !gone {
			var presence engine.EnginePresence
			if err := json.Unmarshal(entry.data, &presence); err != nil {
				q.log.Warn("an engine's presence cannot be read", "key", entry.subject, "error", err)
				return nil
			}
			m.Leaving = presence.Leaving
		}
		return lease.SeenMember{Member: m}
	}
	number, err := strconv.Atoi(strings.TrimPrefix(entry.subject, "shard."))
	if err != nil || number < 0 || number >= engine.Shards {
		q.log.Warn("a lease of no shard", "key", entry.subject)
		return nil
	}
	e := lease.Entry{Shard: number, Revision: entry.sequence}
	if !gone {
		e.Engine = string(entry.data)
	}
	return lease.Seen{Entry: e}
}
