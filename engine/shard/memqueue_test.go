package shard_test

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// memQueue is a queue in memory with executors that take a while for each task.
type memQueue struct {
	takes time.Duration // of one attempt

	mu       sync.Mutex
	sequence uint64
	shards   [engine.Shards]shardLog
	latest   map[string]engine.Result // by attempt
	claimed  map[string]int           // attempt → how often it was started
	tasks    map[string]bool
	wakes    chan engine.Wake
	work     sync.WaitGroup
	refusing bool // publications fail
	failing  bool // programs end with 1
	asked    int  // how often it was asked how an attempt stands
}

// shardLog is what executors have reported for one shard.
type shardLog struct {
	changed chan struct{} // closed and recreated with each message
	log     []engine.Result
	acked   uint64
}

func newMemQueue(takes time.Duration) *memQueue {
	q := &memQueue{
		takes: takes, latest: map[string]engine.Result{}, claimed: map[string]int{}, tasks: map[string]bool{}, wakes: make(chan engine.Wake, 16),
	}
	for number := range q.shards {
		q.shards[number].changed = make(chan struct{})
	}
	return q
}

func attemptName(run string, attempt int) string { return run + "." + strconv.Itoa(attempt) }

func (q *memQueue) last(run string, attempt int) (engine.Result, bool) {
	last, found := q.latest[attemptName(run, attempt)]
	return last, found
}

// report appends a message if the attempt's last one is still the one with this sequence; under the lock.
func (q *memQueue) report(result engine.Result, after uint64) (uint64, bool) {
	last, _ := q.last(result.Run, result.Attempt)
	if last.Sequence != after {
		return 0, false
	}
	q.sequence++
	result.Sequence = q.sequence
	result.At = time.Now()
	q.latest[attemptName(result.Run, result.Attempt)] = result
	own := &q.shards[result.Shard]
	own.log = append(own.log, result)
	close(own.changed)
	own.changed = make(chan struct{})
	return result.Sequence, true
}

func (q *memQueue) Publish(task *engine.Task, done func(error)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	name := attemptName(task.Run, task.Attempt)
	if q.refusing {
		q.work.Go(func() { done(context.DeadlineExceeded) })
		return
	}
	if !q.tasks[name] {
		q.tasks[name] = true
		copied := *task
		q.work.Go(func() { q.execute(&copied) })
	}
	q.work.Go(func() { done(nil) })
}

func (q *memQueue) execute(task *engine.Task) {
	result := engine.Result{Kind: engine.ResultStarted, Run: task.Run, Attempt: task.Attempt, Shard: task.Shard, Executor: "x", Token: 1}
	q.mu.Lock()
	delete(q.tasks, attemptName(task.Run, task.Attempt))
	sequence, ok := q.report(result, 0)
	if ok {
		q.claimed[attemptName(task.Run, task.Attempt)]++
	}
	q.mu.Unlock()
	if !ok {
		return
	}
	began := time.Now()
	<-time.After(q.takes)
	code := 0
	result.Kind = engine.ResultFinished
	result.Finish = &engine.Finish{Status: engine.StatusSucceeded, ExitCode: &code, StartedAt: began, FinishedAt: time.Now()}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failing {
		code, result.Finish.Status = 1, engine.StatusFailed
	}
	q.report(result, sequence)
}

func (q *memQueue) Revoke(_ context.Context, of core.Revoke) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, ok := q.report(engine.Result{Kind: engine.ResultRevoked, Run: of.Run, Attempt: of.Attempt, Shard: of.Shard}, 0)
	return ok, nil
}

func (q *memQueue) Inspect(_ context.Context, of core.Inspect) (engine.AttemptState, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asked++
	last, found := q.last(of.Run, of.Attempt)
	if !found {
		return engine.AttemptState{}, nil
	}
	state := engine.AttemptState{Last: last.Kind, Sequence: last.Sequence}
	if last.Kind == engine.ResultStarted {
		state.LockHeld, state.LockUntil = true, time.Now().Add(10*time.Second)
	}
	return state, nil
}

func (q *memQueue) DeclareLost(_ context.Context, number int, run string, attempt int, after uint64) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, ok := q.report(engine.Result{Kind: engine.ResultLost, Run: run, Attempt: attempt, Shard: number}, after)
	return ok, nil
}

func (q *memQueue) Ask(context.Context, engine.Control) error { return nil }

func (q *memQueue) Results(ctx context.Context, number int, handle func(shard.Delivery)) error {
	own := &q.shards[number]
	q.mu.Lock()
	from := 0
	for from < len(own.log) && own.log[from].Sequence <= own.acked {
		from++
	}
	q.mu.Unlock()
	for {
		q.mu.Lock()
		batch := slices.Clone(own.log[from:])
		from = len(own.log)
		changed := own.changed
		q.mu.Unlock()
		if len(batch) > 0 {
			upTo := batch[len(batch)-1].Sequence
			handle(shard.Delivery{Shard: number, Results: batch, Ack: func() error {
				q.mu.Lock()
				defer q.mu.Unlock()
				own.acked = max(own.acked, upTo)
				return nil
			}})
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

func (q *memQueue) Wakes(ctx context.Context, handle func(engine.Wake)) error {
	for {
		select {
		case wake := <-q.wakes:
			handle(wake)
		case <-ctx.Done():
			return nil
		}
	}
}

// begun returns the attempts that have been started.
func (q *memQueue) begun() map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.claimed)
}
