package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tidewheel/tidewheel/engine"
)

// Announce says that this executor is alive for the next ttl; with ttl 0 that it is not any more.
func (q *Queue) Announce(ctx context.Context, presence engine.Presence, ttl time.Duration) error {
	if !engine.ValidID(presence.ID) {
		return fmt.Errorf("jetstream: announce: %q is no executor id", presence.ID)
	}
	return wrap("jetstream: announce executor "+presence.ID, q.announce(ctx, q.names.executor(presence.ID), presence, ttl))
}

// Executors lists who is alive, in the order of their ids.
func (q *Queue) Executors(ctx context.Context) ([]engine.Presence, error) {
	entries, err := q.entries(ctx, q.names.leases, "executor.>")
	if err != nil {
		return nil, fmt.Errorf("jetstream: list executors: %w", err)
	}
	present := make([]engine.Presence, 0, len(entries))
	for _, entry := range entries {
		var presence engine.Presence
		if err := json.Unmarshal(entry.Value(), &presence); err != nil {
			q.log.Warn("an executor's presence cannot be read", "key", entry.Key(), "error", err)
			continue
		}
		presence.Ahead, presence.Seen = presence.Seen.Sub(entry.Created()), entry.Created()
		present = append(present, presence)
	}
	slices.SortFunc(present, func(a, b engine.Presence) int { return cmp.Compare(a.ID, b.ID) })
	return present, nil
}

// entries lists what a bucket holds under a pattern of keys.
func (q *Queue) entries(ctx context.Context, bucket, keys string) (found []jetstream.KeyValueEntry, err error) {
	kv, err := q.js.KeyValue(ctx, bucket)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", bucket, err)
	}
	watcher, err := kv.Watch(ctx, keys, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, fmt.Errorf("list bucket %s: %w", bucket, err)
	}
	defer func() {
		if stopErr := watcher.Stop(); err == nil {
			err = wrap("list bucket "+bucket, stopErr)
		}
	}()
	for {
		select {
		case entry := <-watcher.Updates():
			if entry == nil { // all that was there
				return found, nil
			}
			found = append(found, entry)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Depths tells what waits and runs in each tier and class, premium first.
func (q *Queue) Depths(ctx context.Context) ([]engine.QueueDepth, error) {
	depths := make([]engine.QueueDepth, 0, len(tiers)*len(classes))
	for _, tier := range tiers {
		for _, class := range classes {
			info, err := q.consumerInfo(ctx, q.names.tasks, taskConsumer(string(tier), string(class)))
			if err != nil {
				return nil, fmt.Errorf("jetstream: queue depths: %w", err)
			}
			depth := engine.QueueDepth{Tier: tier, Class: class}
			if info != nil {
				depth.Waiting, depth.Claimed, depth.Pulls = info.Pending, uint64(max(info.AckPending, 0)), info.Waiting
			}
			if depth.Waiting > 0 {
				question := nextQuestion{Subject: q.names.task(string(tier), string(class), ">"), Sequence: info.Delivered.Stream + 1}
				if _, depth.Oldest, err = q.following(ctx, q.names.tasks, question); err != nil {
					return nil, fmt.Errorf("jetstream: queue depths: %w", err)
				}
			}
			depths = append(depths, depth)
		}
	}
	return depths, nil
}
