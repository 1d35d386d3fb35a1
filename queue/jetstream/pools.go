package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/singleflight"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// How pools live.
const (
	// maxPools bounds the pools in use at once: each has two consumers, at which every idle executor that serves it has
	// requests standing.
	maxPools = engine.MaxPools
	// poolRefresh is how long a publisher to a pool believes that the table has it.
	poolRefresh = 5 * time.Minute
	// poolKept is how long an empty pool stays without a publisher. It is far above poolRefresh, so
	// that no engine publishes to a pool that it only believes to exist.
	poolKept = 30 * time.Minute
	// poolPause is how long the queue does not look for room after there was none.
	poolPause = 5 * time.Second
	// poolLook is how often an executor reads the table without a notification.
	poolLook = 10 * time.Second
)

// pool is the queues of one tier for executors with certain labels: tasks.<tier>-<hash>.<class>.<run>. All pools
// that are in use stand in one table, the entry "pools" of LEASES. Publishers write it. Each executor reads it
// and pulls from the pools that it may serve (ADR 24). The tiers themselves, without labels, are no part of the table.
type pool struct {
	Tier   spec.Tier         `json:"tier"`
	RunsOn map[string]string `json:"runs_on"`
	// Used is when a publisher last recorded that it is in use; at most once in poolRefresh.
	Used time.Time `json:"used"`
}

type poolTable struct {
	Pools []pool `json:"pools"`
}

// token is the pool's part of a subject; that of a tier without labels is the tier's name.
func (p *pool) token() string { return poolToken(p.Tier, p.RunsOn) }

func poolToken(tier spec.Tier, runsOn map[string]string) string {
	if len(runsOn) == 0 {
		return string(tier)
	}
	hash := sha256.Sum256([]byte(spec.RunsOnText(runsOn)))
	return string(tier) + "-" + hex.EncodeToString(hash[:8])
}

// pools is what this process, as a publisher, knows of the table.
type pools struct {
	opening singleflight.Group
	mu      sync.Mutex
	known   map[string]time.Time // by token: until when the table is believed to have it
	refused map[string]time.Time // by token: until when there is taken to be no room for it
}

func (p *pools) has(token string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.known[token])
}

func (p *pools) learn(token string, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = make(map[string]time.Time)
	}
	p.known[token] = until
}

// crowded reports whether there was no room for a pool a moment ago. Each run that waits for room is published again every second.
func (p *pools) crowded(token string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.refused[token])
}

func (p *pools) refuse(token string, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(p.refused, func(_ string, until time.Time) bool { return now.After(until) })
	if p.refused == nil {
		p.refused = make(map[string]time.Time)
	}
	p.refused[token] = until
}

// forget believes nothing any more: the NATS that answers now may be another one.
func (p *pools) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.known)
	clear(p.refused)
}

// readPools returns the table and its revision, 0 if there is none yet.
func (q *Queue) readPools(ctx context.Context) (poolTable, uint64, error) {
	var table poolTable
	last, err := q.last(ctx, "KV_"+q.names.leases, q.names.entry("pools"))
	if err != nil || last == nil {
		return table, 0, wrap("read the pools of labels", err)
	}
	if isMarker(last) {
		return table, last.sequence, nil
	}
	return table, last.sequence, wrap("read the pools of labels", json.Unmarshal(last.data, &table))
}

// writePools replaces the table if its revision is still the one that was read.
func (q *Queue) writePools(ctx context.Context, table poolTable, revision uint64) error {
	message := newOutgoing(q.names.entry("pools"))
	var err error
	if message.Data, err = json.Marshal(table); err != nil {
		return err
	}
	_, err = q.publish(ctx, message, &revision)
	return err
}

// tooManyPoolsError reports that no pool can be added.
type tooManyPoolsError struct{ runsOn map[string]string }

func (e *tooManyPoolsError) Error() string {
	return fmt.Sprintf("%d different tiers and sets of labels in runs_on are in use, and more are not kept apart: %s waits until one of them "+
		"has been empty for %s; let jobs share sets", maxPools, spec.RunsOnText(e.runsOn), poolKept)
}

