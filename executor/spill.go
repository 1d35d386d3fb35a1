package executor

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

// syncEvery is how often the unfinished part of an output is made readable while the program runs.
const syncEvery = 5 * time.Second

// spill is the writer of an output that has outgrown its result. The zero value is one that has not.
type spill struct {
	mu     sync.Mutex
	writer LogWriter
	cancel context.CancelFunc
	ticks  context.CancelFunc
	tick   sync.WaitGroup
}

// spill opens the writer.
func (a *attempt) spill() (io.Writer, error) {
	ctx, cancel := context.WithCancel(a.e.base)
	writer, err := a.e.blobs.NewLogWriter(ctx, a.task.Run, a.task.Attempt)
	if err != nil {
		cancel()
		return nil, err
	}
	ticks, stop := context.WithCancel(ctx)
	s := &a.log
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writer, s.cancel, s.ticks = writer, cancel, stop
	s.tick.Go(func() {
		for !waited(ticks, syncEvery) {
			s.sync(a.output.Marks(0), a.e.log)
		}
	})
	return writer, nil
}

// sync makes readable what has come so far, with its marks.
func (s *spill) sync(marks []byte, log *slog.Logger) {
	s.mu.Lock()
	writer := s.writer
	s.mu.Unlock()
	if writer == nil {
		return
	}
	if err := writer.Sync(marks); err != nil {
		log.Debug("an output could not be made readable so far", keyError, err)
	}
}

// close stores the rest, for so long at most.
func (s *spill) close(timeout time.Duration) (LogInfo, error) {
	s.mu.Lock()
	writer := s.writer
	s.mu.Unlock()
	if writer == nil {
		return LogInfo{}, nil
	}
	defer s.cancel()
	giveUp := time.AfterFunc(timeout, s.cancel)
	defer giveUp.Stop()
	s.ticks()
	info, err := writer.Close()
	s.tick.Wait() // a Sync under way ends with Close
	return info, err
}
