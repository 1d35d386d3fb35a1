package storetest

import (
	"context"
	"testing"
	"time"

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
					h.writer = &writer{store: h.store}
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
		h.commit(batch)
		full := fullRun(aJob("full"))
		h.commitRuns(full)
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
	{"a cursor is good after closing and opening again", func(h *harness, reopen func()) {
		all := past(h)
		first, next, err := h.store.Runs(h.ctx, engine.RunFilter{Limit: 40})
		h.must("list", err)
		reopen()
		rest := h.history(engine.RunFilter{Limit: 40, Cursor: next})
		same(h.T, "history", runIDs(append(first, rest...)), runIDs(all))
	}},
	{"what was committed is there after closing and opening again, and fences hold", func(h *harness, reopen func()) {
		jobs, dag := jobsOf(7)
		for _, job := range jobs {
			h.createJob(job)
		}
		h.createDAG(dag)
		put, replace, drop := stages(jobs, dag)
		var last *owner
		for n, decision := range []engine.Batch{put, replace, drop} {
			owner := h.take(7, "ada")
			if n > 0 {
				if owner.term <= last.term || owner.position < last.position {
					h.Fatalf("term %d begins at %d, after term %d, which ended at %d", owner.term, owner.position, last.term, last.position)
				}
				last.isFenced(put)
			}
			before := h.caughtUp(jobs...)
			owner.commit(decision)
			last = owner
			reopen()
			same(h.T, "state", h.caughtUp(jobs...), before.after(&decision))
		}
	}},
	{"a run is found where its last put says after closing and opening again", func(h *harness, reopen func()) {
		lives := finished(aJob("report"), noon, engine.StatusSucceeded)
		var want state
		for _, at := range []int{0, 3, 1, 3} {
			decision := engine.Batch{Runs: []engine.Run{lives[at]}}
			h.take(lives[at].Shard, "ada").commit(decision)
			reopen()
			want = want.after(&decision)
			same(h.T, "state", h.caughtUp(), want)
		}
		h.take(lives[0].Shard, "ada").commit(engine.Batch{DropRuns: []string{lives[0].ID}})
		reopen()
		same(h.T, "state", h.caughtUp(), state{})
	}},
	{"a decision of 20,000 runs is whole after closing and opening again", func(h *harness, reopen func()) {
		job := aJob("report")
		var large engine.Batch
		for n := range 20_000 {
			large.Runs = append(large.Runs, slotRun(job, noon.Add(time.Duration(n)*time.Second)))
		}
		h.take(job.Shard, "ada").commit(large)
		reopen()
		h.catchUp()
		runs, err := h.store.ActiveRuns(h.ctx, []int{job.Shard}, "", 30_000)
		h.must("list active runs", err)
		same(h.T, "runs", runs, sorted(large.Runs, runID))
	}},
}
