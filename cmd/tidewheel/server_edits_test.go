package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// foundEdits returns the edits; its first call fails.
type foundEdits struct {
	fails int
	wakes []engine.Wake
}

func (f *foundEdits) Adopt(context.Context) ([]engine.Wake, error) {
	if f.fails > 0 {
		f.fails--
		return nil, errors.New("the store is away")
	}
	wakes := f.wakes
	f.wakes = nil
	return wakes, nil
}

type heardWakes chan engine.Wake

func (h heardWakes) PublishWake(_ context.Context, wake engine.Wake) error {
	h <- wake
	return nil
}

// An edit in the database wakes its engine within five seconds, even if looking for it has failed before.
func TestEditsWakeTheirEngines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want := engine.Wake{Shard: 3, Kind: engine.WakeJob, Key: "uid"}
		found, heard := &foundEdits{fails: 1, wakes: []engine.Wake{want}}, make(heardWakes, 10)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			sweepEdits(ctx, found, heard, slog.New(slog.DiscardHandler))
		}()
		<-time.After(5 * time.Second)
		synctest.Wait()
		if found.fails != 0 || len(heard) > 0 {
			t.Fatal("there was no check, or a failure was reported")
		}
		<-time.After(4 * time.Second)
		synctest.Wait()
		if got := <-heard; got != want || len(heard) > 0 {
			t.Errorf("got %v", got)
		}
		stop()
		<-ended
	})
}
