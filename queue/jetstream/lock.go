package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
)

// The KV API of nats.go gives a key a life only when it makes it, and deletes by leaving a marker. So locks are
// published to the bucket's own subjects: with a life each time, and removed by sequence, which leaves nothing and is
// by itself conditional: a revision is the sequence of one message, and no other message ever has it.

// heldLock is a lock as the bucket holds it.
type heldLock struct {
	holder   executor.LockHolder
	revision uint64
	until    time.Time
	after    string // the revision that it replaced, "" for a new one
}

// Lock makes the lock, or answers *executor.HeldError. The token is the entry's sequence in the bucket, which only
// ever grows.
func (q *Queue) Lock(ctx context.Context, key string, holder executor.LockHolder, ttl time.Duration) (uint64, error) {
	for {
		token, err := q.putLock(ctx, key, holder, 0, ttl)
		if err == nil {
			return token, nil
		}
		if !errors.Is(err, errConflict) {
			return 0, fmt.Errorf("jetstream: lock %s: %w", key, err)
		}
		held, err := q.lockEntry(ctx, key)
		if err != nil {
			return 0, fmt.Errorf("jetstream: lock %s: %w", key, err)
		}
		if held == nil {
			// It went between the two questions; an expired one leaves a marker, under which the lock is free.
			token, err := q.lockOverMarker(ctx, key, holder, ttl)
			if errors.Is(err, errConflict) {
				continue
			}
			return token, wrap("jetstream: lock "+key, err)
		}
		// It may even be this holder's own: from a try whose answer was lost, or because the task was delivered
		// twice. The two cannot be told apart, so that such a lock is left to expire.
		return 0, &executor.HeldError{Key: key, Holder: held.holder, Until: held.until}
	}
}

func (q *Queue) lockOverMarker(ctx context.Context, key string, holder executor.LockHolder, ttl time.Duration) (uint64, error) {
	last, err := q.last(ctx, "KV_"+q.names.locks, q.names.lock(key))
	if err != nil {
		return 0, err
	}
	if last == nil {
		return q.putLock(ctx, key, holder, 0, ttl)
	}
	if !isMarker(last) {
		return 0, errConflict
	}
	return q.putLock(ctx, key, holder, last.sequence, ttl)
}

// headerAfter names the revision that a refresh has replaced.
const headerAfter = "Tidewheel-After"

// Refresh gives the lock another ttl from now. A refresh that was stored although its answer was lost is found again
// by the revision that it replaced.
func (q *Queue) Refresh(ctx context.Context, key string, holder executor.LockHolder, revision uint64, ttl time.Duration) (uint64, error) {
	next, err := q.putLock(ctx, key, holder, revision, ttl)
	if !errors.Is(err, errConflict) {
		return next, wrap("jetstream: refresh lock "+key, err)
	}
	held, err := q.lockEntry(ctx, key)
	if err != nil {
		return 0, fmt.Errorf("jetstream: refresh lock %s: %w", key, err)
	}
	if held != nil && held.holder == holder && held.after == strconv.FormatUint(revision, 10) {
		return held.revision, nil
	}
	return 0, executor.ErrFenced
}

// Unlock removes the lock if revision is still its own.
func (q *Queue) Unlock(ctx context.Context, key string, revision uint64) error {
	message := &nats.Msg{Subject: q.names.lock(key), Header: nats.Header{"KV-Operation": {"PURGE"}, headerTTL: ttlHeader(time.Second)}}
	_, err := q.publish(ctx, message, &revision)
	if errors.Is(err, errConflict) {
		return nil
	}
	return wrap("jetstream: unlock "+key, err)
}

func (q *Queue) putLock(ctx context.Context, key string, holder executor.LockHolder, expected uint64, ttl time.Duration) (uint64, error) {
	if !engine.ValidID(key) {
		return 0, fmt.Errorf("%q is no key", key)
	}
	value, err := json.Marshal(holder)
	if err != nil {
		return 0, fmt.Errorf("encode holder: %w", err)
	}
	message := &nats.Msg{Subject: q.names.lock(key), Data: value, Header: nats.Header{headerTTL: ttlHeader(ttl)}}
	if expected > 0 {
		message.Header[headerAfter] = []string{strconv.FormatUint(expected, 10)}
	}
	return q.publish(ctx, message, &expected)
}

// lockEntry gives a lock, nil if it is free.
func (q *Queue) lockEntry(ctx context.Context, key string) (*heldLock, error) {
	last, err := q.last(ctx, "KV_"+q.names.locks, q.names.lock(key))
	if err != nil || last == nil || isMarker(last) {
		return nil, err
	}
	return readLock(last)
}

func readLock(entry *stored) (*heldLock, error) {
	held := &heldLock{revision: entry.sequence, until: entry.at, after: entry.header.Get(headerAfter)}
	if err := json.Unmarshal(entry.data, &held.holder); err != nil {
		return nil, fmt.Errorf("read lock %s: %w", entry.subject, err)
	}
	if ttl, err := time.ParseDuration(entry.header.Get(headerTTL) + "s"); err == nil {
		held.until = entry.at.Add(ttl)
	}
	return held, nil
}

// isMarker tells whether an entry says that its key has gone.
func isMarker(entry *stored) bool {
	return entry.header.Get(headerMarker) != "" || entry.header.Get("KV-Operation") != ""
}
