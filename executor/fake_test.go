package executor_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing/iotest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/executor/cache"
)

var errAway = errors.New("the queue is away")

// queue is a Queue in memory. Locks expire by the clock.
type queue struct {
	tasks chan *delivery

	mu        sync.Mutex
	events    []string // what was done to it, in order
	sequence  uint64
	locks     map[string]lock
	subjects  map[string][]engine.Result
	presences []engine.Presence
	ttls      []time.Duration
	away      map[string]bool // operations that fail
	lostReply map[string]int  // operations that are done and reported failed, so often
	changed   chan struct{}
	controls  func(engine.Control)
	heard     chan struct{} // closed when controls is set
	frames    chan engine.LogFrame
	onLock    func() // called when a lock is taken
	order     *engine.DrainOrder
}

type lock struct {
	holder   executor.LockHolder
	revision uint64
	until    time.Time
}

func newQueue() *queue {
	return &queue{
		tasks: make(chan *delivery, 10000), locks: map[string]lock{}, subjects: map[string][]engine.Result{},
		away: map[string]bool{}, lostReply: map[string]int{}, changed: make(chan struct{}), heard: make(chan struct{}),
		frames: make(chan engine.LogFrame, 10000),
	}
}

// did notes an operation; an error says that it must not be done.
func (q *queue) did(operation string) error {
	q.events = append(q.events, operation)
	close(q.changed)
	q.changed = make(chan struct{})
	if q.away[operation] {
		return errAway
	}
	return nil
}

// reply may lose the answer.
func (q *queue) reply(operation string) error {
	if q.lostReply[operation] > 0 {
		q.lostReply[operation]--
		return errAway
	}
	return nil
}

func (q *queue) setAway(away bool, operations ...string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, operation := range operations {
		q.away[operation] = away
	}
}

// await waits until seen agrees.
func (q *queue) await(ctx context.Context, seen func() bool) error {
	for {
		q.mu.Lock()
		ok, changed := seen(), q.changed
		q.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (q *queue) history() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(q.events), func(event string) bool { return event == "announce" })
}

