package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
)

// throughput measures how many real processes of /bin/true the whole system runs in a second, each run with its
// output captured and everything durable. The work comes as backfills, so that there is always more waiting.
func (b *bench) throughput(ctx context.Context, jobs, each int) error {
	dir, err := b.folder()
	if err != nil {
		return err
	}
	s, _, err := startServer(ctx, b.binary, filepath.Join(dir, "data"))
	if err != nil {
		return err
	}
	defer b.stop(s)
	if err := s.push(ctx, "true", b.trueProgram); err != nil {
		return err
	}
	if err := s.jobs(ctx, "true-", jobs, map[string]any{
		"kind": "Job", "binary": "true", "schedule": "* * * * * *", "overlap": "allow", "timeout": "1m",
	}); err != nil {
		return err
	}
	for i := range jobs { // nothing is to fire by itself
		if err := s.call(ctx, http.MethodPost, "/jobs/true-"+strconv.Itoa(i)+"/pause", nil, nil); err != nil {
			return err
		}
	}
	return b.backfill(ctx, s, jobs, each)
}

// backfill asks for each past slots of each job, waits until all have ended, and prints the rate.
func (b *bench) backfill(ctx context.Context, s *server, jobs, each int) error {
	to := time.Now().Truncate(time.Minute).Add(-time.Minute)
	own, children, err := cpuTime(s.pid())
	if err != nil {
		return err
	}
	for i := range jobs {
		err := s.call(ctx, http.MethodPost, "/jobs/true-"+strconv.Itoa(i)+"/backfill",
			map[string]any{"from": to.Add(-time.Duration(each) * time.Second), "to": to}, nil)
		if err != nil {
			return err
		}
	}
	runs, err := waitForAll(ctx, s, jobs*each)
	if err != nil {
		return err
	}
	ownAfter, childrenAfter, err := cpuTime(s.pid())
	if err != nil {
		return err
	}
	first, last, bad := time.Now(), time.Time{}, 0
	for i := range runs {
		r := &runs[i]
		if r.Status.String() != "succeeded" {
			bad++
		}
		if r.StartedAt.Before(first) {
			first = r.StartedAt
		}
		if r.FinishedAt.After(last) {
			last = r.FinishedAt
		}
	}
	rate := float64(len(runs)) / last.Sub(first).Seconds()
	b.print("real processes, output captured", fmt.Sprintf("%.0f runs/s (%d runs, %d not succeeded; server CPU %.0f µs a run, programs %.0f µs)",
		rate, len(runs), bad, micros(ownAfter-own, len(runs)), micros(childrenAfter-children, len(runs))),
		fmt.Sprintf("42%% of the machine's %.0f starts/s is %.0f; design 85%%", b.forks, 0.425*b.forks))
	return nil
}

func micros(d time.Duration, n int) float64 { return float64(d.Microseconds()) / float64(n) }

// waitForAll waits until want runs exist and all have ended, and returns them.
func waitForAll(ctx context.Context, s *server, want int) ([]wire.Run, error) {
	for {
		if err := sleepUntil(ctx, time.Now().Add(500*time.Millisecond)); err != nil {
			return nil, err
		}
		var open struct{ Items []wire.Run }
		if err := s.call(ctx, http.MethodGet, "/runs?status=scheduled,queued,running,retrying&limit=1", nil, &open); err != nil {
			return nil, err
		}
		if len(open.Items) > 0 {
			continue
		}
		var runs []wire.Run
		cursor := ""
		for {
			var page struct {
				Items []wire.Run
				Next  string
			}
			if err := s.call(ctx, http.MethodGet, "/runs?limit=1000&cursor="+url.QueryEscape(cursor), nil, &page); err != nil {
				return nil, err
			}
			runs = append(runs, page.Items...)
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		if len(runs) >= want {
			return runs, nil
		}
	}
}
