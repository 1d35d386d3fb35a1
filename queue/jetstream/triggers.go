package jetstream

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/tidewheel/tidewheel/engine"
)

// Bounds of the stream of messages that start runs.
const (
	// MaxTriggerMessage is how long a message may be, in bytes: it is the payload of a run.
	MaxTriggerMessage = 1 << 20
	maxTriggers       = 1_000_000          // more are refused, so that the publisher gets an error
	triggersKept      = 7 * 24 * time.Hour // messages that no engine deals with

	triggersConsumer = "engines"
	triggersBatch    = 16
	triggersWait     = 15 * time.Second // after which a message counts as left by an engine that died; what it started is not started again
	triggersAgain    = time.Minute      // the longest wait before a message is retried
)

// Triggers hands the messages that were published to triggers.<namespace>.<subject> to handle, several at once, until ctx ends. A message is
// given to one engine at a time, and again until handle returns nil; later engines continue with what is left.
func (q *Queue) Triggers(ctx context.Context, handle func(context.Context, engine.TriggerMessage) error) error {
	for ctx.Err() == nil {
		consumer, err := q.triggersConsumer(ctx)
		for err == nil && ctx.Err() == nil {
			err = q.handleTriggers(ctx, consumer, handle)
		}
		if ctx.Err() == nil {
			q.log.Warn("messages that start runs cannot be read; trying again", "stream", q.names.triggers, "error", err)
			pause(ctx, 5*time.Second)
		}
	}
	return nil
}

func (q *Queue) triggersConsumer(ctx context.Context) (jetstream.Consumer, error) {
	stream, err := q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: q.names.triggers, Description: "Tidewheel: messages that start runs",
		Subjects:  []string{q.names.trigger("*") + ">"},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Replicas: q.config.Replicas,
		MaxMsgs: maxTriggers, Discard: jetstream.DiscardNew, MaxAge: triggersKept, MaxMsgSize: MaxTriggerMessage,
	})
	if err != nil {
		return nil, wrap("make stream "+q.names.triggers, err)
	}
	consumer, err := stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: triggersConsumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: triggersWait, MaxAckPending: 1000,
	})
	return consumer, wrap("make a consumer of "+q.names.triggers, err)
}

// handleTriggers handles the next messages.
func (q *Queue) handleTriggers(ctx context.Context, consumer jetstream.Consumer, handle func(context.Context, engine.TriggerMessage) error) error {
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	batch, err := consumer.Fetch(triggersBatch, jetstream.FetchContext(limited))
	if err != nil {
		return wrap("jetstream: fetch from "+q.names.triggers, err)
	}
	var work errgroup.Group
	for message := range batch.Messages() {
		work.Go(func() error {
			event, err := q.triggerMessage(message)
			if err == nil {
				err = handle(ctx, event)
			}
			if err != nil {
				q.log.Warn("a message that starts runs is tried again", "subject", message.Subject(), "error", err)
				return message.NakWithDelay(triggerDelay(message))
			}
			return message.Ack()
		})
	}
	err = errors.Join(work.Wait(), batch.Error())
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) { // there was none
		err = nil
	}
	return wrap("jetstream: read "+q.names.triggers, err)
}

// triggerDelay doubles with each delivery.
func triggerDelay(message jetstream.Msg) time.Duration {
	about, err := message.Metadata()
	if err != nil || about.NumDelivered > 6 {
		return triggersAgain
	}
	return min(time.Second<<about.NumDelivered, triggersAgain)
}

// triggerMessage reads a message. Its id is that of its publisher, else its place in the stream.
func (q *Queue) triggerMessage(message jetstream.Msg) (engine.TriggerMessage, error) {
	about, err := message.Metadata()
	if err != nil {
		return engine.TriggerMessage{}, err
	}
	namespace, subject, _ := strings.Cut(strings.TrimPrefix(message.Subject(), q.names.trigger("")), ".")
	id := message.Headers().Get(nats.MsgIdHdr)
	if id == "" { // a stream that is recreated counts from 1 again
		id = strconv.FormatUint(about.Sequence.Stream, 10) + "-" + strconv.FormatInt(about.Timestamp.UnixNano(), 36)
	}
	return engine.TriggerMessage{Namespace: namespace, Subject: subject, ID: id, Data: message.Data(), At: about.Timestamp}, nil
}
