package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// retentionJobs are due each second, while history is removed.
	retentionJobs = 5
	// retentionAge is how old the history is that is removed, at least; retention is below it by days.
	retentionAge = 40 * 24 * time.Hour
	// retentionBegins is when a server begins to remove history after its start.
	retentionBegins = time.Minute
)

// retention measures how late programs begin while nothing else happens, and then while a server removes n old runs.
func (b *bench) retention(ctx context.Context, n int, most time.Duration) error {
	dir, err := b.folder()
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	flags := append(b.storeFlags(), "--retention", "30d")
	s, _, err := startServer(ctx, b.binary, data, flags...)
	if err != nil {
		return err
	}
	if err := s.push(ctx, "startclock", b.startclock); err != nil {
		return err
	}
	if err := s.push(ctx, "true", b.trueProgram); err != nil {
		return err
	}
	if err := s.stop(); err != nil {
		return err
	}
	if err := b.register(ctx, data, 1000); err != nil {
		return err
	}
	if _, err := b.remember(ctx, data, n, time.Now().UTC().Add(-retentionAge)); err != nil {
		return err
	}
	began := time.Now()
	if s, _, err = startServer(ctx, b.binary, data, flags...); err != nil {
		return err
	}
	defer b.stop(s)
	journal := filepath.Join(dir, "journal")
	if err := newJournal(journal); err != nil {
		return err
	}
	if err := s.jobs(ctx, "lag-", retentionJobs, map[string]any{
		"kind": "Job", "binary": "startclock", "env": map[string]string{"JOURNAL": journal}, "schedule": "* * * * * *", "timeout": "1m",
	}); err != nil {
		return err
	}
	from := time.Now().Truncate(time.Second).Add(5 * time.Second)
	begins := began.Add(retentionBegins).Truncate(time.Second)
	quiet, err := usageUntil(ctx, s, from, begins)
	if err != nil {
		return err
	}
	first := begins.Add(2 * time.Second)
	ended, removed := first, 0
	busy, err := usageUntil(ctx, s, first, first)
	if err != nil {
		return err
	}
	for removed < n && ended.Sub(first) < most {
		next, err := usageUntil(ctx, s, ended, ended.Add(5*time.Second))
		if err != nil {
			return err
		}
		busy, ended = busy+next, ended.Add(5*time.Second)
		if removed, err = s.counter(ctx, `tidewheel_expired_total{kind="run"}`); err != nil {
			return err
		}
	}
	entries, err := readJournal(journal)
	if err != nil {
		return err
	}
	text := func(from, until time.Time, cpu time.Duration) string {
		measured, lost, doubled := lags(entries, retentionJobs, from, until)
		return fmt.Sprintf("p50 %s, p90 %s, p99 %s, max %s (%d starts, %d lost, %d doubled; server CPU %.1f%% of a core)",
			milliseconds(measured.at(0.5)), milliseconds(measured.at(0.9)), milliseconds(measured.at(0.99)), milliseconds(measured.at(1)),
			len(measured), lost, doubled, 100*cpu.Seconds()/until.Sub(from).Seconds())
	}
	b.print(fmt.Sprintf("start lag, %d jobs at one instant, every second, before old history is removed, on %s", retentionJobs, b.storeName()), text(from, begins, quiet), "")
	b.print(fmt.Sprintf("the same while %d of %d old runs are removed, %.0f a second", removed, n, float64(removed)/ended.Sub(begins).Seconds()),
		text(first, ended.Add(-2*time.Second), busy), "as before")
	return nil
}

// usageUntil waits for an instant, and returns what the server has used from another one on.
func usageUntil(ctx context.Context, s *server, from, until time.Time) (time.Duration, error) {
	if err := sleepUntil(ctx, from); err != nil {
		return 0, err
	}
	before, _, err := cpuTime(s.pid())
	if err != nil {
		return 0, err
	}
	if err := sleepUntil(ctx, until); err != nil {
		return 0, err
	}
	after, _, err := cpuTime(s.pid())
	return after - before, err
}

// counter reads a counter of the server's metrics, with its labels.
func (s *server) counter(ctx context.Context, name string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), name+" "); found {
			number, err := strconv.ParseFloat(value, 64)
			return int(number), err
		}
	}
	return 0, fmt.Errorf("the metrics have no %s", name)
}
