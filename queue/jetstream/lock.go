package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
)

// The KV API of nats.go gives a key a life only when it makes it, and none to the marker that a deletion leaves. So
// locks are published to the bucket's own subjects: each entry with its life, and each marker with the shortest one.
// An entry that expired leaves such a marker too.

// heldLock is a lock as the bucket holds it.
type heldLock struct {
	holder   executor.LockHolder
	revision uint64
	life     time.Duration
	until    time.Time
	after    string // the revision that it replaced, "" for a new one
}

// Lock makes the lock, or returns *executor.HeldError. The token is the entry's sequence in the bucket, which only
// ever grows. A lock that was made although its answer was lost is found again by the holder's Try.
func (q *Queue) Lock(ctx context.Context, key string, holder executor.LockHolder, ttl time.Duration) (uint64, error) {
	for free := q.markers.take(key, time.Now()); ; { // the sequence under which the lock is free: none, or a marker's
		token, err := q.putLock(ctx, key, holder, free, ttl, "")
		if !errors.Is(err, errConflict) {
			return token, wrap("jetstream: lock "+key, err)
		}
		last, err := q.last(ctx, "KV_"+q.names.locks, q.names.lock(key))
		switch {
		case err != nil:
			return 0, fmt.Errorf("jetstream: lock %s: %w", key, err)
		case onItsWay(last, free):
			if !pause(ctx, onItsWayPause) {
				return 0, fmt.Errorf("jetstream: lock %s: %w", key, errOnItsWay)
			}
			continue
		case last == nil:
			free = 0
			continue
		case isMarker(last):
			free = last.sequence
			continue
		}
		held, err := readLock(last)
		if err != nil {
			return 0, fmt.Errorf("jetstream: lock %s: %w", key, err)
		}
		if held.holder == holder && holder.Try != "" {
			// Its own, from a try whose answer was lost. As that may be long ago, its life restarts.
			token, err := q.Refresh(ctx, key, holder, held.revision, ttl)
			if !errors.Is(err, executor.ErrFenced) {
				return token, err
			}
			continue // it has ended meanwhile
		}
		if q.overdue.is(key, held.revision, held.life, time.Now()) {
			free = held.revision
			continue
		}
		return 0, &executor.HeldError{Key: key, Holder: held.holder, Until: held.until}
	}
}

// headerAfter names the revision that a refresh has replaced.
const headerAfter = "Tidewheel-After"

// Refresh extends the lock by ttl from now. A refresh that was stored although its answer was lost is found again
// by the revision that it replaced, and refreshed: its life began earlier than this call.
func (q *Queue) Refresh(ctx context.Context, key string, holder executor.LockHolder, revision uint64, ttl time.Duration) (uint64, error) {
	replaces := strconv.FormatUint(revision, 10)
	for tries := 0; ; tries++ {
		next, err := q.putLock(ctx, key, holder, revision, ttl, replaces)
		if !errors.Is(err, errConflict) {
			return next, wrap("jetstream: refresh lock "+key, err)
		}
		last, err := q.last(ctx, "KV_"+q.names.locks, q.names.lock(key))
		switch {
		case err != nil:
			return 0, fmt.Errorf("jetstream: refresh lock %s: %w", key, err)
		case onItsWay(last, revision): // it may be this very refresh
			if tries == onItsWayTries || !pause(ctx, onItsWayPause) {
				return 0, fmt.Errorf("jetstream: refresh lock %s: %w", key, errOnItsWay)
			}
			continue
		case last == nil || isMarker(last):
			return 0, executor.ErrFenced
		}
		held, err := readLock(last)
		if err != nil {
			return 0, fmt.Errorf("jetstream: refresh lock %s: %w", key, err)
		}
		if held.holder != holder || held.after != replaces {
			return 0, executor.ErrFenced
		}
		if tries == onItsWayTries {
			return 0, fmt.Errorf("jetstream: refresh lock %s: %w", key, errOnItsWay)
		}
		revision = held.revision
	}
}

// Unlock removes the lock if revision is still its own. Deleting the message would leave nothing, but is many times
// slower (ADR 5).
func (q *Queue) Unlock(ctx context.Context, key string, revision uint64) error {
	for tries := 0; ; tries++ {
		message := newOutgoing(q.names.lock(key))
		message.set("KV-Operation", "PURGE")
		message.set(headerTTL, ttlHeader(time.Second))
		sequence, err := q.publish(ctx, message, &revision)
		switch {
		case err == nil:
			q.markers.put(key, sequence, time.Now())
			return nil
		case !errors.Is(err, errConflict):
			return wrap("jetstream: unlock "+key, err)
		}
		last, err := q.last(ctx, "KV_"+q.names.locks, q.names.lock(key))
		switch {
		case err != nil:
			return wrap("jetstream: unlock "+key, err)
		case !onItsWay(last, revision):
			return nil // it has gone, or has another holder
		case tries == onItsWayTries || !pause(ctx, onItsWayPause):
			return wrap("jetstream: unlock "+key, errOnItsWay)
		}
	}
}

func (q *Queue) putLock(ctx context.Context, key string, holder executor.LockHolder, expected uint64, ttl time.Duration, replaces string) (uint64, error) {
	if !engine.ValidID(key) {
		return 0, fmt.Errorf("%q is no key", key)
	}
	message := newOutgoing(q.names.lock(key))
	var err error
	if message.Data, err = encodeHolder(message.Data, holder); err != nil {
		return 0, err
	}
	message.set(headerTTL, ttlHeader(ttl))
	if replaces != "" {
		message.set(headerAfter, replaces)
	}
	return q.publish(ctx, message, &expected)
}

// lockEntry returns a lock, nil if it is free.
func (q *Queue) lockEntry(ctx context.Context, key string) (*heldLock, error) {
	last, err := q.last(ctx, "KV_"+q.names.locks, q.names.lock(key))
	if err != nil || last == nil || isMarker(last) {
		return nil, err
	}
	held, err := readLock(last)
	if err != nil || q.overdue.is(key, held.revision, held.life, time.Now()) {
		return nil, err
	}
	return held, nil
}

func readLock(entry *stored) (*heldLock, error) {
	held := &heldLock{revision: entry.sequence, until: entry.at, after: entry.header.Get(headerAfter)}
	var err error
	if held.holder, err = decodeHolder(entry.data); err != nil {
		return nil, fmt.Errorf("read lock %s: %w", entry.subject, err)
	}
	if ttl, err := time.ParseDuration(entry.header.Get(headerTTL)); err == nil {
		held.life, held.until = ttl, entry.at.Add(ttl)
	}
	return held, nil
}

// isMarker reports whether an entry says that its key has gone.
func isMarker(entry *stored) bool {
	return entry.header.Get(headerMarker) != "" || entry.header.Get("KV-Operation") != ""
}
