package jetstream

import (
	"bytes"
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
)

// ErrUnavailable means that the NATS did not answer: it is unavailable, or its JetStream is. What was asked may or may not
// have been done.
var ErrUnavailable = errors.New("NATS is not available")

// requests matches answers to what was asked, through one subscription for all of them: a request costs a place in a
// table, no goroutine and no subscription of its own.
//
// The place, and with it the subject of the answer, is used again once the answer has come, the latest first: the
// server keeps where recent subjects lead to, and a subject of its own for each request would never be among them. A
// place whose answer did not come is given up, as the answer may come yet.
//
// What was asked of a server that died with the question is never answered, and the connection, which may be to another
// server, does not tell. So a question without an answer is asked again, while the answer to the first still counts.
// The caller must tolerate that the server does it twice.
type requests struct {
	conn    *nats.Conn
	inbox   string // ends with a dot
	timeout time.Duration

	mu      sync.Mutex
	next    uint64
	places  map[uint64]*request
	idle    []*request
	waiting int
	sweeper *time.Timer // runs only while something waits
	closed  bool
}

// request is a place. All but its number, subject and channel are guarded by the lock of requests.
type request struct {
	number  uint64
	subject string
	answers chan answer // of the caller that waits for the answer; holds one

	done    func(*nats.Msg, error) // called once, if it is not nil
	busy    bool                   // an answer is waited for
	message *nats.Msg              // the question; the caller must not touch it while busy
	asked   time.Time
	repeats int  // how often it was asked again
	given   bool // up: not to be used again
}

// repeatAfter is the part of the time for an answer after which a question is asked again; and then after twice as much.
const repeatAfter = 5

type answer struct {
	message *nats.Msg
	err     error
}

func newRequests(conn *nats.Conn, timeout time.Duration) (*requests, error) {
	r := &requests{conn: conn, inbox: conn.NewInbox() + ".", timeout: timeout, places: make(map[uint64]*request)}
	sub, err := conn.Subscribe(r.inbox+"*", r.answer)
	if err != nil {
		return nil, fmt.Errorf("subscribe to answers: %w", err)
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return nil, fmt.Errorf("subscribe to answers: %w", err)
	}
	return r, nil
}

// send asks and returns at once. done is called exactly once, from the goroutine that reads answers or from send itself,
// and must not wait for another answer. Until then the message must not be changed.
func (r *requests) send(message *nats.Msg, done func(*nats.Msg, error)) {
	place := r.begin(message, done)
	if place == nil {
		done(nil, errClosed())
		return
	}
	if err := r.publish(message); err != nil && r.giveUp(place) {
		done(nil, err)
	}
}

// do asks and waits.
func (r *requests) do(ctx context.Context, message *nats.Msg) (*nats.Msg, error) {
	place := r.begin(message, nil)
	if place == nil {
		return nil, errClosed()
	}
	if err := r.publish(message); err != nil && r.giveUp(place) {
		return nil, err
	}
	select {
	case a := <-place.answers:
		r.release(place)
		return a.message, a.err
	case <-ctx.Done():
		if r.giveUp(place) {
			return nil, context.Cause(ctx)
		}
		a := <-place.answers // it was about to come
		r.release(place)
		return a.message, a.err
	}
}

func errClosed() error { return fmt.Errorf("%w: the connection is closed", ErrUnavailable) }

// begin takes a place, nil if the connection is closed.
func (r *requests) begin(message *nats.Msg, done func(*nats.Msg, error)) *request {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	var place *request
	if last := len(r.idle) - 1; last >= 0 {
		place, r.idle = r.idle[last], r.idle[:last]
	} else {
		r.next++
		place = &request{number: r.next, subject: r.inbox + strconv.FormatUint(r.next, 10), answers: make(chan answer, 1)}
		r.places[r.next] = place
	}
	message.Reply = place.subject
	place.done, place.busy, place.message, place.asked = done, true, message, time.Now()
	if r.waiting++; r.waiting == 1 {
		r.armSweeper()
	}
	return place
}

