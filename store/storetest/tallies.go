package storetest

import (
	"context"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// Tallies is what the overview asks of a store.
type Tallies interface {
	// Tallies counts the runs of a namespace that were made within each window (a zero bound is open), by status, up to
	// limit of each. Where more than limit have ended, the count of those that succeeded may be too small, and says so.
	Tallies(ctx context.Context, namespace string, windows []engine.Window, limit int) ([]engine.Tallies, error)
	// RecentSlots lists ledger entries of a namespace that end at or after an instant, the latest end first.
	RecentSlots(ctx context.Context, namespace string, since time.Time, limit int) ([]engine.SlotRange, error)
}

func (h *harness) tallies(limit int, windows ...engine.Window) []engine.Tallies {
	h.Helper()
	all, err := h.store.Tallies(h.ctx, namespace, windows, limit)
	h.must("count runs", err)
	return all
}

func countedBy(all []engine.Run, window engine.Window) (tallies engine.Tallies) {
	for _, run := range all {
		if run.Namespace == namespace && !run.CreatedAt.Before(window.From) && (window.Until.IsZero() || run.CreatedAt.Before(window.Until)) {
			tallies[run.Status].N++
		}
	}
	return tallies
}

var tallyPromises = []promise{
	{"runs are counted by status within windows", func(h *harness) {
		all := past(h)
		windows := []engine.Window{
			{}, {From: all[70].CreatedAt}, {Until: all[70].CreatedAt}, {From: all[90].CreatedAt, Until: all[20].CreatedAt},
			{From: all[20].CreatedAt, Until: all[90].CreatedAt},
		}
		got := h.tallies(1000, windows...)
		for i, window := range windows {
			same(h.T, "tallies of a window", got[i], countedBy(all, window))
		}
	}},
	{"counting stops at its limit and says so", func(h *harness) {
		all := past(h)
		got, whole := h.tallies(2, engine.Window{})[0], countedBy(all, engine.Window{})
		for _, status := range engine.Statuses() {
			if n := whole[status].N; n > 2 && !got[status].More || got[status].N > 2 || status != engine.StatusSucceeded && got[status].N != min(n, 2) {
				h.Errorf("%s: counted %+v of %d", status, got[status], n)
			}
		}
	}},
	{"a run that is resumed after it has ended is counted once", func(h *harness) {
		job := h.createJob(aJob("report"))
		run := slotRun(job, noon)
		run.Status, run.FinishedAt = engine.StatusFailed, noon.Add(time.Minute)
		h.commitRuns(run)
		same(h.T, "failed", h.tallies(10, engine.Window{})[0].Sum(), engine.Tally{N: 1})
		again := run.Clone()
		again.Revision, again.Status, again.FinishedAt = run.Revision+1, engine.StatusQueued, time.Time{}
		h.commitRuns(again)
		got := h.tallies(10, engine.Window{})[0]
		same(h.T, "queued", got[engine.StatusQueued], engine.Tally{N: 1})
		same(h.T, "all", got.Sum(), engine.Tally{N: 1})
	}},
	{"recent ledger entries are those that end last", func(h *harness) {
		first, second, other := aJob("first"), aJob("second"), aJob("third")
		other.Namespace = "other"
		early, late := aSlotRange(first, noon.Add(-time.Hour), 2), aSlotRange(second, noon, 3)
		gone, foreign := aSlotRange(first, noon.Add(-48*time.Hour), 1), aSlotRange(other, noon, 5)
		h.commit(engine.Batch{Slots: []engine.SlotRange{early, gone, late, foreign}})
		recent := func(limit int) []engine.SlotRange {
			slots, err := h.store.RecentSlots(h.ctx, namespace, early.To, limit)
			h.must("list recent slots", err)
			return slots
		}
		same(h.T, "recent slots", recent(10), []engine.SlotRange{late, early})
		same(h.T, "the first of them", recent(1), []engine.SlotRange{late})
	}},
}
