package main

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

func TestASlowStoreIsNamedInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var since atomic.Pointer[time.Time]
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			watchSlow(ctx, func() string {
				var presence engine.EnginePresence
				if at := since.Load(); at != nil {
					presence.Waits(engine.Stats{Unwritten: 7, Since: *at}, time.Now())
				}
				return presence.Slow()
			}, slog.New(slog.NewTextHandler(&log, nil)))
		}()
		<-time.After(time.Minute)
		began := time.Now()
		since.Store(&began)
		<-time.After(3 * time.Minute)
		since.Store(nil)
		<-time.After(time.Minute)
		cancel()
		<-ended
		text := log.String()
		if n := strings.Count(text, "level=WARN"); n < 3 || n > 4 {
			t.Errorf("in three minutes it is said %d times", n)
		}
		for _, want := range []string{"the store is slower than what is asked of it: runs start late", "7 jobs and DAGs", "the store has caught up"} {
			if !strings.Contains(text, want) {
				t.Errorf("the log does not say %q:\n%s", want, text)
			}
		}
	})
}
