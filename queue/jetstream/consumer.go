package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tidewheel/tidewheel/engine"
)

// makeConsumer makes a consumer of RESULTS that begins at the first message that any of the owners is to be given. It
// keeps no state: how far they have come is theirs to know.
func (q *Queue) makeConsumer(ctx context.Context, owners []*owner) (name string, err error) {
	config := jetstream.ConsumerConfig{
		Name: "results-" + rand.Text(), DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, MaxWaiting: 64,
		InactiveThreshold: 2 * resultsExpires, // of one whose owner has crashed
	}
	wanted := make(map[int]bool)
	for _, o := range owners {
		wanted[o.shard] = true
		if config.OptStartSeq == 0 || o.next < config.OptStartSeq {
			config.OptStartSeq = o.next
		}
	}
	if len(wanted) < engine.Shards { // otherwise there is nothing to filter, which costs the server least
		for number := range wanted {
			config.FilterSubjects = append(config.FilterSubjects, q.names.shard(number))
		}
	}
	_, err = q.createConsumer(ctx, q.names.results, &config)
	return config.Name, err
}

// createConsumer makes a consumer under a name of its own, and returns how many messages wait for it. It is asked again
// where no answer comes, as the leader that was to make it may have died.
func (q *Queue) createConsumer(ctx context.Context, stream string, config *jetstream.ConsumerConfig) (pending uint64, err error) {
	var made consumerInfo
	err = q.ask(ctx, "CONSUMER.CREATE."+stream+"."+config.Name, struct {
		Stream string                    `json:"stream_name"`
		Config *jetstream.ConsumerConfig `json:"config"`
		Action string                    `json:"action"`
	}{stream, config, "create"}, &made)
	return made.Pending, wrap("make consumer "+config.Name, err)
}

// removeConsumer asks the server to delete a consumer, and does not wait: a caller that recreates it because it does not
// answer would wait for its server. The server removes an unused consumer by itself.
func (q *Queue) removeConsumer(stream, consumer string) {
	q.requests.send(&nats.Msg{Subject: "$JS.API.CONSUMER.DELETE." + stream + "." + consumer}, func(_ *nats.Msg, err error) {
		if err != nil {
			q.log.Debug("a consumer was not removed", "consumer", consumer, "error", err)
		}
	})
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

// consumerInfo returns a consumer's state, nil if it does not exist.
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

// While a pull stands, the server says so from time to time. One that is not heard of for a while has gone with its server:
// the connection need not break by that, for it may be to another server of the cluster.
const (
	pullHeartbeat = time.Second
	pullSilence   = 2500 * time.Millisecond
)

// pullRequest is JetStream's request for messages. Times are in nanoseconds.
type pullRequest struct {
	Batch    int           `json:"batch"`
	MaxBytes int           `json:"max_bytes,omitempty"`
	Expires  time.Duration `json:"expires,omitempty"`
	Beat     time.Duration `json:"idle_heartbeat,omitempty"`
	NoWait   bool          `json:"no_wait,omitempty"`
	Group    string        `json:"group,omitempty"`
	Priority int           `json:"priority,omitempty"`
}
