package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// ForeignError reports that a NATS is at the service of another store.
type ForeignError struct {
	Address string
	// Store is the identity of the other one.
	Store string
	// For is how long that lasts at most after the last node of the other one has ended.
	For time.Duration
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s serves another Tidewheel, with another store (%s): give this one a NATS of its own, or an account of its own there; "+
		"if the other one has just ended, wait for %s", e.Address, e.Store, e.For)
}

// ClaimFor records that this NATS serves a store, for the next ttl; *ForeignError if it serves another one. Every node with
// that store says so again and again.
func (q *Queue) ClaimFor(ctx context.Context, store string, ttl time.Duration) error {
	if !engine.ValidID(store) {
		return fmt.Errorf("jetstream: %q is no identity of a store", store)
	}
	err := q.claimFor(ctx, store, ttl)
	for try := 0; errors.Is(err, errConflict) && try < 5; try++ { // another node of either was faster
		err = q.claimFor(ctx, store, ttl)
	}
	return wrap("jetstream: claim the queue", err)
}

func (q *Queue) claimFor(ctx context.Context, store string, ttl time.Duration) error {
	subject := q.names.entry("store")
	last, err := q.last(ctx, "KV_"+q.names.leases, subject)
	if err != nil {
		return err
	}
	expected := uint64(0)
	if last != nil {
		expected = last.sequence
		if !isMarker(last) && string(last.data) != store {
			return &ForeignError{Address: q.config.address(), Store: string(last.data), For: ttl}
		}
	}
	message := newOutgoing(subject)
	message.Data = append(message.Data, store...)
	message.set(headerTTL, ttlHeader(ttl))
	_, err = q.publish(ctx, message, &expected)
	return err
}

// Serves returns the store that this NATS serves, "" if no server has announced one lately.
func (q *Queue) Serves(ctx context.Context) (store string, err error) {
	last, err := q.last(ctx, "KV_"+q.names.leases, q.names.entry("store"))
	if err != nil || last == nil || isMarker(last) {
		return "", wrap("jetstream: read which store the queue serves", err)
	}
	return string(last.data), nil
}

// AnnounceTaskKey announces which key tasks are signed with now, so that an executor without it can say so at its start. A node does not
// trusts a key because it is named here.
func (q *Queue) AnnounceTaskKey(ctx context.Context, id string) error {
	message := newOutgoing(q.names.entry("task-key"))
	message.Data = append(message.Data, id...)
	_, err := q.publish(ctx, message, nil)
	return wrap("jetstream: announce the key of tasks", err)
}

// TaskKey returns the id of the key that was announced last, "" if none was.
func (q *Queue) TaskKey(ctx context.Context) (id string, err error) {
	last, err := q.last(ctx, "KV_"+q.names.leases, q.names.entry("task-key"))
	if err != nil || last == nil || isMarker(last) {
		return "", wrap("jetstream: read the key of tasks", err)
	}
	return string(last.data), nil
}

// protocol counts the changes of what nodes tell each other over NATS that a node without them would misunderstand. What
// an older node can pass over is none: a new field, a new subject, a new consumer.
const protocol = 1

// NewerError reports that nodes of a newer version work on a NATS, which this one would misunderstand.
type NewerError struct {
	Address string
	// Found is their protocol, Known the newest that this version knows.
	Found, Known int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s is used by a newer Tidewheel, whose nodes speak protocol %d, and this one knows up to %d: update this node to their version", e.Address, e.Found, e.Known)
}

// agree checks that this node understands the others, and announces itself to older ones that start later.
func (q *Queue) agree(ctx context.Context) error {
	const operation = "jetstream: agree on a protocol"
	subject := q.names.entry("protocol")
	for {
		last, err := q.last(ctx, "KV_"+q.names.leases, subject)
		if err != nil {
			return wrap(operation, err)
		}
		expected, found := uint64(0), 0
		if last != nil {
			expected = last.sequence
			if found, err = strconv.Atoi(string(last.data)); err != nil {
				return wrap(operation, err)
			}
		}
		switch {
		case found > protocol:
			return wrap("jetstream", &NewerError{Address: q.config.address(), Found: found, Known: protocol})
		case found == protocol:
			return nil
		}
		message := newOutgoing(subject)
		message.Data = strconv.AppendInt(message.Data, protocol, 10)
		if _, err := q.publish(ctx, message, &expected); !errors.Is(err, errConflict) { // another node was faster
			return wrap(operation, err)
		}
	}
}

// Identity returns the name that this NATS was given when it was first used, which differs from that of any other.
func (q *Queue) Identity(ctx context.Context) (string, error) {
	subject := q.names.entry("queue")
	for {
		last, err := q.last(ctx, "KV_"+q.names.leases, subject)
		if err != nil {
			return "", wrap("jetstream: read the identity of the queue", err)
		}
		if last != nil {
			return string(last.data), nil
		}
		message, none := newOutgoing(subject), uint64(0)
		message.Data = append(message.Data, strings.ToLower(rand.Text())...)
		if _, err := q.publish(ctx, message, &none); err != nil && !errors.Is(err, errConflict) {
			return "", wrap("jetstream: name the queue", err)
		}
	}
}
