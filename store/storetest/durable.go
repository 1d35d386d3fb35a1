package storetest

import (
	"context"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
)

// RunDurable does what Run does, and holds a store that keeps its data on a disk to the promises about that. reopen
// closes nothing: it opens once more what the last open or reopen opened, which has been closed.
func RunDurable(t *testing.T, open, reopen func(t *testing.T) Store) {
	Run(t, open)
	t.Run("durable", func(t *testing.T) {
		for _, test := range durablePromises {
			t.Run(test.name, func(t *testing.T) {
				h := newHarness(t, open(t))
				t.Cleanup(func() {
					if err := h.store.Close(context.WithoutCancel(t.Context())); err != nil {
						t.Errorf("close: %v", err)
					}
				})
				test.check(h, func() {
					h.Helper()
					h.must("close", h.store.Close(h.ctx))
					h.store = reopen(t)
				})
			})
		}
	})
}

type durablePromise struct {
	name  string
	check func(h *harness, reopen func())
}

var durablePromises = []durablePromise{
	{"everything is there after closing and opening again", func(h *harness, reopen func()) {
		jobs, batch := scene(h)
		h.commit(*batch)
		full := fullRun(aJob("full"))
		h.must("insert", h.store.InsertRun(h.ctx, full))
		h.createBinary(aBinary("report"))
		before := h.state(jobs...)
		for range 2 {
			reopen()
			same(h.T, "state", h.state(jobs...), before)
			same(h.T, "run", h.run(full.ID), full)
			same(h.T, "binary", h.binary("report"), aBinary("report"))
			generation, err := h.store.Generation(h.ctx, jobs[0].UID, 1)
			h.must("generation", err)
			same(h.T, "generation", generation.Spec, jobs[0].Spec)
		}
	}},
	{"conditions hold across closing and opening again", func(h *harness, reopen func()) {
		lives := finished(aJob("report"), noon, engine.StatusSucceeded)
		for i, run := range lives {
			h.commitRuns(run)
			reopen()
			h.commitRuns(run)
			if i > 0 {
				h.refused(engine.Batch{Runs: runWrites(lives[i-1])}, engine.Conflict{Kind: "run", ID: run.ID})
			}
		}
		same(h.T, "history", h.history(engine.RunFilter{}), lives[3:])
	}},
	{"a cursor is good after closing and opening again", func(h *harness, reopen func()) {
		all := past(h)
		first, next, err := h.store.Runs(h.ctx, engine.RunFilter{Limit: 40})
		h.must("list", err)
		reopen()
		rest := h.history(engine.RunFilter{Limit: 40, Cursor: next})
		same(h.T, "history", runIDs(append(first, rest...)), runIDs(all))
	}},
}
