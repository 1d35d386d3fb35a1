package service_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// oneExecutor answers a watch as the queue and an executor do: a client that asks before the attempt has begun asks again
// after five seconds.
type oneExecutor struct {
	*webtest.Queue
	running func() bool
}

func (q oneExecutor) WatchLog(ctx context.Context, run string, attempt int, handle func(engine.LogFrame)) error {
	again := time.NewTicker(5 * time.Second)
	defer again.Stop()
	for !q.running() {
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
	handle(engine.LogFrame{Run: run, Attempt: attempt, Data: []byte("hello\n")})
	<-ctx.Done()
	return nil
}

func TestOutputOfAQueuedRunIsFollowedFromItsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := webtest.New(t)
		w.PutBinary(t, "report")
		running := w.Running(w.PutJob(t, `{"name":"a","binary":"report"}`), webtest.Start)
		running.Revision = 2
		queued := running.Clone()
		queued.Revision, queued.Status, queued.Current().Status = 1, engine.StatusQueued, engine.StatusQueued
		w.PutRun(t, queued)
		s := service.New(w.Store, w.Blobs, oneExecutor{w.Queue, func() bool {
			run, err := w.Store.Run(t.Context(), queued.ID)
			return err == nil && run.Status == engine.StatusRunning
		}}, w.Log, service.Config{})

		ctx, stop := context.WithCancel(t.Context())
		heard, asked := make(chan time.Time, 1), 0
		done := make(chan error, 1)
		go func() {
			done <- s.FollowLog(ctx, engine.DefaultNamespace, queued.ID, 0, 0, func(piece service.LogPiece) error {
				data := piece.Data
				if len(data) == 0 {
					asked++ // whether anybody is there
					return nil
				}
				heard <- time.Now()
				return nil
			})
		}()
		<-time.After(7 * time.Second) // virtual: the run waits for an executor
		synctest.Wait()
		if asked < 5 {
			t.Errorf("in seven seconds the reader was asked %d times whether it is there", asked)
		}
		began := time.Now()
		w.PutRun(t, running)
		if late := (<-heard).Sub(began); late > 300*time.Millisecond {
			t.Errorf("the output came %s after the start", late)
		}
		stop()
		<-done
	})
}
