package jetstream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ensureLocks makes the bucket of locks, or brings it to this configuration. It is made as the stream that it is,
// because the API of buckets cannot say where its sequence begins.
//
// A lock's revision is its fencing token, and tokens are to grow even where the bucket was lost and made again: what a
// program wrote under a token of the lost one must not be taken for newer than what comes now. So the sequence of a new
// bucket begins with the microseconds since 1970. One message a microsecond is more than any server takes, so whatever
// the lost bucket had come to is below that. The number stays below 2^53 for another two hundred years, so that JSON
// carries it exactly. A bucket that is there keeps its beginning: replicas count from it when they replay their log.
func (q *Queue) ensureLocks(ctx context.Context) error {
	name := "KV_" + q.names.locks
	first := uint64(time.Now().UnixMicro())
	there, err := q.js.Stream(ctx, name)
	switch {
	case err == nil:
		first = there.CachedInfo().Config.FirstSeq
	case !errors.Is(err, jetstream.ErrStreamNotFound):
		return wrap("look for bucket "+q.names.locks, err)
	}
	config := jetstream.StreamConfig{
		Name: name, Description: "Tidewheel: who runs what; an entry's revision is the fencing token",
		Subjects: []string{"$KV." + q.names.locks + ".>"}, FirstSeq: first,
		Storage: jetstream.FileStorage, Replicas: q.config.Replicas,
		// What makes a stream a bucket with entries that expire.
		MaxMsgsPerSubject: 1, MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1, MaxConsumers: -1, Discard: jetstream.DiscardNew,
		AllowRollup: true, DenyDelete: true, AllowDirect: true, Duplicates: 2 * time.Minute,
		AllowMsgTTL: true, SubjectDeleteMarkerTTL: time.Second,
	}
	if err == nil {
		_, err = q.js.UpdateStream(ctx, config)
	} else {
		// Two processes may make it at once: one wins, and the other looks again.
		_, err = q.js.CreateStream(ctx, config)
	}
	return wrap("make bucket "+q.names.locks, err)
}
