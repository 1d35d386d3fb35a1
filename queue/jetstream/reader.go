package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tidewheel/tidewheel/engine"
)

// How results are pulled. A pull that stands for long costs nothing while nothing comes.
const (
	resultsBatch   = 1000
	resultsBytes   = 16 << 20
	resultsExpires = 5 * time.Minute
	// leaveDelay is how long the results of shards that were left are still read and thrown away: the others are
	// likely to be left too.
	leaveDelay = time.Second
)

var (
	errStale   = errors.New("the session is stale")
	errChanged = errors.New("other shards are read")
)

// reader reads RESULTS once for all shards that are owned over this connection.
//
// A consumer for each shard is the obvious way, and cost a quarter of all that the queue does for a run: the server
// looks at each message of all shards on behalf of each of them.
//
// It works in sessions, each with a consumer that keeps no state. A session ends when a shard joins, and the next one
// begins at the first message that any shard has still to be given; each shard knows how far it was given. A session
// also ends when the connection was lost, a message is missing or the consumer has gone; then all begin behind their
// floors, because the stream may be another one by now.
type reader struct {
	q *Queue

	mu      sync.Mutex
	owners  []*owner
	changed chan struct{} // holds one
	cancel  context.CancelFunc
	done    chan struct{} // closed when the goroutine has ended; there is one while there are owners
}

func newReader(q *Queue) *reader { return &reader{q: q, changed: make(chan struct{}, 1)} }

func (r *reader) join(o *owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.owners = append(r.owners, o)
	if len(r.owners) == 1 {
		ctx, cancel := context.WithCancel(r.q.closing)
		done := make(chan struct{})
		r.cancel, r.done = cancel, done
		go func() { // the last owner that leaves waits for it
			defer close(done)
			r.run(ctx)
		}()
	}
	r.tell()
}

// leave returns when the owner's handle does not run any more.
func (r *reader) leave(o *owner) {
	o.mu.Lock()
	o.left = true
	o.mu.Unlock()
	r.mu.Lock()
	r.owners = slices.DeleteFunc(r.owners, func(other *owner) bool { return other == o })
	last, cancel, done := len(r.owners) == 0, r.cancel, r.done
	r.tell()
	r.mu.Unlock()
	if last {
		cancel()
		<-done
	}
}

// tell is called with the lock.
func (r *reader) tell() {
	select {
	case r.changed <- struct{}{}:
	default: // signalled already
	}
}

func (r *reader) all() []*owner {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.owners)
}

func (r *reader) run(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		owners := r.all()
		progress, err := r.session(ctx, owners)
		if errors.Is(err, errChanged) || ctx.Err() != nil {
			failures = 0
			continue
		}
		for _, o := range owners {
			o.next = 0
		}
		if !errors.Is(err, errStale) {
			r.q.log.Warn("results interrupted; trying again", "error", err)
		}
		if progress {
			failures = 0
		}
		if !pause(ctx, backoff(failures)) {
			return
		}
		failures++
	}
}

// session is the life of one consumer.
type session struct {
	q        *Queue
	owners   []*owner
	consumer string
	messages chan *nats.Msg
	inbox    string
	pull     int    // number of the last pull, to tell its end from an earlier one's
	asked    int    // messages it may still bring
	next     uint64 // the consumer's own sequence
	position uint64 // of the last message in the stream
	batch    batch
}

