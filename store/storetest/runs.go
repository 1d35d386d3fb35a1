package storetest

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

var runPromises = []promise{
	{"a run comes back as it was written", func(h *harness) {
		job := aJob("report")
		full := fullRun(job)
		plain := slotRun(job, noon)
		h.commitRuns(full, plain)
		same(h.T, "the full run", h.run(full.ID), full)
		same(h.T, "the plain run", h.run(plain.ID), plain)
		full = full.Clone()
		full.Revision, full.Reason, full.Payload = 2, "", json.RawMessage(`null`)
		h.commitRuns(full)
		same(h.T, "the changed run", h.run(full.ID), full)
		full.Revision, full.Payload, full.Args, full.Progress, full.Attempts = 3, nil, nil, nil, nil
		h.commitRuns(full)
		got := h.run(full.ID)
		same(h.T, "the emptied run", got, full)
		if got.Payload != nil {
			h.Fatalf("no payload came back as %q", got.Payload)
		}
	}},
	{"zero stays zero and absent stays absent", func(h *harness) {
		run := slotRun(aJob("report"), noon)
		run.Slot = time.Time{}
		run.Attempts = []engine.Attempt{{N: 1, Status: engine.StatusQueued}, {N: 2, Usage: &engine.Usage{}, Output: &engine.Output{}, ExitCode: new(int)}}
		run.Progress = &engine.Progress{}
		h.commitRuns(run)
		got := h.run(run.ID)
		same(h.T, "run", got, run)
		if !got.Slot.IsZero() || !got.QueuedAt.IsZero() || !got.Attempts[0].StartedAt.IsZero() || !got.Progress.At.IsZero() {
			h.Fatalf("a zero time came back as something else: %+v", got)
		}
	}},
	{"an early instant is an instant", func(h *harness) {
		run := slotRun(aJob("report"), time.UnixMilli(0).UTC())
		run.CreatedAt = time.UnixMilli(-62_000_000_123).UTC()
		h.commitRuns(run)
		same(h.T, "run", h.run(run.ID), run)
	}},
	{"what is asked of a run that is not there is not found", func(h *harness) {
		if _, err := h.store.Run(h.ctx, "aaaaaaaaaaaaaaaa-s1"); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("got %v", err)
		}
		run := slotRun(aJob("report"), noon)
		h.commitRuns(run)
		runs, err := h.store.RunsByID(h.ctx, []string{"aaaaaaaaaaaaaaaa-s1", run.ID, "no id at all"})
		h.must("read", err)
		same(h.T, "runs", runIDs(runs), []string{run.ID})
		runs, err = h.store.RunsByID(h.ctx, nil)
		h.must("read none", err)
		same(h.T, "runs", runIDs(runs), nil)
	}},
	{"many runs are read at once", func(h *harness) {
		job := aJob("report")
		var runs []engine.Run
		for i := range 1500 {
			runs = append(runs, slotRun(job, noon.Add(time.Duration(i)*time.Minute)))
		}
		h.commitRuns(runs...)
		got, err := h.store.RunsByID(h.ctx, runIDs(runs))
		h.must("read", err)
		same(h.T, "runs", sorted(got, func(r engine.Run) string { return r.ID }), sorted(runs, func(r engine.Run) string { return r.ID }))
	}},
	{"what is given and what is got belong to the caller", func(h *harness) {
		job := aJob("report")
		given := fullRun(job)
		h.commitRuns(given)
		given.Payload[2], given.Args["KEY"], given.Attempts[0].Output.Tail[0] = 'X', "changed", 'X'
		*given.Attempts[0].ExitCode, given.Progress.Message = 99, "changed"
		want := fullRun(job)
		got := h.run(want.ID)
		same(h.T, "run after its giver changed it", got, want)
		got.Payload[2], got.Args["KEY"], got.Attempts[0].Output.Tail[0] = 'Y', "changed again", 'Y'
		*got.Attempts[0].ExitCode, got.Progress.Message = 98, "changed again"
		same(h.T, "run after its reader changed it", h.run(want.ID), want)
	}},
	{"duplicate insert is a conflict unless it is the same write", func(h *harness) {
		run := slotRun(aJob("report"), noon)
		h.commitRuns(run)
		h.commitRuns(run)
		other := run
		other.Reason = "made by somebody else"
		h.refused(engine.Batch{Runs: runWrites(other)}, engine.Conflict{Kind: "run", ID: run.ID})
		same(h.T, "run", h.run(run.ID), run)
	}},
	{"a run that has moved on cannot be inserted again", func(h *harness) {
		lives := finished(aJob("report"), noon, engine.StatusSucceeded)
		for i, run := range lives {
			h.commitRuns(run)
			if i > 0 {
				h.refused(engine.Batch{Runs: runWrites(lives[0])}, engine.Conflict{Kind: "run", ID: run.ID})
				same(h.T, "run", h.run(run.ID), run)
			}
		}
	}},
	{"stale write is refused", func(h *harness) {
		lives := finished(aJob("report"), noon, engine.StatusSucceeded)
		h.live(lives[:3])
		late := queued(lives[0])
		late.Reason = "written by an engine that was asleep"
		h.refused(engine.Batch{Runs: runWrites(late)}, engine.Conflict{Kind: "run", ID: late.ID})
		same(h.T, "run", h.run(late.ID), lives[2])
	}},
	{"a write that skips a revision is refused", func(h *harness) {
		lives := finished(aJob("report"), noon, engine.StatusSucceeded)
		h.commitRuns(lives[0])
		h.refused(engine.Batch{Runs: runWrites(lives[2])}, engine.Conflict{Kind: "run", ID: lives[2].ID})
		same(h.T, "run", h.run(lives[0].ID), lives[0])
	}},
	{"a change of a run that is not there is refused", func(h *harness) {
		run := queued(slotRun(aJob("report"), noon))
		h.refused(engine.Batch{Runs: runWrites(run)}, engine.Conflict{Kind: "run", ID: run.ID})
		if _, err := h.store.Run(h.ctx, run.ID); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("the refused write left something: %v", err)
		}
	}},
	{"a write done but reported failed is no conflict when given again", func(h *harness) {
		lives := finished(aJob("report"), noon, engine.StatusDead)
		faulty := &Faulty{Store: h.store}
		for _, run := range lives {
			batch := engine.Batch{Runs: runWrites(run)}
			faulty.Fault = DoneButFailed
			if _, err := faulty.Commit(h.ctx, &batch); !errors.Is(err, ErrInjected) {
				h.Fatalf("got %v", err)
			}
			faulty.Fault = Twice
			conflicts, err := faulty.Commit(h.ctx, &batch)
			h.must("give it again", err)
			same(h.T, "conflicts", conflicts, nil)
			same(h.T, "run", h.run(run.ID), run)
		}
	}},
	{"the same revision with other content is a conflict", func(h *harness) {
		lives := finished(aJob("report"), noon, engine.StatusSucceeded)
		for i, run := range lives {
			h.commitRuns(run)
			if i == 0 {
				continue
			}
			other := run.Clone()
			other.Attempts[0].Executor = "another"
			h.refused(engine.Batch{Runs: runWrites(other)}, engine.Conflict{Kind: "run", ID: run.ID})
			same(h.T, "run", h.run(run.ID), run)
		}
	}},
	{"a run may be born ended", func(h *harness) {
		run := slotRun(aJob("report"), noon)
		run.Status, run.FinishedAt, run.Reason = engine.StatusFailed, noon, "the binary is gone"
		h.commitRuns(run)
		h.commitRuns(run)
		same(h.T, "run", h.run(run.ID), run)
		h.active(allShards())
	}},
	{"active runs are those that have not ended, in the order of their ids", func(h *harness) {
		var want []string
		for i, status := range engine.Statuses() {
			job := aJob(numbered("job", i))
			run := slotRun(job, noon)
			run.Status = status
			if status.Terminal() {
				run.FinishedAt = noon
			} else {
				want = append(want, run.ID)
			}
			h.commitRuns(run)
		}
		slices.Sort(want)
		h.active(allShards(), want...)
	}},
	{"active runs are paged by id and chosen by shard", func(h *harness) {
		byShard := map[int][]string{}
		var all []string
		for i := range 60 {
			run := slotRun(aJob(numbered("job", i)), noon)
			h.commitRuns(run)
			byShard[run.Shard] = append(byShard[run.Shard], run.ID)
			all = append(all, run.ID)
		}
		slices.Sort(all)
		var paged []string
		for after := ""; ; after = paged[len(paged)-1] {
			runs, err := h.store.ActiveRuns(h.ctx, allShards(), after, 7)
			h.must("list active runs", err)
			if len(runs) == 0 {
				break
			}
			paged = append(paged, runIDs(runs)...)
		}
		same(h.T, "paged", paged, all)
		for shard, want := range byShard {
			slices.Sort(want)
			h.active([]int{shard}, want...)
		}
		h.active(nil)
	}},
	{"a run that ends is active no more, and one that is tried again is", func(h *harness) {
		job := aJob("report")
		for _, status := range []engine.Status{engine.StatusFailed, engine.StatusTimedOut, engine.StatusCancelled, engine.StatusLost, engine.StatusDead} {
			lives := finished(job, noon.Add(time.Duration(status)*time.Minute), status)
			last := h.live(lives[:3])
			h.active([]int{job.Shard}, last.ID)
			last = h.live(lives[3:])
			h.active([]int{job.Shard})
			h.activeOf(job.UID)
			again := queued(last)
			again.FinishedAt = time.Time{}
			h.commitRuns(again)
			h.commitRuns(again)
			h.active([]int{job.Shard}, last.ID)
			h.activeOf(job.UID, last.ID)
			same(h.T, "run", h.run(last.ID), again)
			h.refused(engine.Batch{Runs: runWrites(last)}, engine.Conflict{Kind: "run", ID: last.ID})
			h.live([]engine.Run{running(again), ended(running(again), engine.StatusSucceeded, time.Hour)})
			h.active([]int{job.Shard})
		}
	}},
	{"active runs of a job are its own", func(h *harness) {
		one, two := aJob("one"), aJob("two")
		h.live(finished(one, noon, engine.StatusSucceeded))
		first, second := slotRun(one, noon.Add(time.Minute)), manualRun(one, "key", noon)
		other := slotRun(two, noon)
		h.commitRuns(first, second, other)
		h.activeOf(one.UID, first.ID, second.ID)
		h.activeOf(two.UID, other.ID)
		runs, err := h.store.ActiveRunsOf(h.ctx, []string{one.UID, two.UID, uidOf("three")})
		h.must("list", err)
		same(h.T, "runs", len(runs), 3)
		runs, err = h.store.ActiveRunsOf(h.ctx, nil)
		h.must("list none", err)
		same(h.T, "runs", len(runs), 0)
	}},
	{"a run that was removed and made again is another", func(h *harness) {
		job := aJob("report")
		first := slotRun(job, noon)
		h.commitRuns(first)
		h.commit(engine.Batch{DropRuns: runDrops(first)})
		again := first.Clone()
		again.Trigger, again.CreatedAt = engine.TriggerBackfill, noon.Add(time.Hour)
		h.commitRuns(again)
		conflict := engine.Conflict{Kind: "run", ID: first.ID}
		h.refused(engine.Batch{Runs: runWrites(queued(first))}, conflict)
		over := ended(queued(again), engine.StatusFailed, time.Minute)
		h.commitRuns(queued(again), over)
		stale := ended(queued(first), engine.StatusFailed, time.Minute)
		retried := queued(stale)
		h.refused(engine.Batch{Runs: runWrites(retried)}, conflict)
		same(h.T, "the run", h.run(first.ID), over)
	}},
	{"dropping a prepared run spares one that has been queued", func(h *harness) {
		job := aJob("report")
		prepared, gone := slotRun(job, noon), slotRun(job, noon.Add(time.Minute))
		fired := queued(gone)
		h.commitRuns(prepared, gone)
		h.commitRuns(fired)
		over := h.live(finished(job, noon.Add(2*time.Minute), engine.StatusSucceeded))
		h.commit(engine.Batch{DropRuns: append(runDrops(prepared, fired, over), engine.RunDrop{ID: "aaaaaaaaaaaaaaaa-s1", Revision: 1})})
		if _, err := h.store.Run(h.ctx, prepared.ID); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("the prepared run: %v", err)
		}
		same(h.T, "the queued run", h.run(fired.ID), fired)
		same(h.T, "the run that is over", h.run(over.ID), over)
		h.active(allShards(), fired.ID)
		h.commitRuns(prepared) // the slot can be prepared anew
	}},
	{"dropping a prepared run spares one that was written again, or made anew", func(h *harness) {
		prepared := slotRun(aJob("report"), noon)
		again := prepared
		again.Revision, again.Reason = 2, "waits for its turn"
		h.live([]engine.Run{prepared, again})
		h.commit(engine.Batch{DropRuns: runDrops(prepared)})
		same(h.T, "the run that was written again", h.run(prepared.ID), again)
		h.commit(engine.Batch{DropRuns: runDrops(again)})
		anew := prepared
		anew.CreatedAt = prepared.CreatedAt.Add(time.Millisecond)
		h.commitRuns(anew)
		h.commit(engine.Batch{DropRuns: runDrops(prepared)})
		same(h.T, "the run that was made anew", h.run(prepared.ID), anew)
	}},
}

func runDrops(runs ...engine.Run) []engine.RunDrop {
	drops := make([]engine.RunDrop, len(runs))
	for i := range runs {
		drops[i] = runs[i].Drop()
	}
	return drops
}

// active wants just these active runs of some shards.
func (h *harness) active(shards []int, want ...string) {
	h.Helper()
	runs, err := h.store.ActiveRuns(h.ctx, shards, "", 1000)
	h.must("list active runs", err)
	same(h.T, "active runs", runIDs(runs), want)
}

func (h *harness) activeOf(uid string, want ...string) {
	h.Helper()
	runs, err := h.store.ActiveRunsOf(h.ctx, []string{uid})
	h.must("list active runs of "+uid, err)
	slices.Sort(want)
	same(h.T, "active runs of "+uid, sorted(runIDs(runs), func(id string) string { return id }), want)
}

var _ testing.TB = (*harness)(nil)
