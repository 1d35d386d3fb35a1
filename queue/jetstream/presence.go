package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Announce announces that this executor is alive for the next ttl; with ttl 0 that it is not any more.
func (q *Queue) Announce(ctx context.Context, presence engine.Presence, ttl time.Duration) error {
	if !engine.ValidID(presence.ID) {
		return fmt.Errorf("jetstream: announce: %q is no executor id", presence.ID)
	}
	key := presence.ID
	if q.config.Enrolled != nil { // who may write its own entry only, whatever its id is in this life
		key = q.config.Enrolled.Name
	}
	return wrap("jetstream: announce executor "+presence.ID, q.announce(ctx, q.names.executor(key), presence, ttl))
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
		if err := json.Unmarshal(entry.data, &presence); err != nil {
			q.log.Warn("an executor's presence cannot be read", "key", entry.subject, "error", err)
			continue
		}
		presence.Ahead, presence.Seen = presence.Seen.Sub(entry.at), entry.at
		present = append(present, presence)
	}
	slices.SortFunc(present, func(a, b engine.Presence) int { return cmp.Compare(a.ID, b.ID) })
	return present, nil
}

// Depths returns the number of waiting tasks in each tier and class, premium first, what is for executors with certain labels
// included.
func (q *Queue) Depths(ctx context.Context) ([]engine.QueueDepth, error) {
	table, _, err := q.readPools(ctx)
	if err != nil {
		return nil, fmt.Errorf("jetstream: queue depths: %w", err)
	}
	depths := make([]engine.QueueDepth, len(tiers)*len(classes))
	group, ctx := errgroup.WithContext(ctx)
	for i, tier := range tiers {
		for j, class := range classes {
			group.Go(func() error {
				own, err := q.depth(ctx, string(tier), class)
				if err != nil {
					return err
				}
				depth := engine.QueueDepth{Tier: tier, Class: class, Waiting: own.Waiting, Claimed: own.Claimed, Pulls: own.Pulls, Oldest: own.Oldest}
				if depth.Pools, err = q.poolDepths(ctx, table.Pools, tier, class); err != nil {
					return err
				}
				for _, p := range depth.Pools {
					depth.Waiting, depth.Claimed = depth.Waiting+p.Waiting, depth.Claimed+p.Claimed
					if depth.Oldest.IsZero() || !p.Oldest.IsZero() && p.Oldest.Before(depth.Oldest) {
						depth.Oldest = p.Oldest
					}
				}
				depths[i*len(classes)+j] = depth
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("jetstream: queue depths: %w", err)
	}
	return depths, nil
}

// depth is what waits in a class of a tier's own queues, or of a pool.
func (q *Queue) depth(ctx context.Context, pool string, class spec.Class) (depth engine.PoolDepth, err error) {
	info, err := q.consumerInfo(ctx, q.names.tasks, taskConsumer(pool, string(class)))
	if err != nil || info == nil {
		return depth, err
	}
	// What an executor has given back counts as delivered at the server until it is acknowledged, however long no executor takes it.
	depth.Claimed, depth.Pulls = uint64(max(info.AckPending, 0)), info.Waiting
	depth.Waiting = info.Pending + depth.Claimed
	if depth.Waiting > 0 {
		_, depth.Oldest, err = q.firstFrom(ctx, q.names.tasks, q.names.task(pool, string(class), ">"), 1)
	}
	return depth, err
}

// WatchLeaving calls left with the id of each executor that withdraws its presence, until ctx ends. Of one whose presence runs out it
// is not called, nor of one that withdraws while there is no connection.
func (q *Queue) WatchLeaving(ctx context.Context, left func(id string)) error {
	ids := map[string]string{} // by key, which is another one where executors are enrolled
	for failures := 0; ; failures++ {
		err := q.watch(ctx, q.names.leases, []string{"executor.>"}, func() bool { return true }, func(entry *stored) {
			if !isMarker(entry) {
				failures = 0
				var presence engine.Presence
				if json.Unmarshal(entry.data, &presence) == nil {
					ids[entry.subject] = presence.ID
				}
				return
			}
			if id, known := ids[entry.subject]; known && entry.header.Get("KV-Operation") != "" {
				left(id)
			}
			delete(ids, entry.subject)
		})
		if ctx.Err() != nil {
			return nil
		}
		if !errors.Is(err, errStale) {
			q.log.Warn("executors cannot be watched; trying again", "error", err)
		}
		if !pause(ctx, backoff(failures)) {
			return nil
		}
	}
}