func (r *reader) session(ctx context.Context, owners []*owner) (progress bool, err error) {
	q := r.q
	connection := q.listen()
	defer q.ignore(connection)
	if unknown := slices.DeleteFunc(slices.Clone(owners), func(o *owner) bool { return o.next > 0 }); len(unknown) > 0 {
		if err := q.locate(ctx, unknown); err != nil {
			return false, err
		}
	}
	consumer, err := q.makeConsumer(ctx, owners)
	if err != nil {
		return false, err
	}
	defer q.removeConsumer(q.names.results, consumer)
	// Room for all that can be asked for, and for the messages that end pulls: nothing is ever dropped for lack of room.
	s := &session{q: q, owners: owners, consumer: consumer, messages: make(chan *nats.Msg, resultsBatch+16), inbox: q.conn.NewInbox()}
	sub, err := q.conn.ChanSubscribe(s.inbox+".*", s.messages)
	if err != nil {
		return false, fmt.Errorf("subscribe: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection, where nothing is left to undo
	err = s.read(ctx, r, connection)
	for _, o := range owners { // what is not theirs they need not see again
		o.next = max(o.next, s.position+1)
	}
	return s.position > 0, err
}

func (s *session) read(ctx context.Context, r *reader, connection *listener) error {
	watchdog := time.NewTimer(pullSilence)
	defer watchdog.Stop()
	var smaller <-chan time.Time
	for {
		if s.asked <= 0 {
			if err := s.ask(); err != nil {
				return err
			}
			watchdog.Reset(pullSilence)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-connection.again:
			return errStale
		case <-watchdog.C:
			return errStale
		case <-smaller:
			return errChanged
		case <-r.changed:
			now := r.all()
			for _, o := range now {
				if !slices.Contains(s.owners, o) {
					return errChanged
				}
			}
			if len(now) < len(s.owners) {
				smaller = time.After(leaveDelay)
			}
		case message := <-s.messages:
			watchdog.Reset(pullSilence)
			err := s.collect(message)
			s.batch.deliver(s.q, s.owners)
			if err != nil {
				return err
			}
		}
	}
}

func (s *session) ask() error {
	s.pull++
	s.asked = resultsBatch
	payload, err := json.Marshal(pullRequest{Batch: resultsBatch, MaxBytes: resultsBytes, Expires: resultsExpires, Beat: pullHeartbeat})
	if err != nil {
		return fmt.Errorf("encode pull: %w", err)
	}
	subject := "$JS.API.CONSUMER.MSG.NEXT." + s.q.names.results + "." + s.consumer
	return wrap("pull", s.q.conn.PublishRequest(subject, s.inbox+"."+strconv.Itoa(s.pull), payload))
}

// collect reads a message and those that wait behind it.
func (s *session) collect(message *nats.Msg) error {
	for {
		var err error
		if message.Reply == "" {
			err = s.status(message)
		} else {
			err = s.take(message)
		}
		if err != nil || s.batch.full() {
			return err
		}
		select {
		case message = <-s.messages:
		default:
			return nil
		}
	}
}

// take puts a message into the batch.
func (s *session) take(message *nats.Msg) error {
	at, err := readPlace(message)
	if err != nil {
		return err
	}
	if s.next != 0 && at.delivered != s.next {
		return errStale // one before it never arrived
	}
	s.next, s.position = at.delivered+1, at.Sequence
	s.asked--
	number, err := s.q.names.shardOf(message.Subject)
	if err != nil {
		s.q.log.Error("a result is of no shard and is passed over", "subject", message.Subject, "error", err)
		return nil
	}
	if message.Header.Get(headerCarried) != "" {
		s.batch.pass(number, at.floor)
		return nil
	}
	result, err := decodeResult(message.Data)
	if err != nil {
		s.q.log.Error("a result cannot be read and is passed over", "subject", message.Subject, "sequence", at.Sequence, "error", err)
		s.batch.pass(number, at.floor)
		return nil
	}
	result.Sequence = at.Sequence
	s.batch.add(number, result, at.floor)
	return nil
}

// status reads the message that ends a pull.
func (s *session) status(message *nats.Msg) error {
	status := message.Header.Get("Status")
	switch status {
	case "", "100":
		return nil
	case "503":
		return fmt.Errorf("%w: the consumer does not answer", ErrUnavailable)
	}
	if message.Subject != s.inbox+"."+strconv.Itoa(s.pull) {
		return nil
	}
	s.asked = 0
	switch description := message.Header.Get("Description"); {
	case status == "404" || status == "408":
		return nil
	case status == "409" && (description == "Message Size Exceeds MaxBytes" || description == "Batch Completed"):
		return nil
	default:
		return fmt.Errorf("pull ended: %s %s", status, description)
	}
}

// batch is what was read at once, to be handed out by shards.
type batch struct {
	results []received
	count   [engine.Shards]int
	last    [engine.Shards]floor // of the shards in seen
	seen    []int
}

type received struct {
	shard  int
	result engine.Result
}

func (b *batch) full() bool { return len(b.results) >= resultsBatch }

func (b *batch) add(shard int, result engine.Result, at floor) {
	b.pass(shard, at)
	b.results = append(b.results, received{shard, result})
	b.count[shard]++
}

// pass reports a message that no executor gets.
func (b *batch) pass(shard int, at floor) {
	if b.last[shard].Sequence == 0 {
		b.seen = append(b.seen, shard)
	}
	b.last[shard] = at
}

// deliver hands everything out and empties the batch.
func (b *batch) deliver(q *Queue, owners []*owner) {
	if len(b.seen) == 0 {
		return
	}
	// The results of each shard stand together in memory of their own, which their receivers keep.
	sorted := make([]engine.Result, len(b.results))
	var parts [engine.Shards][]engine.Result
	from := 0
	for _, number := range b.seen {
		parts[number] = sorted[from : from : from+b.count[number]]
		from += b.count[number]
	}
	for i := range b.results {
		number := b.results[i].shard
		parts[number] = append(parts[number], b.results[i].result)
	}
	for _, o := range owners {
		if last := b.last[o.shard]; last.Sequence > 0 {
			o.deliver(q, parts[o.shard], last)
		}
	}
	for _, number := range b.seen {
		b.count[number], b.last[number] = 0, floor{}
	}
	clear(b.results)
	b.results, b.seen = b.results[:0], b.seen[:0]
}

// place is where a message stands in its stream, and as which of its consumer it was delivered.
type place struct {
	floor
	delivered uint64
	pending   uint64 // that its consumer has not delivered yet
}

// readPlace reads the subject of a message's acknowledgement,
// $JS.ACK.<stream>.<consumer>.<deliveries>.<sequence>.<delivered>.<time>.<pending>; with a domain it is a longer one,
// which is for nats.go.
func readPlace(message *nats.Msg) (place, error) {
	var tokens [9]string
	rest := message.Reply
	n := 0
	for ; n < len(tokens)-1; n++ {
		var more bool
		if tokens[n], rest, more = strings.Cut(rest, "."); !more {
			break
		}
	}
	if n == len(tokens)-1 && !strings.Contains(rest, ".") {
		sequence, err1 := strconv.ParseUint(tokens[5], 10, 64)
		delivered, err2 := strconv.ParseUint(tokens[6], 10, 64)
		nanoseconds, err3 := strconv.ParseInt(tokens[7], 10, 64)
		pending, err4 := strconv.ParseUint(rest, 10, 64)
		if err1 == nil && err2 == nil && err3 == nil && err4 == nil {
			return place{floor{sequence, time.Unix(0, nanoseconds)}, delivered, pending}, nil
		}
	}
	about, err := message.Metadata()
	if err != nil {
		return place{}, fmt.Errorf("read the place of %s: %w", message.Subject, err)
	}
	return place{floor{about.Sequence.Stream, about.Timestamp}, about.Sequence.Consumer, about.NumPending}, nil
}
