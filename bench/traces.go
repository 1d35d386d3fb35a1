package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"
)

const (
	// tracesJobs are due each second while the cost of traces is measured.
	tracesJobs = 50
	// tracesSettles is how long a server runs before it is measured.
	tracesSettles = 5 * time.Second
)

// traces measures what a run costs a server without traces and with them, in turns, so that a machine that is shared says the same of
// both. The collector takes all at once, in this process.
func (b *bench) traces(ctx context.Context, pairs int, each time.Duration) error {
	var taken atomic.Int64
	collector := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		taken.Add(n)
		w.Header().Set("Content-Type", "application/x-protobuf")
	})}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = collector.Serve(listener) }() // until it is closed
	defer collector.Close()
	flags := map[bool][]string{true: {"--otlp-endpoint", "http://" + listener.Addr().String()}}
	var cpu, runs [2]float64
	lags := map[bool]string{}
	for pair := range pairs {
		for turn := range 2 {
			traced := (pair+turn)%2 == 1 // the one that begins changes
			used, ended, err := b.tracesTurn(ctx, each, flags[traced])
			if err != nil {
				return err
			}
			at := 0
			if traced {
				at = 1
			}
			cpu[at] += used.Seconds()
			runs[at] += ended
			lags[traced] += fmt.Sprintf(" %.2f", 1000*used.Seconds()/ended)
		}
	}
	if taken.Load() == 0 {
		return errors.New("the collector was sent nothing")
	}
	without, with := 1000*cpu[0]/runs[0], 1000*cpu[1]/runs[1]
	b.print(fmt.Sprintf("CPU of a server for a run, %d runs/s for %s, %d turns each, without traces and with them, on %s", tracesJobs, each, pairs, b.storeName()),
		fmt.Sprintf("%.2f ms without (%s), %.2f ms with (%s): %+.1f %%; %.0f bytes a run were sent", without, lags[false][1:], with, lags[true][1:],
			100*(with/without-1), float64(taken.Load())/runs[1]), "")
	return nil
}

// tracesTurn starts a server, and returns what it used for how many runs.
func (b *bench) tracesTurn(ctx context.Context, each time.Duration, flags []string) (used time.Duration, ended float64, err error) {
	dir, err := b.folder()
	if err != nil {
		return 0, 0, err
	}
	s, _, err := startServer(ctx, b.binary, filepath.Join(dir, "data"), flags...)
	if err != nil {
		return 0, 0, err
	}
	defer b.stop(s)
	if err := s.push(ctx, "true", b.trueProgram); err != nil {
		return 0, 0, err
	}
	if err := s.jobs(ctx, "traced-", tracesJobs, map[string]any{
		"kind": "Job", "binary": "true", "schedule": "* * * * * *", "timeout": "1m", "catch_up": map[string]any{"policy": "none"},
	}); err != nil {
		return 0, 0, err
	}
	from := time.Now().Truncate(time.Second).Add(tracesSettles)
	if err := sleepUntil(ctx, from); err != nil {
		return 0, 0, err
	}
	const succeeded = `tidewheel_runs_ended_total{status="succeeded"}`
	before, err := s.counter(ctx, succeeded)
	if err != nil {
		return 0, 0, err
	}
	if used, err = usageUntil(ctx, s, from, from.Add(each)); err != nil {
		return 0, 0, err
	}
	after, err := s.counter(ctx, succeeded)
	if err == nil && after == before {
		err = errors.New("no run has ended")
	}
	return used, float64(after - before), err
}
