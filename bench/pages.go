package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// pageRequests is how often each page is asked for.
const pageRequests = 100

// pages measures what a reader waits for with a long history: n jobs that have run `runs` times between them. Each page
// is asked for by itself, as a browser does, again and again; those with a cursor are followed into the past.
func (b *bench) pages(ctx context.Context, jobs, runs int) error {
	dir, err := b.folder()
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	s, _, err := startServer(ctx, b.binary, data, b.storeFlags()...)
	if err != nil {
		return err
	}
	if err := s.push(ctx, "true", b.trueProgram); err != nil {
		return err
	}
	if err := s.stop(); err != nil {
		return err
	}
	if err := b.register(ctx, data, jobs); err != nil {
		return err
	}
	last, err := b.remember(ctx, data, runs, time.Now().UTC())
	if err != nil {
		return err
	}
	if s, _, err = startServer(ctx, b.binary, data, b.storeFlags()...); err != nil {
		return err
	}
	defer b.stop(s)
	day := time.Now().UTC().Add(-5 * 24 * time.Hour).Format(time.RFC3339)
	addresses := []string{
		"/", "/jobs", "/jobs?q=job-77", "/jobs?sort=last", "/jobs/job-5", "/jobs/job-5/slots", "/runs", "/runs?status=failed",
		"/runs?status=running", "/runs?job=job-5", "/runs?job=job-5&status=failed", "/runs?job=job-5&status=succeeded", "/runs?tier=heavy", "/runs?until=" + day, "/runs?by=ada", "/runs?q=job-7777",
		"/runs?q=nowhere", "/runs/" + last, "/executors", "/api/v1/runs?limit=100", "/api/v1/runs?status=failed", "/api/v1/jobs?limit=100",
	}
	type page struct {
		address string
		took    sample
		size    int
	}
	measured := make([]page, 0, len(addresses))
	var all, history sample
	for _, address := range addresses {
		p := page{address: address}
		for range pageRequests {
			took, size, err := s.page(ctx, address)
			if err != nil {
				return err
			}
			p.took, p.size = append(p.took, took), size
		}
		if all = append(all, p.took...); strings.HasPrefix(address, "/runs") || strings.HasPrefix(address, "/api/v1/runs") {
			history = append(history, p.took...)
		}
		measured = append(measured, p)
	}
	slices.SortFunc(measured, func(a, b page) int { return cmp.Compare(b.took.at(0.95), a.took.at(0.95)) })
	var text strings.Builder
	fmt.Fprintf(&text, "history: p50 %s, p95 %s, p99 %s; all: p50 %s, p95 %s, p99 %s; the slowest:",
		milliseconds(history.at(0.5)), milliseconds(history.at(0.95)), milliseconds(history.at(0.99)),
		milliseconds(all.at(0.5)), milliseconds(all.at(0.95)), milliseconds(all.at(0.99)))
	for _, p := range measured[:6] {
		fmt.Fprintf(&text, "\n    %-28s p50 %s, p95 %s, %d KiB", p.address, milliseconds(p.took.at(0.5)), milliseconds(p.took.at(0.95)), p.size>>10)
	}
	b.print(fmt.Sprintf("pages with %d jobs and %d runs on %s, %d requests each", jobs, runs, b.storeName(), pageRequests), text.String(),
		"a history page, p95 under 50 ms at 10,000,000 runs")
	return nil
}

// page asks for a page, and returns how long it took until its last byte, and its size in bytes.
func (s *server) page(ctx context.Context, address string) (time.Duration, int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+address, nil)
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, 0, err
	}
	if answer.StatusCode != http.StatusOK {
		return 0, 0, fmt.Errorf("GET %s: %s: %.200s", address, answer.Status, text)
	}
	return time.Since(began), len(text), nil
}

// remember writes n runs that have ended straight into the store, over its jobs and the twenty days until an instant; the
// id of the latest is given. One in fifty has failed, one in a thousand was heavy, one in five hundred triggered by ada.
func (b *bench) remember(ctx context.Context, data string, n int, until time.Time) (last string, err error) {
	store, err := b.openStore(ctx, data)
	if err != nil {
		return "", err
	}
	defer store.Close(ctx)
	var jobs []engine.Job
	filter := engine.DefinitionFilter{Namespace: engine.DefaultNamespace, Limit: 1000}
	for {
		page, next, err := store.Jobs().List(ctx, filter)
		if err != nil {
			return "", err
		}
		jobs = append(jobs, page...)
		if next == "" {
			break
		}
		filter.Cursor = next
	}
	owner, err := takeShards(ctx, store)
	if err != nil {
		return "", err
	}
	const chunk = 2000
	begin := until.Truncate(time.Second).Add(-20 * 24 * time.Hour)
	step := 20 * 24 * time.Hour / time.Duration(n+1)
	for at := 0; at < n; at += chunk {
		var runs []engine.Run
		for i := at; i < min(at+chunk, n); i++ {
			runs = append(runs, pastRun(&jobs[i*7919%len(jobs)], i, begin.Add(time.Duration(i)*step).Truncate(time.Millisecond)))
		}
		last = runs[len(runs)-1].ID
		if err := owner.commit(ctx, runs, nil); err != nil {
			return "", err
		}
	}
	return last, nil
}

// pastRun is the i-th run of a history.
func pastRun(job *engine.Job, i int, slot time.Time) engine.Run {
	status, code := engine.StatusSucceeded, 0
	if i%50 == 0 {
		status, code = engine.StatusFailed, 1
	}
	end := slot.Add(time.Duration(50+i%1000) * time.Millisecond)
	attempt := engine.Attempt{
		N: 1, Status: status, Executor: "bench-1", Token: 42, QueuedAt: slot, ClaimedAt: slot.Add(time.Millisecond),
		FetchedAt: slot.Add(time.Millisecond), StartedAt: slot.Add(2 * time.Millisecond), FinishedAt: end, ExitCode: &code,
		Usage:  &engine.Usage{CPU: time.Millisecond, MaxRSS: 1 << 20},
		Output: &engine.Output{Size: 6, Lines: 1, Tail: []byte("hello\n")},
	}
	run := engine.Run{
		ID: engine.SlotRunID(job.UID, slot), Revision: 1, Namespace: job.Namespace, JobUID: job.UID, Job: job.Name, Shard: job.Shard,
		Generation: 1, Trigger: engine.TriggerSchedule, Slot: slot, Status: status, Tier: spec.TierLight, Class: spec.ClassStandard,
		Binary: "true", Version: 1, Digest: strings.Repeat("0123456789abcdef", 4), Kind: "elf", Size: 1 << 20,
		CreatedAt: slot, QueuedAt: slot, StartedAt: slot.Add(2 * time.Millisecond), FinishedAt: end,
		Attempt: 1, Attempts: []engine.Attempt{attempt},
	}
	if i%1000 == 1 {
		run.Tier = spec.TierHeavy
	}
	if i%500 == 2 {
		run.ID, run.Trigger, run.By = engine.ManualRunID(job.UID, "bench-"+strconv.Itoa(i)), engine.TriggerManual, "ada"
	}
	return run
}
