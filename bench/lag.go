package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

// lag measures how late the programs of n jobs begin that are all due each second.
func (b *bench) lag(ctx context.Context, n int, d time.Duration) error {
	dir, err := b.folder()
	if err != nil {
		return err
	}
	s, _, err := startServer(ctx, b.binary, filepath.Join(dir, "data"))
	if err != nil {
		return err
	}
	defer b.stop(s)
	if err := s.push(ctx, "startclock", b.startclock); err != nil {
		return err
	}
	journal := filepath.Join(dir, "journal")
	if err := newJournal(journal); err != nil {
		return err
	}
	if err := s.jobs(ctx, "lag-", n, map[string]any{
		"kind": "Job", "binary": "startclock", "env": map[string]string{"JOURNAL": journal}, "schedule": "* * * * * *", "timeout": "1m",
	}); err != nil {
		return err
	}
	from := time.Now().Truncate(time.Second).Add(4 * time.Second) // caches have filled by then
	until := from.Add(d)
	before, _, err := cpuTime(s.pid())
	if err != nil {
		return err
	}
	if err := sleepUntil(ctx, until.Add(2*time.Second)); err != nil {
		return err
	}
	after, _, err := cpuTime(s.pid())
	if err != nil {
		return err
	}
	entries, err := readJournal(journal)
	if err != nil {
		return err
	}
	runs, err := finishedRuns(ctx, s, 10*n)
	if err != nil {
		return err
	}
	measured, lost, doubled := lags(entries, n, from, until)
	name := "start lag, one job a second"
	p50, p99 := 3*time.Millisecond, 10*time.Millisecond // half of section 11's budget
	budget := fmt.Sprintf("p50 %s, p99 %s; design 1.50 and 5.00", milliseconds(p50), milliseconds(p99))
	if n > 1 {
		name = fmt.Sprintf("start lag, %d jobs at one instant, every second", n)
		limit := time.Duration(float64(n) / b.forks * float64(time.Second))
		itself := time.Duration(float64(n) / b.clockForks * float64(time.Second))
		budget = fmt.Sprintf("p99 %s, 3 × the %s that the machine needs to start %d of `true`; design 1.5 ×; to start %d of this program it needs %s",
			milliseconds(3*limit), milliseconds(limit), n, n, milliseconds(itself))
	}
	b.print(name, fmt.Sprintf("p50 %s, p90 %s, p99 %s, max %s (%d starts, %d lost, %d doubled; server CPU %.1f%% of a core)",
		milliseconds(measured.at(0.5)), milliseconds(measured.at(0.9)), milliseconds(measured.at(0.99)), milliseconds(measured.at(1)),
		len(measured), lost, doubled, 100*(after-before).Seconds()/(d+6*time.Second).Seconds()), budget)
	printSteps(entries, runs)
	return nil
}

func sleepUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
