package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// trimEvery is how often Maintain trims, unless the claim window is short.
const trimEvery = time.Minute

// Maintain trims RESULTS, and removes pools that are out of use, every minute until ctx ends; then it returns nil. Of several processes
// one is enough: mine reports whether it is this one now. The first time is a claim window after the start, so that a supervisor that
// begins together with it has seen every attempt whose lock has expired.
func (q *Queue) Maintain(ctx context.Context, mine func() bool) error {
	every := min(trimEvery, max(q.config.ClaimWindow/4, time.Second))
	for wait := max(q.config.ClaimWindow, every); pause(ctx, wait); wait = every {
		if mine() {
			q.maintain(ctx)
		}
	}
	return nil
}

func (q *Queue) maintain(ctx context.Context) {
	purged, err := q.Trim(ctx, time.Now())
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		q.log.Warn("results were not trimmed; trying again soon", "error", err)
	case purged > 0:
		q.log.Debug("results trimmed", "messages", purged)
	}
	if err := q.SweepPools(ctx, time.Now()); err != nil && ctx.Err() == nil {
		q.log.Warn("pools of labels that are out of use stay; trying again soon", "error", err)
	}
	streams, err := q.Streams(ctx)
	if err != nil && ctx.Err() == nil {
		q.log.Warn("the size of the streams is not known; asking again soon", "error", err)
	}
	for i := range streams {
		if problem := streams[i].Problem(time.Now()); problem != "" {
			q.log.Error("a stream grows", "stream", streams[i].Name, "problem", problem)
		}
	}
}

// Trim deletes from RESULTS what every shard had acknowledged when it was called a claim window before now, or earlier. It
// returns the number of messages, 0 the first time. The window begins with the acknowledgement: an engine that has not
// read the claim may publish the attempt once more, and that copy may wait for most of a claim window (see Outlived).
//
// The last message of an attempt that still runs is where the attempt will be decided, however long it runs. If it
// is among those to go, a marked copy is published behind it first, under the same condition as any report (ADR 5).
// Results does not deliver such copies, and reports look through them.
func (q *Queue) Trim(ctx context.Context, now time.Time) (purged uint64, err error) {
	limit, err := q.trimLimit(ctx, now)
	if err == nil {
		limit = q.trimmed.before(now.Add(-q.config.ClaimWindow), now, limit)
	}
	if err != nil || limit == 0 {
		return 0, wrap("jetstream: trim results", err)
	}
	if err := q.carry(ctx, limit); err != nil {
		return 0, fmt.Errorf("jetstream: trim results: %w", err)
	}
	purged, err = q.purge(ctx, q.names.results, "", limit+1)
	return purged, wrap("jetstream: trim results", err)
}

// trims remembers what could have gone when.
type trims struct {
	mu   sync.Mutex
	then []trimAt
}

type trimAt struct {
	at    time.Time
	limit uint64
}

// before notes what could go now, and returns what could already at an instant, 0 if that is not known.
func (t *trims) before(instant, now time.Time, limit uint64) (then uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.then) > 0 && !t.then[0].at.After(instant) {
		then = max(then, t.then[0].limit)
		t.then = t.then[1:]
	}
	if then = min(then, limit); then > 0 { // it holds until more may go; less may where a power cut took the end of the stream
		t.then = append([]trimAt{{at: instant, limit: then}}, t.then...)
	}
	t.then = append(t.then, trimAt{at: now, limit: limit})
	return then
}

// trimLimit is the last sequence that has been acknowledged and is old enough, 0 if none is.
func (q *Queue) trimLimit(ctx context.Context, now time.Time) (uint64, error) {
	// Asked before the floors: what comes in between is newer than the limit.
	state, err := q.resultsState(ctx)
	if err != nil || state.Messages == 0 {
		return 0, err
	}
	since := now.Add(-q.config.ClaimWindow).UTC()
	young, _, err := q.following(ctx, q.names.results, nextQuestion{Subject: q.names.prefix + "results.>", Since: &since})
	if err != nil {
		return 0, err
	}
	limit := min(state.Last, young-1)
	floors, err := q.floors.all(ctx)
	if err != nil {
		return 0, err
	}
	for _, number := range shards() {
		at, read := floors[number]
		if !read { // no engine has read this shard yet
			return 0, nil
		}
		if known, err := q.knows(ctx, at); err != nil {
			return 0, err
		} else if !known { // of messages that a power cut took: others are given the same numbers
			at = floor{}
		}
		// The floor itself stays far behind where a shard has little to say.
		first, _, err := q.following(ctx, q.names.results, nextQuestion{Subject: q.names.shard(number), Sequence: at.Sequence + 1})
		if err != nil {
			return 0, err
		}
		if limit = min(limit, first-1); limit < state.First {
			return 0, nil
		}
	}
	return limit, nil
}

// carry puts copies of what running attempts need in the place of what goes. The locks show which attempts run: they are
// as many as there are running attempts, however many have ended. An attempt claims only under its lock, so that one
// that begins now has its first message behind the limit.
func (q *Queue) carry(ctx context.Context, limit uint64) error {
	locks, err := q.locks(ctx)
	if err != nil {
		return err
	}
	for _, held := range locks {
		if !engine.ValidID(held.holder.Run) {
			continue // no run of ours
		}
		subject := q.names.prefix + "results.*." + held.holder.Run + "." + strconv.Itoa(held.holder.Attempt)
		last, err := q.last(ctx, q.names.results, subject)
		if err != nil {
			return err
		}
		if last == nil || last.sequence > limit {
			continue
		}
		known := last.header.Get(headerCarried)
		if known == "" {
			known = strconv.FormatUint(last.sequence, 10)
		}
		message := newOutgoing(last.subject)
		message.Data = append(message.Data, last.data...)
		message.set(headerCarried, known)
		if _, err := q.publish(ctx, message, &last.sequence); err != nil && !errors.Is(err, errConflict) {
			return fmt.Errorf("carry %s: %w", last.subject, err)
		}
	}
	return nil
}

// locks lists the locks that are held.
func (q *Queue) locks(ctx context.Context) ([]*heldLock, error) {
	entries, err := q.entries(ctx, q.names.locks, "lock.>")
	if err != nil {
		return nil, err
	}
	held := make([]*heldLock, 0, len(entries))
	for _, entry := range entries {
		var lock heldLock
		if err := json.Unmarshal(entry.data, &lock.holder); err != nil {
			q.log.Warn("a lock cannot be read", "key", entry.subject, "error", err)
			continue
		}
		held = append(held, &lock)
	}
	return held, nil
}