func (q *queue) Pull(ctx context.Context, config executor.PullConfig, handle func(executor.Delivery)) error {
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, config.Slots)
	tasks := q.tasks
	for taken := false; ; {
		free := slots
		if taken {
			free = nil
		}
		given := tasks
		if !taken {
			given = nil
		}
		select {
		case free <- struct{}{}:
			taken = true
		case task := <-given:
			taken = false
			all.Go(func() { handle(task); <-slots })
		case held := <-config.Hold:
			if tasks = q.tasks; held {
				tasks = nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (q *queue) Lock(_ context.Context, key string, holder executor.LockHolder, ttl time.Duration) (uint64, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.did("lock"); err != nil {
		return 0, err
	}
	if held, ok := q.locks[key]; ok && held.until.After(time.Now()) {
		return 0, &executor.HeldError{Key: key, Holder: held.holder, Until: held.until}
	}
	q.sequence++
	q.locks[key] = lock{holder, q.sequence, time.Now().Add(ttl)}
	if q.onLock != nil {
		q.onLock()
	}
	return q.sequence, nil
}

func (q *queue) Refresh(ctx context.Context, key string, holder executor.LockHolder, revision uint64, ttl time.Duration) (uint64, error) {
	q.mu.Lock()
	if err := q.did("refresh"); err != nil {
		q.mu.Unlock()
		<-ctx.Done() // as a request without an answer
		return 0, err
	}
	defer q.mu.Unlock()
	held, ok := q.locks[key]
	if !ok || held.revision != revision || !held.until.After(time.Now()) {
		return 0, executor.ErrFenced
	}
	q.sequence++
	q.locks[key] = lock{holder, q.sequence, time.Now().Add(ttl)}
	return q.sequence, nil
}

func (q *queue) Unlock(_ context.Context, key string, revision uint64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.did("unlock"); err != nil {
		return err
	}
	if q.locks[key].revision == revision {
		delete(q.locks, key)
	}
	return nil
}

func subject(run string, attempt int) string { return fmt.Sprintf("%s/%d", run, attempt) }

func (q *queue) publish(operation string, result engine.Result, after uint64) (uint64, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.did(operation); err != nil {
		return 0, err
	}
	all := q.subjects[subject(result.Run, result.Attempt)]
	var last engine.Result
	if len(all) > 0 {
		last = all[len(all)-1]
	}
	if last.Sequence != after {
		if last.Kind == result.Kind && last.Token == result.Token && last.At.Equal(result.At) {
			return last.Sequence, nil // sent twice
		}
		return 0, executor.ErrFenced
	}
	q.sequence++
	result.Sequence = q.sequence
	q.subjects[subject(result.Run, result.Attempt)] = append(all, result)
	if err := q.reply(operation); err != nil {
		return 0, err
	}
	return result.Sequence, nil
}

func (q *queue) Claim(_ context.Context, result engine.Result) (uint64, error) {
	sequence, err := q.publish("claim", result, 0)
	if errors.Is(err, executor.ErrFenced) {
		err = executor.ErrClaimed
	}
	return sequence, err
}

func (q *queue) Report(_ context.Context, result engine.Result, after uint64) (uint64, error) {
	return q.publish(string(result.Kind), result, after)
}

func (q *queue) Controls(ctx context.Context, handle func(engine.Control)) error {
	q.mu.Lock()
	q.controls = handle
	close(q.heard)
	q.mu.Unlock()
	<-ctx.Done()
	return nil
}

func (q *queue) LogFrame(frame engine.LogFrame) error {
	select {
	case q.frames <- frame:
	default:
	}
	return nil
}

func (q *queue) Announce(_ context.Context, presence engine.Presence, ttl time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.presences, q.ttls = append(q.presences, presence), append(q.ttls, ttl)
	return q.did("announce")
}

func (q *queue) DrainOrder(context.Context, string) (engine.DrainOrder, bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.away["order"] {
		return engine.DrainOrder{}, false, errAway
	}
	if q.order == nil {
		return engine.DrainOrder{}, false, nil
	}
	return *q.order, true, nil
}

// drain leaves an order for the executor, and notifies it unless the message is lost.
func (q *queue) drain(draining, notify bool) {
	<-q.heard
	q.mu.Lock()
	order := engine.DrainOrder{Draining: draining, By: "ada", At: time.Now(), Revision: 1}
	if q.order != nil {
		order.Revision = q.order.Revision + 1
	}
	q.order = &order
	controls := q.controls
	q.mu.Unlock()
	if notify {
		controls(engine.Control{Kind: engine.ControlDrain, Executor: "here"})
	}
}

// control asks something of a running attempt.
func (q *queue) control(kind engine.ControlKind, run string, attempt int) {
	<-q.heard
	q.controls(engine.Control{Kind: kind, Run: run, Attempt: attempt})
}

// delivery is one task.
type delivery struct {
	q    *queue
	task engine.Task
	bad  error
	nak  chan time.Duration
	// outlived is set before it is sent.
	outlived bool
	confirm  string // as outlived
}

func (q *queue) send(task engine.Task) *delivery {
	d := &delivery{q: q, task: task, nak: make(chan time.Duration, 1)}
	q.tasks <- d
	return d
}

func (d *delivery) Task() (engine.Task, error) { return d.task, d.bad }

func (d *delivery) Outlived() bool { return d.outlived }

func (d *delivery) Confirm() string { return d.confirm }

func (d *delivery) Refuse(*executor.RefusedError) error {
	d.q.mu.Lock()
	defer d.q.mu.Unlock()
	return d.q.did("refuse")
}

func (d *delivery) Ack() error {
	d.q.mu.Lock()
	defer d.q.mu.Unlock()
	return d.q.did("ack")
}

func (d *delivery) Nak(delay time.Duration) error {
	d.q.mu.Lock()
	defer d.q.mu.Unlock()
	d.nak <- delay
	return d.q.did("nak")
}

// blobs are Blobs in memory.
type blobs struct {
	mu       sync.Mutex
	binaries map[string][]byte
	logs     map[string]*logWriter
	failures int           // downloads that fail first
	hold     chan struct{} // if set, what is written to logs waits for it
	refuse   error         // of logs
	onGet    func()        // called before a download

	artifacts map[string][]byte
	transfers int // of artifacts that were begun
	lose      int // transfers that fail first
	onPut     func()
}

func newBlobs() *blobs {
	return &blobs{binaries: map[string][]byte{}, logs: map[string]*logWriter{}, artifacts: map[string][]byte{}}
}

func (b *blobs) transfer() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.transfers++
	if b.lose > 0 {
		b.lose--
		return errors.New("the store is away")
	}
	return nil
}

func (b *blobs) PutArtifact(ctx context.Context, run string, attempt int, name string, content *io.SectionReader) (string, error) {
	if err := b.transfer(); err != nil {
		return "", err
	}
	data, err := io.ReadAll(content)
	if err != nil {
		return "", err
	}
	if b.onPut != nil {
		b.onPut()
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	sum := sha256.Sum256(data)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.artifacts[subject(run, attempt)+"/"+name] = data
	return hex.EncodeToString(sum[:]), nil
}

func (b *blobs) GetArtifact(_ context.Context, run string, attempt int, name, digest string) (io.ReadCloser, error) {
	if err := b.transfer(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.artifacts[subject(run, attempt)+"/"+name]
	if !ok {
		return nil, fmt.Errorf("fake: %w", engine.ErrNotFound)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != digest {
		return io.NopCloser(io.MultiReader(bytes.NewReader(data), iotest.ErrReader(&cache.DigestError{Want: digest, Got: hex.EncodeToString(sum[:])}))), nil
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (b *blobs) add(program []byte) (digest string) {
	sum := sha256.Sum256(program)
	digest = hex.EncodeToString(sum[:])
	b.mu.Lock()
	defer b.mu.Unlock()
	b.binaries[digest] = program
	return digest
}

// fail lets so many downloads fail.
func (b *blobs) fail(times int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures = times
}

func (b *blobs) GetBinary(_ context.Context, digest string) (io.ReadCloser, int64, error) {
	if b.onGet != nil {
		b.onGet()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures > 0 {
		b.failures--
		return nil, 0, errors.New("the store is away")
	}
	program, ok := b.binaries[digest]
	if !ok {
		return nil, 0, fmt.Errorf("fake: %w", engine.ErrNotFound)
	}
	return io.NopCloser(bytes.NewReader(program)), int64(len(program)), nil
}

func (b *blobs) NewLogWriter(ctx context.Context, run string, attempt int) (executor.LogWriter, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuse != nil {
		return nil, b.refuse
	}
	w := &logWriter{ctx: ctx, hold: b.hold}
	b.logs[subject(run, attempt)] = w
	return w, nil
}

func (b *blobs) log(run string, attempt int) *logWriter {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.logs[subject(run, attempt)]
}

// logWriter counts, and keeps nothing.
type logWriter struct {
	ctx   context.Context
	hold  chan struct{}
	mu    sync.Mutex
	info  executor.LogInfo
	syncs int
	marks []byte // of the last Sync
	last  byte
}

func (w *logWriter) Write(p []byte) (int, error) {
	if w.hold != nil {
		select {
		case <-w.hold:
		case <-w.ctx.Done():
			return 0, w.ctx.Err()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.info.Size += int64(len(p))
	w.info.Lines += int64(bytes.Count(p, []byte{'\n'}))
	w.last = p[len(p)-1]
	return len(p), nil
}

func (w *logWriter) Sync(marks []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.syncs++
	w.marks = marks
	return nil
}

func (w *logWriter) Close() (executor.LogInfo, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.info.Chunks = (w.info.Size + 4<<20 - 1) / (4 << 20)
	if w.last != '\n' {
		w.info.Lines++
	}
	return w.info, w.ctx.Err()
}
