package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// oldHistory is a store with some runs and ledger entries to expire, a few at a time.
type oldHistory struct {
	runs    []engine.Run
	slots   int
	deleted []string
	before  []time.Time
}

func (h *oldHistory) ExpireRuns(_ context.Context, before time.Time, limit int) ([]engine.Run, error) {
	h.before = append(h.before, before)
	n := min(limit, 2, len(h.runs))
	removed := h.runs[:n]
	h.runs = h.runs[n:]
	return removed, nil
}

func (h *oldHistory) ExpireSlots(_ context.Context, before time.Time, limit int) (int, error) {
	h.before = append(h.before, before)
	n := min(limit, h.slots)
	h.slots -= n
	return n, nil
}

func (h *oldHistory) DeleteLogs(_ context.Context, run string) error {
	h.deleted = append(h.deleted, run)
	return nil
}

func (h *oldHistory) SweepUploads(context.Context, time.Duration) (int, error) { return 0, nil }

func TestJanitorRemovesHistoryWithItsOutput(t *testing.T) {
	small, large := &engine.Output{Size: 3}, &engine.Output{Size: 9 << 20, Chunks: 3}
	history := &oldHistory{slots: 1200, runs: []engine.Run{
		{ID: "a-s1", Attempts: []engine.Attempt{{N: 1, Output: small}}},
		{ID: "a-s2", Attempts: []engine.Attempt{{N: 1, Output: small}, {N: 2, Output: large}}},
		{ID: "a-s3", Attempts: []engine.Attempt{{N: 1}}}, // lost: it may have stored output
		{ID: "a-s4"},
	}}
	j := newJanitor(history, history, time.Hour, testLog(t), newMetrics())
	j.pause = 0
	before := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	if err := j.expire(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a-s2", "a-s3"}; !slices.Equal(history.deleted, want) {
		t.Errorf("outputs removed: %v, want %v", history.deleted, want)
	}
	if len(history.runs) > 0 || history.slots > 0 {
		t.Errorf("%d runs and %d entries are left", len(history.runs), history.slots)
	}
	for _, at := range history.before {
		if !at.Equal(before) {
			t.Errorf("asked for what is before %s, want %s", at, before)
		}
	}
}
