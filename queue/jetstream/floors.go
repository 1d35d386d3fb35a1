package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// floorDelay is how long an acknowledged result may not be known to be so: what a crash makes come again.
const floorDelay = 200 * time.Millisecond

// floor is up to where a shard's results are dealt with.
type floor struct {
	Sequence uint64 `json:"sequence"`
	// At is the time of the message with that sequence. After a power cut, which may take the end of a stream, the
	// same sequence can be another message: this shows it.
	At time.Time `json:"at,omitzero"`
}

// passed records that a floor may advance to a place once it has reached a sequence: no executor is given what lies between.
type passed struct {
	behind uint64
	to     floor
}

// floors keeps the floor of each shard in LEASES (floor.<n>), written a little later and for all shards together.
//
// JetStream's own acknowledgements would do the same at a far higher price: it keeps each unacknowledged message of
// each consumer in a table, and writes a file for each of the 64 consumers ten times a second (ADR 5).
type floors struct {
	q *Queue

	mu     sync.Mutex
	known  map[int]floor // acknowledged by this process
	passed map[int]passed
	stored map[int]uint64
	timer  *time.Timer
	armed  bool
	closed bool
}

func newFloors(q *Queue) *floors {
	return &floors{q: q, known: make(map[int]floor), passed: make(map[int]passed), stored: make(map[int]uint64)}
}

// raise records that a shard's results up to a place are dealt with.
func (f *floors) raise(shard int, to floor) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.known[shard].Sequence >= to.Sequence {
		return
	}
	if ahead, ok := f.passed[shard]; ok && to.Sequence >= ahead.behind {
		if ahead.to.Sequence > to.Sequence {
			to = ahead.to
		}
		delete(f.passed, shard)
	}
	f.known[shard] = to
	f.arm()
}

// pass records that a shard has nothing to deal with up to a place but what it was given up to a sequence (0: nothing).
func (f *floors) pass(shard int, given uint64, to floor) {
	f.mu.Lock()
	f.passed[shard] = passed{given, to}
	reached := f.known[shard].Sequence >= given
	f.mu.Unlock()
	if reached {
		f.raise(shard, to)
	}
}

// arm is called with the lock.
func (f *floors) arm() {
	switch {
	case f.armed:
	case f.timer == nil:
		f.timer = time.AfterFunc(floorDelay, f.write)
	default:
		f.timer.Reset(floorDelay)
	}
	f.armed = true
}

// write stores what is not stored yet. It does not wait; what fails is retried.
func (f *floors) write() {
	f.mu.Lock()
	f.armed = false
	dirty := make(map[int]floor)
	for shard, to := range f.known {
		if f.stored[shard] != to.Sequence {
			dirty[shard] = to
		}
	}
	f.mu.Unlock()
	for shard, to := range dirty {
		message := f.message(shard, to)
		f.q.requests.send(&message.Msg, func(answer *nats.Msg, err error) {
			message.free()
			if err == nil {
				_, err = acknowledged(answer)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			if err == nil {
				f.stored[shard] = max(f.stored[shard], to.Sequence)
			} else if !f.closed {
				f.arm()
			}
		})
	}
}

func (f *floors) message(shard int, to floor) *outgoing {
	data, err := json.Marshal(to)
	if err != nil { // a time beyond the year 9999, which no server gives
		data = []byte(`{}`)
	}
	message := newOutgoing(f.q.names.floor(shard))
	message.Data = append(message.Data, data...)
	return message
}

// store writes one shard's floor and waits.
func (f *floors) store(ctx context.Context, shard int) error {
	f.mu.Lock()
	to, stored := f.known[shard], f.stored[shard]
	f.mu.Unlock()
	if to.Sequence == 0 || stored == to.Sequence {
		return nil
	}
	if _, err := f.q.publish(ctx, f.message(shard, to), nil); err != nil {
		return fmt.Errorf("store floor of shard %d: %w", shard, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stored[shard] = max(f.stored[shard], to.Sequence)
	return nil
}

// load returns a shard's floor as of now, and makes it if the shard was never read before: trimming waits for all of
// them.
func (f *floors) load(ctx context.Context, shard int) (floor, error) {
	entry, err := f.q.last(ctx, "KV_"+f.q.names.leases, f.q.names.floor(shard))
	if err != nil {
		return floor{}, fmt.Errorf("read floor of shard %d: %w", shard, err)
	}
	var at floor
	if entry == nil {
		if _, err := f.q.publish(ctx, f.message(shard, at), nil); err != nil {
			return at, fmt.Errorf("store floor of shard %d: %w", shard, err)
		}
	} else if err := json.Unmarshal(entry.data, &at); err != nil {
		return at, fmt.Errorf("read floor of shard %d: %w", shard, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if mine := f.known[shard]; mine.Sequence > at.Sequence {
		at = mine // not written yet when the connection was lost
	}
	return at, nil
}

// forget drops a floor that belongs to messages that were lost.
func (f *floors) forget(shard int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.known, shard)
	delete(f.passed, shard)
	delete(f.stored, shard)
}

// all reads every floor that exists, by shard.
func (f *floors) all(ctx context.Context) (map[int]floor, error) {
	entries, err := f.q.entries(ctx, f.q.names.leases, "floor.*")
	if err != nil {
		return nil, err
	}
	found := make(map[int]floor, len(entries))
	for _, entry := range entries {
		number, err := strconv.Atoi(strings.TrimPrefix(entry.subject, "floor."))
		if err != nil {
			continue // not ours
		}
		var at floor
		if err := json.Unmarshal(entry.data, &at); err != nil {
			return nil, fmt.Errorf("read floor of shard %d: %w", number, err)
		}
		found[number] = at
	}
	return found, nil
}

// close stores what is not stored yet, and takes no more.
func (f *floors) close(ctx context.Context) error {
	f.mu.Lock()
	f.closed = true
	if f.timer != nil {
		f.timer.Stop()
	}
	var shards []int
	for shard := range f.known {
		shards = append(shards, shard)
	}
	f.mu.Unlock()
	var failed error
	for _, shard := range shards {
		if err := f.store(ctx, shard); err != nil {
			failed = errors.Join(failed, err)
			if ctx.Err() != nil || errors.Is(err, ErrUnavailable) {
				break // the others would fail too
			}
		}
	}
	return failed
}
