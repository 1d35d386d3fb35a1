package jetstream

import (
	"context"
	"errors"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tidewheel/tidewheel/engine"
)

// roomEvery is how often an executor looks whether RESULTS has room, unless the claim window is short.
const roomEvery = 5 * time.Second

// streamState is what is asked of a stream.
type streamState struct {
	First    uint64    `json:"first_seq"`
	FirstAt  time.Time `json:"first_ts"`
	Last     uint64    `json:"last_seq"`
	Messages uint64    `json:"messages"`
	Bytes    uint64    `json:"bytes"`
}

func (q *Queue) streamState(ctx context.Context, stream string) (streamState, error) {
	var info struct {
		State streamState `json:"state"`
	}
	err := q.ask(ctx, "STREAM.INFO."+stream, struct{}{}, &info)
	return info.State, err
}

func (q *Queue) resultsState(ctx context.Context) (streamState, error) {
	return q.streamState(ctx, q.names.results)
}

// Streams returns the size of each stream and bucket, in the order TASKS, RESULTS, LOCKS, LEASES, TRIGGERS. The last
// is not there before an engine has started.
func (q *Queue) Streams(ctx context.Context) ([]engine.Stream, error) {
	streams := []engine.Stream{
		{Name: "TASKS"},
		{Name: "RESULTS", Limit: uint64(q.config.ResultsLimit), Keeps: 3*q.config.ClaimWindow + 5*trimEvery, Watched: q.connectedSince()},
		{Name: "LOCKS"},
		{Name: "LEASES"},
		{Name: "TRIGGERS"},
	}
	group, ctx := errgroup.WithContext(ctx)
	for i, stream := range []string{q.names.tasks, q.names.results, "KV_" + q.names.locks, "KV_" + q.names.leases, q.names.triggers} {
		group.Go(func() error {
			state, err := q.streamState(ctx, stream)
			if missing := (*apiError)(nil); errors.As(err, &missing) && missing.Code == http.StatusNotFound && stream == q.names.triggers {
				return nil
			}
			streams[i].Messages, streams[i].Bytes = state.Messages, state.Bytes
			if state.Messages > 0 {
				streams[i].Oldest = state.FirstAt
			}
			return wrap("jetstream: look at "+stream, err)
		})
	}
	return streams, group.Wait()
}

// isFull reports whether RESULTS holds as much as it may. JetStream's own limit would refuse the ends of attempts that run as well, and
// what trimming must write: so the limit is on what begins.
func (q *Queue) isFull(ctx context.Context) (full bool, bytes uint64, err error) {
	state, err := q.resultsState(ctx)
	return state.Bytes > uint64(q.config.ResultsLimit), state.Bytes, err
}

// followFullness notifies a puller when RESULTS gets full, and when there is room again, until ctx ends. full is how it was last.
func (q *Queue) followFullness(ctx context.Context, full bool, changed chan<- bool) {
	every := min(roomEvery, max(q.config.ClaimWindow/4, time.Second))
	for pause(ctx, every) {
		now, bytes, err := q.isFull(ctx)
		if err != nil || now == full {
			continue // without an answer it stays as it was
		}
		full = now
		q.sayFullness(full, bytes)
		select {
		case changed <- full:
		case <-ctx.Done():
		}
	}
}

func (q *Queue) sayFullness(full bool, bytes uint64) {
	if full {
		q.log.Error("results that no engine has dealt with fill their stream: this executor takes nothing new until they are fewer",
			"stream", q.names.results, "bytes", bytes, "limit", q.config.ResultsLimit)
	} else {
		q.log.Info("there is room for results again: this executor takes new work", "stream", q.names.results, "bytes", bytes)
	}
}
