package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// How results are pulled. A pull that stands for long costs nothing while nothing comes, for 64 shards too.
const (
	resultsBatch   = 500
	resultsBytes   = 8 << 20
	resultsExpires = 5 * time.Minute
)

// errStale ends a session whose consumer has to be looked at again.
var errStale = errors.New("the session is stale")

// Results delivers what executors report for one shard, in order, until ctx ends; then it returns nil.
//
// It works in sessions. Each begins behind the shard's floor (floors.go) with a consumer of its own, so that what a
// crashed owner had taken comes at once and in order; a crash makes what was acknowledged in its last fraction of a
// second come too. A session ends when the connection was lost, a message is missing or the consumer has gone; then
// messages that were delivered and not acknowledged come again.
func (q *Queue) Results(ctx context.Context, number int, handle func(shard.Delivery)) error {
	if number < 0 || number >= engine.Shards {
		return fmt.Errorf("jetstream: results: there is no shard %d", number)
	}
	for failures := 0; ; failures++ {
		progress, err := q.resultsSession(ctx, number, handle)
		if ctx.Err() != nil {
			return nil
		}
		if progress {
			failures = 0
		}
		if !errors.Is(err, errStale) {
			q.log.Warn("results interrupted; trying again", "shard", number, "error", err)
		}
		if !pause(ctx, backoff(failures)) {
			return nil
		}
	}
}

// results is one session.
type results struct {
	q        *Queue
	shard    int
	messages chan *nats.Msg
	inbox    string
	pull     int // number of the last pull, to tell its end from an earlier one's
	asked    int // messages it may still bring
	next     uint64
	consumer string
}