func (r *requests) publish(message *nats.Msg) error {
	err := r.conn.PublishMsg(message)
	if errors.Is(err, nats.ErrMaxPayload) {
		return fmt.Errorf("the message has %d bytes, more than the %d that this NATS takes", len(message.Data), r.conn.MaxPayload())
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// giveUp stops waiting, unless the answer has come or is about to.
func (r *requests) giveUp(place *request) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !place.busy {
		return false
	}
	r.abandon(place)
	return true
}

// abandon is called with the lock.
func (r *requests) abandon(place *request) {
	place.busy, place.given, place.message = false, true, nil
	delete(r.places, place.number)
	r.waiting--
}

// release makes a place free whose answer was received.
func (r *requests) release(place *request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !place.given {
		r.idle = append(r.idle, place)
	}
}

func (p *request) end(done func(*nats.Msg, error), message *nats.Msg, err error) {
	if done != nil {
		done(message, err)
		return
	}
	p.answers <- answer{message, err}
}

func (r *requests) answer(message *nats.Msg) {
	number, err := strconv.ParseUint(message.Subject[strings.LastIndexByte(message.Subject, '.')+1:], 10, 64)
	if err != nil {
		return // no request was sent
	}
	r.mu.Lock()
	place := r.places[number]
	if place == nil || !place.busy {
		r.mu.Unlock()
		return // given up before
	}
	done := place.done
	place.done, place.busy, place.message = nil, false, nil
	r.waiting--
	if place.repeats > 0 { // there may be another answer
		place.given = true
		delete(r.places, place.number)
	} else if done != nil {
		r.idle = append(r.idle, place)
	}
	r.mu.Unlock()
	if len(message.Data) == 0 && message.Header.Get("Status") == "503" {
		place.end(done, nil, fmt.Errorf("%w: no answer to %s: is JetStream enabled?", ErrUnavailable, message.Subject))
		return
	}
	place.end(done, message, nil)
}

// armSweeper is called with the lock.
func (r *requests) armSweeper() {
	pause := max(r.timeout/(2*repeatAfter), 10*time.Millisecond)
	if r.sweeper == nil {
		r.sweeper = time.AfterFunc(pause, r.sweep)
		return
	}
	r.sweeper.Reset(pause)
}

func (r *requests) sweep() {
	now := time.Now()
	for _, message := range r.unanswered(now) {
		_ = r.publish(message) // what cannot be sent now is given up in time
	}
	r.giveUpAll(now, fmt.Errorf("%w: no answer within %v", ErrUnavailable, r.timeout))
}

// unanswered returns copies of the questions that it is time to ask again.
func (r *requests) unanswered(now time.Time) (messages []*nats.Msg) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, place := range r.places {
		wait := r.timeout / repeatAfter
		for range place.repeats { // each time twice as long, and more than all before
			wait = 2*wait + r.timeout/repeatAfter
		}
		if !place.busy || now.Sub(place.asked) < wait {
			continue
		}
		place.repeats++
		messages = append(messages, repeated(place.message))
	}
	return messages
}

// repeated is a copy of a question that is asked again.
func repeated(message *nats.Msg) *nats.Msg {
	again := &nats.Msg{Subject: message.Subject, Reply: message.Reply, Data: bytes.Clone(message.Data), Header: nats.Header{headerRepeated: {"1"}}}
	for header, values := range message.Header {
		again.Header[header] = slices.Clone(values)
	}
	return again
}

// fail ends everything that waits: its answers will not come over a connection that is gone.
func (r *requests) fail(reason error, last bool) {
	r.mu.Lock()
	r.closed = r.closed || last
	r.mu.Unlock()
	r.giveUpAll(time.Time{}, fmt.Errorf("%w: %w", ErrUnavailable, reason))
}

// giveUpAll ends what should have been answered before an instant; whatever waits, if that is zero.
func (r *requests) giveUpAll(before time.Time, reason error) {
	type ended struct {
		place *request
		done  func(*nats.Msg, error)
	}
	var late []ended
	r.mu.Lock()
	for _, place := range r.places {
		if place.busy && (before.IsZero() || before.Sub(place.asked) > r.timeout) {
			late = append(late, ended{place, place.done})
			r.abandon(place)
		}
	}
	switch {
	case r.waiting > 0:
		r.armSweeper()
	case r.sweeper != nil:
		r.sweeper.Stop()
	}
	r.mu.Unlock()
	for _, one := range late {
		one.place.end(one.done, nil, reason)
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

// errConflict means that the condition of a publish was not met.
var errConflict = errors.New("the subject's last message is another one")

// errCopyWaits means that the subject holds a message already.
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
