package jetstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// ErrUnavailable says that the NATS did not answer: it is away, or its JetStream is. What was asked may or may not
// have been done.
var ErrUnavailable = errors.New("NATS is not available")

// requests matches answers to what was asked, through one subscription for all of them: a request costs an entry in
// a table, no goroutine and no subscription of its own.
type requests struct {
	conn    *nats.Conn
	inbox   string // ends with a dot
	timeout time.Duration

	mu      sync.Mutex
	next    uint64
	pending map[uint64]*request
	sweeper *time.Timer // runs only while something is pending
	closed  bool
}

type request struct {
	done     func(*nats.Msg, error)
	deadline time.Time
}

func newRequests(conn *nats.Conn, timeout time.Duration) (*requests, error) {
	r := &requests{conn: conn, inbox: conn.NewInbox() + ".", timeout: timeout, pending: make(map[uint64]*request)}
	sub, err := conn.Subscribe(r.inbox+"*", r.answer)
	if err != nil {
		return nil, fmt.Errorf("subscribe to answers: %w", err)
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return nil, fmt.Errorf("subscribe to answers: %w", err)
	}
	return r, nil
}

// send asks and returns at once. done is called exactly once, from the goroutine that reads answers or from send
// itself, and must not wait for another answer.
func (r *requests) send(message *nats.Msg, done func(*nats.Msg, error)) {
	r.sendCancellable(message, done)
}

func (r *requests) sendCancellable(message *nats.Msg, done func(*nats.Msg, error)) (id uint64) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		done(nil, fmt.Errorf("%w: the connection is closed", ErrUnavailable))
		return 0
	}
	r.next++
	id = r.next
	r.pending[id] = &request{done: done, deadline: time.Now().Add(r.timeout)}
	if len(r.pending) == 1 {
		r.armSweeper()
	}
	r.mu.Unlock()
	message.Reply = r.inbox + strconv.FormatUint(id, 36)
	if err := r.conn.PublishMsg(message); err != nil {
		if request := r.take(id); request != nil {
			if errors.Is(err, nats.ErrMaxPayload) {
				done(nil, fmt.Errorf("the message has %d bytes, more than the %d that this NATS takes", len(message.Data), r.conn.MaxPayload()))
				return id
			}
			done(nil, fmt.Errorf("%w: %w", ErrUnavailable, err))
		}
	}
	return id
}

// do asks and waits.
func (r *requests) do(ctx context.Context, message *nats.Msg) (*nats.Msg, error) {
	type answer struct {
		message *nats.Msg
		err     error
	}
	answers := make(chan answer, 1)
	id := r.sendCancellable(message, func(m *nats.Msg, err error) { answers <- answer{m, err} })
	select {
	case a := <-answers:
		return a.message, a.err
	case <-ctx.Done():
		r.take(id)
		return nil, context.Cause(ctx)
	}
}

func (r *requests) take(id uint64) *request {
	r.mu.Lock()
	defer r.mu.Unlock()
	request := r.pending[id]
	delete(r.pending, id)
	return request
}

func (r *requests) answer(message *nats.Msg) {
	id, err := strconv.ParseUint(message.Subject[strings.LastIndexByte(message.Subject, '.')+1:], 36, 64)
	if err != nil {
		return // nobody asked
	}
	request := r.take(id)
	if request == nil {
		return // given up before
	}
	if len(message.Data) == 0 && message.Header.Get("Status") == "503" {
		request.done(nil, fmt.Errorf("%w: nobody answers %s: is JetStream enabled?", ErrUnavailable, message.Subject))
		return
	}
	request.done(message, nil)
}

// armSweeper is called with the lock.
func (r *requests) armSweeper() {
	pause := max(r.timeout/4, 10*time.Millisecond)
	if r.sweeper == nil {
		r.sweeper = time.AfterFunc(pause, r.sweep)
		return
	}
	r.sweeper.Reset(pause)
}

func (r *requests) sweep() {
	now := time.Now()
	r.mu.Lock()
	var late []*request
	for id, request := range r.pending {
		if request.deadline.Before(now) {
			late = append(late, request)
			delete(r.pending, id)
		}
	}
	if len(r.pending) > 0 && !r.closed {
		r.armSweeper()
	}
	r.mu.Unlock()
	for _, request := range late {
		request.done(nil, fmt.Errorf("%w: no answer within %v", ErrUnavailable, r.timeout))
	}
}

// fail ends everything that waits: its answers will not come over a connection that is gone.
func (r *requests) fail(reason error, last bool) {
	r.mu.Lock()
	waiting := r.pending
	r.pending = make(map[uint64]*request)
	r.closed = r.closed || last
	if r.sweeper != nil {
		r.sweeper.Stop()
	}
	r.mu.Unlock()
	for _, request := range waiting {
		request.done(nil, fmt.Errorf("%w: %w", ErrUnavailable, reason))
	}
}

// apiError is JetStream's own.
type apiError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *apiError) Error() string {
	return fmt.Sprintf("JetStream refuses: %s (%d)", e.Description, e.ErrCode)
}

// Codes of JetStream's errors.
const (
	codeNoMessage        = 10037
	codeStoreFailed      = 10077 // of which one reason is a second message on a subject
	codeWrongSequence    = 10071
	codeWrongSequenceToo = 10164
	codeNoConsumer       = 10014
)

// errConflict says that the condition of a publish was not met.
var errConflict = errors.New("the subject's last message is another one")

// errCopyWaits says that the subject holds a message already.
var errCopyWaits = errors.New("the subject holds a message")

// acknowledged reads the answer to a publish.
func acknowledged(message *nats.Msg) (sequence uint64, err error) {
	if sequence, ok := plainAck(message.Data); ok {
		return sequence, nil
	}
	var ack struct {
		Sequence uint64    `json:"seq"`
		Error    *apiError `json:"error"`
	}
	if err := json.Unmarshal(message.Data, &ack); err != nil {
		return 0, fmt.Errorf("read acknowledgement: %w", err)
	}
	switch {
	case ack.Error == nil && ack.Sequence > 0:
		return ack.Sequence, nil
	case ack.Error == nil:
		return 0, errors.New("the acknowledgement has no sequence")
	case ack.Error.ErrCode == codeWrongSequence || ack.Error.ErrCode == codeWrongSequenceToo:
		return 0, errConflict
	case ack.Error.ErrCode == codeStoreFailed && strings.Contains(ack.Error.Description, "maximum messages per subject"):
		return 0, errCopyWaits
	}
	return 0, ack.Error
}

// plainAck reads an acknowledgement without an error, {"stream":"TASKS","seq":7}, of which there are five a run; any
// other is for the JSON decoder.
func plainAck(data []byte) (sequence uint64, ok bool) {
	_, rest, found := bytes.Cut(data, []byte(`,"seq":`))
	if !found || bytes.Contains(data, []byte(`"error"`)) {
		return 0, false
	}
	digits := 0
	for digits < len(rest) && digits < 19 && rest[digits] >= '0' && rest[digits] <= '9' {
		sequence = sequence*10 + uint64(rest[digits]-'0')
		digits++
	}
	if digits == 0 || digits == len(rest) || (rest[digits] != '}' && rest[digits] != ',') {
		return 0, false
	}
	return sequence, sequence > 0
}
