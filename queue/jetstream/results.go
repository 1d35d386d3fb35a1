package jetstream

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// Results delivers what executors report for one shard, in order, until ctx ends; then it returns nil.
//
// One reader serves all shards that are asked for over this connection (reader.go), so that a handle that blocks holds
// up the others. A shard begins behind its floor (floors.go): what a crashed owner had taken comes at once and in
// order; a crash makes what was acknowledged in its last fraction of a second come too. When the connection was lost,
// messages that were delivered and not acknowledged come again.
func (q *Queue) Results(ctx context.Context, number int, handle func(shard.Delivery)) error {
	if number < 0 || number >= engine.Shards {
		return fmt.Errorf("jetstream: results: there is no shard %d", number)
	}
	o := &owner{shard: number, handle: handle}
	q.reader.join(o)
	<-ctx.Done()
	q.reader.leave(o)
	q.storeFloor(ctx, number)
	return nil
}

// storeFloor stores what a shard has reached, so that its next owner need not take anything twice.
func (q *Queue) storeFloor(ctx context.Context, number int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.config.Timeout)
	defer cancel()
	if !q.conn.IsConnected() {
		return // the next owner in this process knows the floor, and one in another takes some results twice
	}
	if err := q.floors.store(ctx, number); err != nil {
		q.log.Info("some results will be delivered again", "shard", number, "error", err)
	}
}

// owner is one call of Results.
type owner struct {
	shard  int
	handle func(shard.Delivery)

	mu   sync.Mutex // held while handle runs
	left bool

	// next is the first sequence that the shard was not given, 0 while the floor was not looked at; given is the last
	// one that it was. Only the reader's goroutine uses them.
	next, given uint64
}

// deliver gives results of the owner's shard, in order, and leaves out what it has been given before. last is the
// place of the shard's last message among those that were read, which may be none of the results.
func (o *owner) deliver(q *Queue, results []engine.Result, last floor) {
	if last.Sequence < o.next {
		return
	}
	for len(results) > 0 && results[0].Sequence < o.next {
		results = results[1:]
	}
	o.next = last.Sequence + 1
	if len(results) == 0 { // no other consumer will acknowledge what is delivered to none
		q.floors.pass(o.shard, o.given, last)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.left {
		return
	}
	o.given = last.Sequence
	number := o.shard
	o.handle(shard.Delivery{Shard: number, Results: results, Ack: func() error {
		q.floors.raise(number, last)
		return nil
	}})
}

// locate finds where owners begin: behind their shards' floors.
func (q *Queue) locate(ctx context.Context, owners []*owner) error {
	// Asked before the shards: what comes in between is above it.
	state, err := q.resultsState(ctx)
	if err != nil {
		return fmt.Errorf("look at %s: %w", q.names.results, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for _, o := range owners {
		group.Go(func() error {
			at, err := q.resume(ctx, o.shard)
			if err != nil {
				return err
			}
			// The floor itself stays far behind where a shard has little to say.
			next, _, err := q.firstFrom(ctx, q.names.results, q.names.shard(o.shard), at.Sequence+1)
			if err != nil {
				return fmt.Errorf("find the first result of shard %d: %w", o.shard, err)
			}
			if next == 0 {
				next = max(state.Last, at.Sequence) + 1
			}
			o.next, o.given = next, 0
			return nil
		})
	}
	return wrap("locate", group.Wait())
}

// resume returns a shard's floor, none if it belongs to messages that were lost.
func (q *Queue) resume(ctx context.Context, number int) (floor, error) {
	at, err := q.floors.load(ctx, number)
	if err != nil || at.Sequence == 0 {
		return floor{}, err
	}
	known, err := q.knows(ctx, at)
	if err != nil {
		return floor{}, fmt.Errorf("look at the floor of shard %d: %w", number, err)
	}
	if known {
		return at, nil
	}
	q.log.Error("NATS has lost messages that it had acknowledged, as a power cut does: what ended in the last moment before may run again; what is left of the results is read again",
		"shard", number, "known_up_to", at.Sequence)
	q.floors.forget(number)
	return floor{}, nil
}

// knows reports whether RESULTS has gone past a floor, and with the same message.
func (q *Queue) knows(ctx context.Context, at floor) (bool, error) {
	if at.Sequence == 0 {
		return true, nil
	}
	sequence, stamp, err := q.firstFrom(ctx, q.names.results, q.names.prefix+"results.>", at.Sequence)
	if err != nil {
		return false, err
	}
	if sequence == at.Sequence {
		return stamp.Equal(at.At), nil
	}
	// The message was trimmed, or it was lost and nothing has come after it.
	state, err := q.resultsState(ctx)
	return state.Last >= at.Sequence, err
}
