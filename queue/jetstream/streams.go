package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/tidewheel/tidewheel/engine"
)

// priorityGroup is the one group of every task consumer: its members differ in their priorities.
const priorityGroup = "executors"

// startPatience is how long a cluster may take to choose its leaders, and its servers to know each other. While it does, it does not
// answer, or has no place for a stream.
const startPatience = 30 * time.Second

// ensureAll makes streams, buckets and consumers, or brings them to this configuration.
func (q *Queue) ensureAll(ctx context.Context) error {
	limit := time.Now().Add(startPatience)
	for try := 0; ; try++ {
		err := q.ensureOnce(ctx)
		if err == nil || !forming(err) || time.Now().After(limit) || ctx.Err() != nil {
			return err
		}
		q.log.Warn("jetstream is not ready; trying again", "error", err)
		if !pause(ctx, backoff(try)) {
			return err
		}
	}
}

// forming reports whether an error is one of a cluster that chooses a leader, or whose servers do not all know each other: silence, or
// the server's word that it is not available now, or has too few servers.
func forming(err error) bool {
	var refused *jetstream.APIError
	if errors.As(err, &refused) {
		return slices.Contains([]jetstream.ErrorCode{10005, 10008, 10009}, refused.ErrorCode) // no peers, not available, no leader
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrDisconnected) ||
		errors.Is(err, nats.ErrConnectionReconnecting)
}

func (q *Queue) ensureOnce(ctx context.Context) error {
	if _, err := q.js.AccountInfo(ctx); err != nil {
		if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
			return fmt.Errorf("jetstream: %s has no JetStream for this account: start it with -js, or enable it for the account", q.config.address())
		}
		return fmt.Errorf("jetstream: ask %s for JetStream: %w", q.config.address(), err)
	}
	// CreateOrUpdate of two processes at once can fail in one of them; the second look finds what the other made.
	err := q.ensureStreams(ctx)
	for try := 0; err != nil && try < 3 && pause(ctx, backoff(try)); try++ {
		err = q.ensureStreams(ctx)
	}
	if err != nil {
		return q.explain(err)
	}
	return q.ensureTaskConsumers(ctx)
}

func (q *Queue) explain(err error) error {
	var refused *jetstream.APIError
	if errors.As(err, &refused) && (refused.ErrorCode == 10074 || refused.ErrorCode == 10005) {
		return fmt.Errorf("jetstream: %s cannot keep %d replicas: it is no cluster, or has too few servers: %w", q.config.address(), q.config.Replicas, err)
	}
	return fmt.Errorf("jetstream: %s: %w", q.config.address(), err)
}

func (q *Queue) ensureStreams(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		_, err := q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: q.names.tasks, Description: "Tidewheel: attempts that wait for an executor",
			Subjects:  []string{q.names.prefix + "tasks.>"},
			Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Replicas: q.config.Replicas,
			// A run waits at most once: a second copy is refused until the first is acknowledged.
			MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
			// No message ids are sent (ADR 5); the window is as small as JetStream allows.
			Duplicates: 100 * time.Millisecond, AllowDirect: true,
		})
		return wrap("make stream "+q.names.tasks, err)
	})
	group.Go(func() error {
		_, err := q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: q.names.results, Description: "Tidewheel: what executors report; an attempt is decided on its subject",
			Subjects:  []string{q.names.prefix + "results.>"},
			Retention: jetstream.LimitsPolicy, Storage: jetstream.FileStorage, Replicas: q.config.Replicas,
			Duplicates: 100 * time.Millisecond, AllowDirect: true,
		})
		return wrap("make stream "+q.names.results, err)
	})
	group.Go(func() error { return q.ensureLocks(ctx) })
	group.Go(func() error {
		_, err := q.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: q.names.leases, Description: "Tidewheel: who is alive, and how far each shard has read its results",
			History: 1, Storage: jetstream.FileStorage, Replicas: q.config.Replicas, LimitMarkerTTL: time.Second,
		})
		return wrap("make bucket "+q.names.leases, err)
	})
	return group.Wait()
}

func (q *Queue) ensureTaskConsumers(ctx context.Context) error {
	return q.ensurePoolConsumers(ctx, plainPools())
}

// ensurePoolConsumers makes the consumers of pools.
func (q *Queue) ensurePoolConsumers(ctx context.Context, wanted []pool) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range wanted {
		for _, class := range classes {
			group.Go(func() error {
				config := q.consumerConfig(&wanted[i], class)
				_, err := q.js.CreateOrUpdateConsumer(ctx, q.names.tasks, config)
				return wrap("make consumer "+config.Durable, err)
			})
		}
	}
	err := group.Wait()
	var refused *jetstream.APIError
	if errors.As(err, &refused) {
		return fmt.Errorf("jetstream: %w (NATS 2.12 or later is needed)", err)
	}
	return wrap("jetstream", err)
}

// shards lists all shard numbers.
func shards() []int {
	all := make([]int, engine.Shards)
	for i := range all {
		all[i] = i
	}
	return all
}

func wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", operation, err)
}
