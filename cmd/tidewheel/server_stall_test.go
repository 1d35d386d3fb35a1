package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/store/memory"
)

// hungStore never answers what is due.
type hungStore struct{ *memory.Store }

func (hungStore) DueTasks(ctx context.Context, _ []int, _, _ time.Time) ([]engine.ScheduledTask, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// quietQueue brings no news.
type quietQueue struct{ shard.Queue }

func (quietQueue) Wakes(ctx context.Context, _ func(engine.Wake)) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func (quietQueue) Results(ctx context.Context, _ int, _ func(shard.Delivery)) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func TestLivezFailsOnceTheEngineMakesNoProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		runner := shard.NewRunner(shard.DefaultConfig(), hungStore{memory.New()}, quietQueue{}, []int{0}, testLog(t), nil)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = runner.Run(ctx) // it ends with the test
		}()
		role := &engineRole{ready: make(chan struct{})}
		role.runner.Store(runner)
		s := &Server{log: testLog(t), metrics: newMetrics(), engine: role}
		s.up.Store(true)
		livez := func() (int, string) {
			answer := httptest.NewRecorder()
			s.healthHandler().ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/livez", nil))
			return answer.Code, answer.Body.String()
		}
		<-runner.Ready()
		<-time.After(time.Minute)
		if status, text := livez(); status != http.StatusOK {
			t.Errorf("before long: %d %s", status, text)
		}
		<-time.After(2 * time.Minute)
		if status, text := livez(); status != http.StatusServiceUnavailable || !strings.Contains(text, "the engine is stalled") {
			t.Errorf("of a stalled engine: %d %s", status, text)
		}
		s.up.Store(false)
		if status, text := livez(); status != http.StatusOK {
			t.Errorf("of a node that ends: %d %s", status, text)
		}
		cancel()
		<-ended
	})
}

func TestWatchSaysOnceThatTheEngineStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text safeBuffer
		var mu sync.Mutex
		var stall error
		set := func(err error) { mu.Lock(); stall = err; mu.Unlock() }
		ctx, cancel := context.WithCancel(t.Context())
		var watch sync.WaitGroup
		watch.Go(func() {
			watchStall(ctx, func() error { mu.Lock(); defer mu.Unlock(); return stall }, slog.New(slog.NewTextHandler(&text, nil)))
		})
		<-time.After(time.Minute)
		if text.String() != "" {
			t.Errorf("of a healthy engine the log says %s", text.String())
		}
		set(errors.New("it has not stepped for 31s"))
		<-time.After(time.Minute)
		if logged := text.String(); strings.Count(logged, "level=ERROR") != 1 || !strings.Contains(logged, "not stepped for 31s") {
			t.Errorf("the log says %s", logged)
		}
		set(nil)
		<-time.After(time.Minute)
		if logged := text.String(); strings.Count(logged, "\n") != 2 || !strings.Contains(logged, "again") {
			t.Errorf("the log says %s", logged)
		}
		cancel()
		watch.Wait()
	})
}
