package main

import (
	"context"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/internal/tracing"
)

// outcomeFired is how the slots are counted that have a run, beside the outcomes of the ledger.
const outcomeFired = "fired"

// countingStore counts what happens to runs and slots once it is durable, and sends their traces.
type countingStore struct {
	shard.Store
	metrics *metrics
	stored  *storedBytes
	slots   *slotCounts
	traces  *tracing.Tracer // nil: none are sent
}

func newCountingStore(store shard.Store, metrics *metrics, stored *storedBytes, traces *tracing.Tracer) countingStore {
	return countingStore{Store: store, metrics: metrics, stored: stored, slots: &slotCounts{metrics: metrics}, traces: traces}
}

// Take takes a shard.
func (s countingStore) Take(ctx context.Context, shard int, owner string) (engine.Term, error) {
	began := time.Now()
	term, err := s.Store.Take(ctx, shard, owner)
	if err == nil {
		s.metrics.taken.Inc()
		s.slots.taken(shard, began)
	}
	return term, err
}

// Commit passes commits on. After an error nothing is counted: the commit comes again.
func (s countingStore) Commit(ctx context.Context, commits []engine.ShardCommit) []error {
	answers := s.Store.Commit(ctx, commits)
	for i := range commits {
		commit := &commits[i]
		if answers[i] != nil {
			continue
		}
		decision := commit.Batch
		for k := range decision.Runs {
			if run := &decision.Runs[k]; run.Status.Terminal() {
				s.metrics.ended.WithLabelValues(run.Status.String()).Inc()
				s.stored.ended(run)
			}
		}
		s.metrics.letters.Add(float64(len(decision.DeadLetters)))
		s.slots.committed(commit.Shard, decision)
		s.trace(decision)
	}
	return answers
}

// slotCounts counts each slot once. The documents that it sees come again as they change, so it remembers of each shard the runs
// under way and the ranges of the ledger that may still grow.
type slotCounts struct {
	metrics *metrics

	mu     sync.Mutex
	shards [engine.Shards]slotsOfShard
}

type slotsOfShard struct {
	since  time.Time               // when the shard was taken: what was queued before was counted by its owner then
	fired  map[string]bool         // ids of runs of slots that have not ended
	ranges map[string]countedRange // the last of each job or root, by its uid
}

type countedRange struct {
	id    string
	count int64
}

// taken forgets what is known of a shard.
func (c *slotCounts) taken(shard int, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shards[shard] = slotsOfShard{since: at, fired: map[string]bool{}, ranges: map[string]countedRange{}}
}

func (c *slotCounts) committed(shard int, decision *engine.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.shards[shard]
	if s.fired == nil { // another owner's
		return
	}
	for i := range decision.Runs {
		if s.fires(&decision.Runs[i]) {
			c.metrics.slots.WithLabelValues(outcomeFired).Inc()
		}
	}
	for i := range decision.Slots {
		entry := &decision.Slots[i]
		last := s.ranges[entry.JobUID]
		s.ranges[entry.JobUID] = countedRange{entry.ID, entry.Count}
		if last.id != entry.ID {
			last.count = 0
		}
		c.metrics.slots.WithLabelValues(string(entry.Outcome)).Add(float64(max(entry.Count-last.count, 0)))
	}
	for _, uid := range decision.DropTasks {
		delete(s.ranges, uid)
	}
}

// fires reports whether the slot of a run counts as fired by this form of the run: its first that was queued, or that ended. Of a
// mapped root the first item stands for the slot.
func (s *slotsOfShard) fires(run *engine.Run) bool {
	if run.Slot.IsZero() || run.Item != nil && *run.Item != 0 || run.Status == engine.StatusScheduled ||
		run.Trigger == engine.TriggerUpstream || run.Trigger == engine.TriggerManual || run.Trigger == engine.TriggerEvent {
		return false
	}
	known := s.fired[run.ID]
	if run.Status.Terminal() {
		delete(s.fired, run.ID)
	} else {
		s.fired[run.ID] = true
	}
	at := run.FinishedAt // of one that ended before it was queued
	if len(run.Attempts) > 0 {
		at = run.Attempts[0].QueuedAt
	}
	again := run.Attempt > 1 && run.Failures+run.Losses == 0 // retried manually, after it had ended
	return !known && !again && !at.Before(s.since.Truncate(time.Millisecond))
}