// openPool makes sure that a pool is in the table, and that it has its consumers. Of any number of callers one does it.
func (q *Queue) openPool(tier spec.Tier, runsOn map[string]string) error {
	token := poolToken(tier, runsOn)
	_, err, _ := q.pools.opening.Do(token, func() (any, error) {
		if q.pools.has(token) {
			return nil, nil
		}
		if q.pools.crowded(token) {
			return nil, &tooManyPoolsError{runsOn}
		}
		ctx, cancel := context.WithTimeout(q.closing, 2*q.config.Timeout)
		defer cancel()
		began := time.Now()
		err := q.enterPool(ctx, pool{Tier: tier, RunsOn: runsOn})
		for try := 0; errors.Is(err, errConflict) && pause(ctx, backoff(try)); try++ { // another node has changed the table
			err = q.enterPool(ctx, pool{Tier: tier, RunsOn: runsOn})
		}
		if many := (*tooManyPoolsError)(nil); errors.As(err, &many) {
			q.pools.refuse(token, time.Now().Add(poolPause))
		}
		if err != nil {
			return nil, fmt.Errorf("open the queues of executors with %s: %w", spec.RunsOnText(runsOn), err)
		}
		q.pools.learn(token, began.Add(poolRefresh))
		return nil, nil
	})
	return err
}

// enterPool puts a pool into the table, or says that it is in use. The consumers come before that, so that an executor which
// reads of a pool finds them.
func (q *Queue) enterPool(ctx context.Context, wanted pool) error {
	table, revision, err := q.readPools(ctx)
	if err != nil {
		return err
	}
	token := wanted.token()
	at := slices.IndexFunc(table.Pools, func(p pool) bool { return p.token() == token })
	if at >= 0 && !maps.Equal(table.Pools[at].RunsOn, wanted.RunsOn) {
		return fmt.Errorf("%s and %s have the same hash: change a value of one of them", spec.RunsOnText(table.Pools[at].RunsOn), spec.RunsOnText(wanted.RunsOn))
	}
	if at < 0 && len(table.Pools) >= maxPools {
		if left, err := q.dropPools(ctx, time.Now()); err != nil {
			return err
		} else if left >= maxPools {
			return &tooManyPoolsError{wanted.RunsOn}
		}
		return errConflict // look again
	}
	if err := q.ensurePoolConsumers(ctx, []pool{wanted}); err != nil {
		return err
	}
	wanted.Used = time.Now().UTC().Truncate(time.Second)
	if at >= 0 {
		if wanted.Used.Sub(table.Pools[at].Used) < poolRefresh/2 {
			return nil // another node has said so
		}
		table.Pools[at].Used = wanted.Used
		return q.writePools(ctx, table, revision)
	}
	table.Pools = append(table.Pools, wanted)
	if err := q.writePools(ctx, table, revision); err != nil {
		return err
	}
	q.log.Info("a pool of labels is in use", "tier", wanted.Tier, "runs_on", spec.RunsOnText(wanted.RunsOn))
	q.tellOfPools()
	return nil
}

// SweepPools removes pools without a recent publisher, at now, and in which nothing waits, and makes consumers that were
// lost.
func (q *Queue) SweepPools(ctx context.Context, now time.Time) error {
	names, err := q.taskConsumers(ctx) // before the table is read: a pool that comes meanwhile is in it
	if err != nil {
		return wrap("jetstream: sweep pools", err)
	}
	if _, err := q.dropPools(ctx, now); err != nil && !errors.Is(err, errConflict) { // another node was faster
		return wrap("jetstream: sweep pools", err)
	}
	table, _, err := q.readPools(ctx)
	if err != nil {
		return wrap("jetstream: sweep pools", err)
	}
	wanted := make(map[string]bool)
	var lost []pool // enrolled executors cannot make consumers again
	for _, p := range append(plainPools(), table.Pools...) {
		for _, class := range classes {
			consumer := taskConsumer(p.token(), string(class))
			wanted[consumer] = true
			if !slices.Contains(names, consumer) {
				lost = append(lost, p)
			}
		}
	}
	if err := q.ensurePoolConsumers(ctx, lost); err != nil {
		return wrap("jetstream: sweep pools", err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, consumerPrefix) && !wanted[name] {
			q.removeTaskConsumer(ctx, name)
		}
	}
	return nil
}

