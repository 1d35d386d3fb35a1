package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// watchForgotten is how long the consumer of a watch is kept without a subscriber.
const watchForgotten = 10 * time.Second

// watch calls handle for what a bucket holds under some patterns of keys, calls synced, and then handle for each change, until
// synced returns false (then it returns nil), ctx ends, or the watch does not continue (errStale): its consumer has gone, a message is
// missing, or the connection was lost. An entry's subject is the key.
//
// That of nats.go would do, but takes ten seconds and more to notice that its consumer has died with a server.
func (q *Queue) watch(ctx context.Context, bucket string, keys []string, synced func() bool, handle func(*stored)) error {
	connection := q.listen()
	defer q.ignore(connection)
	messages := make(chan *nats.Msg, 1024)
	inbox, prefix, stream := q.conn.NewInbox(), "$KV."+bucket+".", "KV_"+bucket
	sub, err := q.conn.ChanSubscribe(inbox, messages)
	if err != nil {
		return fmt.Errorf("watch bucket %s: %w", bucket, err)
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection, where nothing is left to undo
	config := jetstream.ConsumerConfig{
		Name: "watch-" + rand.Text(), DeliverSubject: inbox, DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, IdleHeartbeat: pullHeartbeat, InactiveThreshold: watchForgotten,
	}
	for _, key := range keys {
		config.FilterSubjects = append(config.FilterSubjects, prefix+key)
	}
	pending, err := q.createConsumer(ctx, stream, &config)
	if err != nil {
		return fmt.Errorf("watch bucket %s: %w", bucket, err)
	}
	defer q.removeConsumer(stream, config.Name)
	first := pending == 0
	if first && !synced() {
		return nil
	}
	silence := time.NewTimer(pullSilence)
	defer silence.Stop()
	for delivered := uint64(0); ; {
		var message *nats.Msg
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-connection.again:
			return errStale
		case <-silence.C:
			return errStale
		case message = <-messages:
		}
		silence.Reset(pullSilence)
		if message.Header.Get("Status") != "" {
			if last := message.Header.Get("Nats-Last-Consumer"); last != "" && last != strconv.FormatUint(delivered, 10) {
				return errStale
			}
			continue
		}
		at, err := readPlace(message)
		if err != nil {
			return fmt.Errorf("watch bucket %s: %w", bucket, err)
		}
		if delivered++; at.delivered != delivered {
			return errStale
		}
		handle(&stored{
			subject: strings.TrimPrefix(message.Subject, prefix), sequence: at.Sequence, at: at.At, header: message.Header, data: message.Data,
		})
		if !first && (delivered >= pending || at.pending == 0) {
			if first = true; !synced() {
				return nil
			}
		}
	}
}

// entries lists what a bucket holds under a pattern of keys.
func (q *Queue) entries(ctx context.Context, bucket, keys string) ([]*stored, error) {
	for try := 0; ; try++ {
		var found []*stored
		err := q.watch(ctx, bucket, []string{keys}, func() bool { return false }, func(entry *stored) {
			if !isMarker(entry) {
				found = append(found, entry)
			}
		})
		if !errors.Is(err, errStale) || try == 1 {
			return found, wrap("list bucket "+bucket, err)
		}
	}
}
