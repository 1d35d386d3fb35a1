package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/mongo"
)

// editsEvery is how often edits that other programs have made in the database are looked for. What is found wakes its
// engine at once, so that it acts within five seconds.
const editsEvery = 3 * time.Second

// edits takes up what other programs have written.
type edits interface {
	Adopt(ctx context.Context) ([]engine.Wake, error)
}

// waker wakes engines.
type waker interface {
	PublishWake(ctx context.Context, wake engine.Wake) error
}

// watchEdits looks for edits of other programs until ctx ends. Only MongoDB has any: an embedded store has one writer.
func (s *Server) watchEdits(ctx context.Context) error {
	if opened, ok := s.store.(*mongo.Store); ok {
		sweepEdits(ctx, opened.Edits(), s.queue, s.log)
	}
	return nil
}

func sweepEdits(ctx context.Context, edits edits, queue waker, log *slog.Logger) {
	ticker := time.NewTicker(editsEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		wakes, err := edits.Adopt(ctx)
		if err != nil && ctx.Err() == nil {
			log.Warn("looking for edits in the database failed; it is tried again", "error", err)
		}
		for _, wake := range wakes {
			if err := queue.PublishWake(ctx, wake); err != nil {
				log.Debug("an engine was not woken, and looks by itself", "error", err)
			}
		}
	}
}