// dropPools takes what is empty and out of use from the table, and returns how many pools are left.
func (q *Queue) dropPools(ctx context.Context, now time.Time) (left int, err error) {
	table, revision, err := q.readPools(ctx)
	if err != nil {
		return 0, err
	}
	kept := make([]pool, 0, len(table.Pools))
	for _, p := range table.Pools {
		if now.Sub(p.Used) > poolKept {
			waiting, err := q.last(ctx, q.names.tasks, q.names.task(p.token(), "*", "*"))
			if err != nil {
				return 0, err
			}
			if waiting == nil {
				q.log.Info("a pool of labels is out of use", "tier", p.Tier, "runs_on", spec.RunsOnText(p.RunsOn))
				continue
			}
		}
		kept = append(kept, p)
	}
	if len(kept) == len(table.Pools) {
		return len(kept), nil
	}
	if err := q.writePools(ctx, poolTable{kept}, revision); err != nil {
		return 0, err
	}
	q.tellOfPools()
	return len(kept), nil
}

// tellOfPools lets executors read the table.
func (q *Queue) tellOfPools() {
	if err := q.conn.Publish(q.names.poolsChanged(), nil); err != nil {
		q.log.Debug("could not notify executors of a change of the pools; they find it by themselves", "error", err)
	}
}

// removeTaskConsumer removes one of a pool that is gone. An executor that still has requests there reads the table.
func (q *Queue) removeTaskConsumer(ctx context.Context, name string) {
	if err := q.ask(ctx, "CONSUMER.DELETE."+q.names.tasks+"."+name, struct{}{}, nil); err != nil {
		q.log.Debug("a consumer was not removed", "consumer", name, "error", err)
	}
}

// taskConsumers lists the consumers of TASKS.
func (q *Queue) taskConsumers(ctx context.Context) (names []string, err error) {
	for {
		var page struct {
			Total     int      `json:"total"`
			Consumers []string `json:"consumers"`
		}
		if err := q.ask(ctx, "CONSUMER.NAMES."+q.names.tasks, map[string]int{"offset": len(names)}, &page); err != nil {
			return nil, fmt.Errorf("list the consumers of %s: %w", q.names.tasks, err)
		}
		names = append(names, page.Consumers...)
		if len(page.Consumers) == 0 || len(names) >= page.Total {
			return names, nil
		}
	}
}

// plainPools are the tiers themselves.
func plainPools() []pool {
	all := make([]pool, 0, len(tiers))
	for _, tier := range tiers {
		all = append(all, pool{Tier: tier})
	}
	return all
}

// consumerConfig is how the consumer of a pool and class is made.
func (q *Queue) consumerConfig(p *pool, class spec.Class) jetstream.ConsumerConfig {
	config := jetstream.ConsumerConfig{
		Durable: taskConsumer(p.token(), string(class)), FilterSubject: q.names.task(p.token(), string(class), ">"),
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.config.AckWait, MaxDeliver: -1,
		MaxAckPending: -1, MaxWaiting: 16384,
		PriorityPolicy: jetstream.PriorityPolicyPrioritized, PriorityGroups: []string{priorityGroup},
	}
	if len(p.RunsOn) > 0 { // for an operator who lists the consumers
		config.Description = fmt.Sprintf("Tidewheel: %s %s tasks for executors with %s", p.Tier, class, spec.RunsOnText(p.RunsOn))
	}
	return config
}

// poolDepths returns the depths of the pools of a tier and class, in the order of their labels.
func (q *Queue) poolDepths(ctx context.Context, table []pool, tier spec.Tier, class spec.Class) ([]engine.PoolDepth, error) {
	var depths []engine.PoolDepth
	for i := range table {
		if table[i].Tier != tier {
			continue
		}
		depth, err := q.depth(ctx, table[i].token(), class)
		if err != nil {
			return nil, err
		}
		depth.RunsOn = table[i].RunsOn
		depths = append(depths, depth)
	}
	slices.SortFunc(depths, func(a, b engine.PoolDepth) int {
		return strings.Compare(spec.RunsOnText(a.RunsOn), spec.RunsOnText(b.RunsOn))
	})
	return depths, nil
}
