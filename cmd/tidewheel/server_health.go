package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/tidewheel/tidewheel/web/service"
)

const (
	// healthTime is how long the parts may take to answer a request for /readyz.
	healthTime = 3 * time.Second
	// healthIdle is how long a connection is kept for the next question.
	healthIdle = 2 * time.Minute
	// healthDrain is how long an answer under way may take at the end.
	healthDrain = 5 * time.Second
)

// startHealth answers /metrics, /livez and /readyz on an address of their own, since nodes without pages have no other.
// It begins before everything else, since reading what a crash has left may take
// minutes in which the node lives, and it ends after everything else, since draining may, too.
func (s *Server) startHealth(ctx context.Context) error {
	if s.config.MetricsListen == "" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.config.MetricsListen)
	if err != nil {
		return explainListen("--metrics-listen", s.config.MetricsListen, err)
	}
	s.health = listener
	server := &http.Server{Handler: s.healthHandler(), ReadTimeout: healthDrain, IdleTimeout: healthIdle}
	s.parts.add("metrics and health", func(ctx context.Context) error {
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }() // ends with Shutdown or Close, and is waited for
		select {
		case err := <-served:
			return err
		case <-ctx.Done():
		}
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthDrain)
		defer cancel()
		if server.Shutdown(limit) != nil {
			_ = server.Close() // the client gets no answer, and asks again
		}
		return <-served
	})
	return nil
}

func (s *Server) healthHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.live(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	metrics := s.metrics.handler()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if s.readers.Check(r) != nil {
			w.Header().Set("WWW-Authenticate", `Bearer realm="tidewheel metrics"`)
			http.Error(w, "metrics are read with a token: send that of --metrics-token-file as Authorization: Bearer TOKEN, "+
				"or start this node with --metrics-auth off", http.StatusUnauthorized)
			return
		}
		metrics.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), healthTime)
		defer cancel()
		err := errors.New("the node is starting or stopping")
		if s.up.Load() {
			err = s.ready(ctx)
		}
		if err != nil {
			var problem *service.Error
			text := err.Error()
			if errors.As(err, &problem) {
				text = problem.Detail
			}
			http.Error(w, text, http.StatusServiceUnavailable)
			return
		}
		if slow := s.slow(); slow != "" {
			fmt.Fprintln(w, "ok, but "+slow)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// live reports why only an end of this process would help, nil while it need not end. A node that starts, drains, or waits
// for another one lives.
func (s *Server) live() error {
	if !s.up.Load() || s.engine == nil {
		return nil
	}
	return s.engine.stalled()
}

// slow reports that the engine of this node waits for a slow store, "" if it does not.
func (s *Server) slow() string {
	if s.engine == nil {
		return ""
	}
	return s.engine.slow()
}

// watchSlow writes to the log when the store falls behind what is asked of it, from time to time while it is, and when it
// has caught up.
func watchSlow(ctx context.Context, slow func() string, log *slog.Logger) {
	ticker := time.NewTicker(stallEvery)
	defer ticker.Stop()
	var said time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		switch words := slow(); {
		case words != "" && time.Since(said) >= slowEvery:
			said = time.Now()
			log.Warn(words)
		case words == "" && !said.IsZero():
			said = time.Time{}
			log.Info("the store has caught up: runs start on time again")
		}
	}
}

// slowEvery is how often the log says that the store is slow while it is.
const slowEvery = time.Minute

// stallEvery is how often the watch looks at the engine.
const stallEvery = 5 * time.Second

// watchStall writes to the log when the engine stalls, and when it recovers.
func watchStall(ctx context.Context, stalled func() error, log *slog.Logger) {
	ticker := time.NewTicker(stallEvery)
	defer ticker.Stop()
	said := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		switch err := stalled(); {
		case err != nil && !said:
			said = true
			log.Error("the engine makes no progress: nothing new starts, and /livez fails so that the process is started again", "error", err)
		case err == nil && said:
			said = false
			log.Info("the engine makes progress again")
		}
	}
}

// partsAnswer reports whether a node without a store reaches what it stands on.
func (s *Server) partsAnswer(ctx context.Context) error {
	for _, part := range []struct {
		name string
		ping func(context.Context) error
	}{{"the queue", s.queue.Ping}, {"S3", s.blobs.Ping}} {
		if err := part.ping(ctx); err != nil {
			return fmt.Errorf("%s does not answer: %w", part.name, err)
		}
	}
	return nil
}
