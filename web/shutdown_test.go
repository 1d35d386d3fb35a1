package web_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func TestShutdownEndsStreamsAndLetsTheRestFinish(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	s := newSite(t, func(c *web.Config) {
		c.Pages = func(e *echo.Echo, _ []byte) {
			e.GET("/runs", func(c echo.Context) error {
				close(begun)
				<-finish
				return c.String(http.StatusOK, "done")
			})
		}
	})
	s.PutBinary(t, "report")
	run := s.Running(s.PutJob(t, `{"name":"a","binary":"report"}`), webtest.Start)
	s.PutRun(t, run)
	follow := s.open("GET", "/api/v1/runs/"+run.ID+"/logs?follow=true", "", authorization, bearer)
	defer follow.Body.Close()
	events := s.open("GET", "/api/v1/events", "", authorization, bearer)
	defer events.Body.Close()
	<-s.Queue.Watching
	if err := s.Queue.Say(t.Context(), engine.LogFrame{Run: run.ID, Attempt: 1, Data: []byte("hello\n")}); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(follow.Body).ReadString('\n'); line != "hello\n" {
		t.Fatalf("followed %q, %v", line, err)
	}
	slow := make(chan *answer, 1)
	go func() { slow <- s.ask("GET", "/runs", "", authorization, bearer) }()
	<-begun
	stopped := make(chan error, 1)
	go func() { stopped <- s.server.Shutdown(t.Context()) }()
	_, _ = io.ReadAll(events.Body) // both end, one way or another
	if _, err := io.ReadAll(follow.Body); err == nil {
		t.Error("a log that was cut off looks whole")
	}
	select {
	case err := <-stopped:
		t.Fatalf("it stopped before the rest was done: %v", err)
	default:
	}
	close(finish)
	if got := <-slow; got.body != "done" {
		t.Errorf("the slow request got %q", got.body)
	}
	if err := <-stopped; err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

func TestShutdownCutsWhatDoesNotFinish(t *testing.T) {
	begun := make(chan struct{})
	s := newSite(t, func(c *web.Config) {
		c.Pages = func(e *echo.Echo, _ []byte) {
			e.GET("/runs", func(c echo.Context) error {
				close(begun)
				<-c.Request().Context().Done()
				return context.Cause(c.Request().Context())
			})
		}
	})
	ended := make(chan error, 1)
	go func() {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/runs", nil)
		if err == nil {
			r.Header.Set(authorization, bearer)
			var response *http.Response
			if response, err = s.client.Do(r); err == nil {
				response.Body.Close()
			}
		}
		ended <- err
	}()
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.server.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("shutdown: %v", err)
	}
	<-ended
}
