package jetstream

import (
	"context"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// EndSession keeps for a time that a session of the pages was ended, for all web nodes and over restarts.
func (q *Queue) EndSession(ctx context.Context, id string, life time.Duration) error {
	const operation = "jetstream: end a session"
	if !engine.ValidID(id) {
		return fmt.Errorf("%s: %q is no id", operation, id)
	}
	message := newOutgoing(q.names.session(id))
	message.set(headerTTL, ttlHeader(life))
	_, err := q.publish(ctx, message, nil)
	return wrap(operation, err)
}

// SessionEnded reports whether EndSession was called for a session.
func (q *Queue) SessionEnded(ctx context.Context, id string) (bool, error) {
	last, err := q.last(ctx, "KV_"+q.names.leases, q.names.session(id))
	if err != nil {
		return false, wrap("jetstream: look for a session", err)
	}
	return last != nil && !isMarker(last), nil
}
