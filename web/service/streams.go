package service

import (
	"context"

	"github.com/tidewheel/tidewheel/engine"
)

// Stream is the size of one of the queue's streams or buckets. Problem says in words what is wrong; it is empty if nothing is.
type Stream struct {
	engine.Stream
	Problem string
}

// Streams returns the size of each of the queue's streams and buckets.
func (s *Service) Streams(ctx context.Context) ([]Stream, error) {
	found, err := s.queue.Streams(ctx)
	if err != nil {
		return nil, err
	}
	streams := make([]Stream, 0, len(found))
	for i := range found {
		streams = append(streams, Stream{Stream: found[i], Problem: found[i].Problem(s.now())})
	}
	return streams, nil
}

// lookAtStreams adds the streams that grow.
func (s *Service) lookAtStreams(ctx context.Context, view *Overview) error {
	streams, err := s.Streams(ctx)
	for i := range streams {
		if problem := streams[i].Problem; problem != "" {
			view.Concerns = append(view.Concerns, Concern{Kind: ConcernStream, At: view.At, Reason: problem})
		}
	}
	return err
}
