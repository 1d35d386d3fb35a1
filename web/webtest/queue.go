package webtest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
)

// Queue reaches no executor, and records its calls.
type Queue struct {
	// Watching receives each time a client begins to watch a log.
	Watching chan string

	looked    chan struct{}
	mu        sync.Mutex
	wakes     []engine.Wake
	frames    chan engine.LogFrame
	executors []engine.Presence
	depths    []engine.QueueDepth
	streams   []engine.Stream
	engines   []engine.EnginePresence
	owners    [engine.Shards]string
	down      error
}

// NewQueue makes one.
func NewQueue() *Queue {
	q := &Queue{Watching: make(chan string, 100), frames: make(chan engine.LogFrame), looked: make(chan struct{}, 1)}
	q.SetEngines(engine.EnginePresence{ID: "engine-1", Host: "quay", Version: "v0-test", Since: Start, Seen: Start})
	return q
}

// Fail makes the queue answer with an error; nil mends it.
func (q *Queue) Fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.down = err
}

// Wakes returns what the engine was woken with.
func (q *Queue) Wakes() []engine.Wake {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]engine.Wake(nil), q.wakes...)
}

// SetExecutors says who is alive.
func (q *Queue) SetExecutors(executors ...engine.Presence) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.executors = executors
}

// SetEngines sets which engines are alive. They share the shards evenly; if there is none, the shards have no owner.
func (q *Queue) SetEngines(engines ...engine.EnginePresence) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.engines, q.owners = engines, [engine.Shards]string{}
	for shard := range q.owners {
		if len(engines) > 0 {
			q.owners[shard] = engines[shard%len(engines)].ID
		}
	}
}

// Orphan takes the first shards from the engines that own them.
func (q *Queue) Orphan(count int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.owners[:count])
}

// Engines implements service.Queue.
func (q *Queue) Engines(context.Context) ([]engine.EnginePresence, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.engines, q.down
}

// ShardOwners implements service.Queue.
func (q *Queue) ShardOwners(context.Context) ([engine.Shards]string, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.owners, q.down
}

// OrderDrain implements service.Queue: the executor obeys at once.
func (q *Queue) OrderDrain(_ context.Context, executor string, order engine.DrainOrder) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.executors = slices.Clone(q.executors)
	for i := range q.executors {
		if q.executors[i].ID == executor && q.down == nil {
			q.executors[i].Draining, q.executors[i].Drain = order.Draining, &order
		}
	}
	return q.down
}

// SetDepths sets what waits.
func (q *Queue) SetDepths(depths ...engine.QueueDepth) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.depths = depths
}

// SetStreams sets how large the streams are.
func (q *Queue) SetStreams(streams ...engine.Stream) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.streams = streams
}

// Streams implements service.Queue.
func (q *Queue) Streams(context.Context) ([]engine.Stream, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.streams, q.down
}

// Say sends live output to the client that watches, and waits until the client has taken it.
func (q *Queue) Say(ctx context.Context, frame engine.LogFrame) error {
	select {
	case q.frames <- frame:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// PublishWake implements service.Queue.
func (q *Queue) PublishWake(_ context.Context, wake engine.Wake) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wakes = append(q.wakes, wake)
	return q.down
}

// WatchLog implements service.Queue.
func (q *Queue) WatchLog(ctx context.Context, run string, _ int, handle func(engine.LogFrame)) error {
	if err := q.Ping(ctx); err != nil {
		return err
	}
	select {
	case q.Watching <- run:
	default:
	}
	for {
		select {
		case frame := <-q.frames:
			handle(frame)
		case <-ctx.Done():
			return nil
		}
	}
}

// Executors implements service.Queue.
func (q *Queue) Executors(context.Context) ([]engine.Presence, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.executors, q.down
}

// Looks receives after each call that reads the queue's depths; calls that no test waits for count as one.
func (q *Queue) Looks() <-chan struct{} { return q.looked }

// Looked waits for a call, since the last time, that reads the queue's depths.
func (q *Queue) Looked(t testing.TB) {
	t.Helper()
	select {
	case <-q.looked:
	case <-t.Context().Done():
		t.Fatal("no call was made")
	}
}

// Depths implements service.Queue.
func (q *Queue) Depths(context.Context) ([]engine.QueueDepth, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	select { // under the lock: who hears of it and sets others does not change what this look finds
	case q.looked <- struct{}{}:
	default:
	}
	return q.depths, q.down
}

// Ping implements service.Queue.
func (q *Queue) Ping(context.Context) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.down
}