func (q *Queue) resultsSession(ctx context.Context, number int, handle func(shard.Delivery)) (progress bool, err error) {
	connection := q.listen()
	defer q.ignore(connection)
	consumer, err := q.resume(ctx, number)
	if err != nil {
		return false, err
	}
	defer q.release(ctx, consumer, number)
	// Room for all that can be asked for, and for what tells the ends of pulls: nothing is ever dropped for want of it.
	r := &results{q: q, shard: number, messages: make(chan *nats.Msg, resultsBatch+16), inbox: q.conn.NewInbox(), consumer: consumer}
	sub, err := q.conn.ChanSubscribe(r.inbox+".*", r.messages)
	if err != nil {
		return false, fmt.Errorf("subscribe: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection, where nothing is left to undo
	watchdog := time.NewTimer(resultsExpires)
	defer watchdog.Stop()
	for {
		if r.asked <= 0 {
			if err := r.ask(); err != nil {
				return progress, err
			}
			watchdog.Reset(resultsExpires + 30*time.Second)
		}
		select {
		case <-ctx.Done():
			return progress, nil
		case <-connection.again:
			return progress, errStale
		case <-watchdog.C:
			return progress, errStale
		case message := <-r.messages:
			delivery, err := r.collect(message)
			if len(delivery.Results) > 0 {
				progress = true
				handle(delivery)
			}
			if err != nil {
				return progress, err
			}
		}
	}
}

func (r *results) ask() error {
	r.pull++
	r.asked = resultsBatch
	payload, err := json.Marshal(pullRequest{Batch: resultsBatch, MaxBytes: resultsBytes, Expires: resultsExpires})
	if err != nil {
		return fmt.Errorf("encode pull: %w", err)
	}
	subject := "$JS.API.CONSUMER.MSG.NEXT." + r.q.names.results + "." + r.consumer
	return wrap("pull", r.q.conn.PublishRequest(subject, fmt.Sprintf("%s.%d", r.inbox, r.pull), payload))
}

// collect makes a delivery of a message and of those that wait behind it.
func (r *results) collect(message *nats.Msg) (shard.Delivery, error) {
	delivery := shard.Delivery{Shard: r.shard}
	var last floor
	var failed error
	for taken := 0; ; {
		if status := message.Header.Get("Status"); status != "" && len(message.Data) == 0 && message.Reply == "" {
			if failed = r.status(message, status); failed != nil {
				break
			}
		} else {
			result, place, missing, err := r.read(message)
			if missing {
				failed = errStale
				break
			}
			r.asked--
			last = place
			switch {
			case err != nil:
				r.q.log.Error("a result cannot be read and is passed over", "shard", r.shard, "subject", message.Subject, "error", err)
			case message.Header.Get(headerCarried) == "":
				delivery.Results = append(delivery.Results, result)
			}
			taken++
		}
		if taken >= resultsBatch {
			break
		}
		select {
		case message = <-r.messages:
			continue
		default:
		}
		break
	}
	if last.Sequence == 0 {
		return delivery, failed
	}
	delivery.Ack = func() error {
		r.q.floors.raise(r.shard, last)
		return nil
	}
	if len(delivery.Results) == 0 { // nothing but carried copies: nobody else will acknowledge them
		r.q.floors.raise(r.shard, last)
	}
	return delivery, failed
}

// status reads what tells that a pull has ended.
func (r *results) status(message *nats.Msg, status string) error {
	switch status {
	case "100":
		return nil
	case "503":
		return fmt.Errorf("%w: the consumer does not answer", ErrUnavailable)
	}
	if message.Subject != fmt.Sprintf("%s.%d", r.inbox, r.pull) {
		return nil
	}
	r.asked = 0
	switch status {
	case "404", "408":
		return nil
	case "409":
		switch description := message.Header.Get("Description"); description {
		case "Message Size Exceeds MaxBytes", "Batch Completed":
			return nil
		default:
			return fmt.Errorf("pull ended: %s", description)
		}
	}
	return fmt.Errorf("pull ended: %s %s", status, message.Header.Get("Description"))
}

// read decodes a result; missing tells that one before it never arrived.
func (r *results) read(message *nats.Msg) (result engine.Result, place floor, missing bool, err error) {
	about, err := message.Metadata()
	if err != nil {
		return result, place, false, fmt.Errorf("read its place: %w", err)
	}
	if r.next != 0 && about.Sequence.Consumer != r.next {
		return result, place, true, nil
	}
	r.next = about.Sequence.Consumer + 1
	place = floor{Sequence: about.Sequence.Stream, At: about.Timestamp}
	if err := json.Unmarshal(message.Data, &result); err != nil {
		return result, place, false, fmt.Errorf("message %d: %w", place.Sequence, err)
	}
	result.Sequence = place.Sequence
	return result, place, false, nil
}

// resume makes a consumer that begins behind the shard's floor.
func (q *Queue) resume(ctx context.Context, number int) (name string, err error) {
	at, err := q.floors.load(ctx, number)
	if err != nil {
		return "", err
	}
	config := jetstream.ConsumerConfig{
		Name: "shard-" + strconv.Itoa(number) + "-" + engine.NewUID(), FilterSubject: q.names.shard(number),
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, MaxWaiting: 64,
		InactiveThreshold: 2 * resultsExpires, // of one whose owner has crashed
	}
	if at.Sequence > 0 {
		known, err := q.knows(ctx, at)
		if err != nil {
			return "", fmt.Errorf("look at the floor of shard %d: %w", number, err)
		}
		if known {
			config.DeliverPolicy, config.OptStartSeq = jetstream.DeliverByStartSequencePolicy, at.Sequence+1
		} else {
			q.log.Warn("the end of the results was lost; delivering again what is left", "shard", number, "floor", at.Sequence)
			q.floors.forget(number)
		}
	}
	_, err = q.js.CreateConsumer(ctx, q.names.results, config)
	return config.Name, wrap("make consumer "+config.Name, err)
}

// knows tells whether RESULTS has gone past a floor, and with the same message.
func (q *Queue) knows(ctx context.Context, at floor) (bool, error) {
	sequence, stamp, err := q.following(ctx, q.names.results, nextQuestion{Subject: q.names.prefix + "results.>", Sequence: at.Sequence})
	if err != nil {
		return false, err
	}
	if sequence == at.Sequence {
		return stamp.Equal(at.At), nil
	}
	// The message was trimmed, or it was lost and nothing has come after it.
	state, err := q.resultsState(ctx)
	return state.Last >= at.Sequence, err
}

// release ends a session's consumer and stores the floor that it has reached.
func (q *Queue) release(ctx context.Context, consumer string, number int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.config.Timeout)
	defer cancel()
	if !q.conn.IsConnected() {
		return // the server forgets the consumer, and the next session begins at the floor as this process knows it
	}
	if err := q.floors.store(ctx, number); err != nil {
		q.log.Info("some results will be delivered again", "shard", number, "error", err)
	}
	if err := q.ask(ctx, "CONSUMER.DELETE."+q.names.results+"."+consumer, struct{}{}, nil); err != nil {
		q.log.Debug("a consumer was not removed", "consumer", consumer, "error", err)
	}
}

// consumerInfo is what is asked of a consumer's state.
type consumerInfo struct {
	Delivered struct {
		Stream uint64 `json:"stream_seq"`
	} `json:"delivered"`
	AckFloor struct {
		Stream uint64 `json:"stream_seq"`
	} `json:"ack_floor"`
	AckPending int    `json:"num_ack_pending"`
	Waiting    int    `json:"num_waiting"`
	Pending    uint64 `json:"num_pending"`
}

// consumerInfo gives a consumer's state, nil if it does not exist.
func (q *Queue) consumerInfo(ctx context.Context, stream, consumer string) (*consumerInfo, error) {
	var info consumerInfo
	err := q.ask(ctx, "CONSUMER.INFO."+stream+"."+consumer, struct{}{}, &info)
	if refused := (*apiError)(nil); errors.As(err, &refused) && refused.ErrCode == codeNoConsumer {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at consumer %s: %w", consumer, err)
	}
	return &info, nil
}

// pullRequest is JetStream's request for messages. Expires is in nanoseconds.
type pullRequest struct {
	Batch    int           `json:"batch"`
	MaxBytes int           `json:"max_bytes,omitempty"`
	Expires  time.Duration `json:"expires,omitempty"`
	NoWait   bool          `json:"no_wait,omitempty"`
	Group    string        `json:"group,omitempty"`
	Priority int           `json:"priority,omitempty"`
}
