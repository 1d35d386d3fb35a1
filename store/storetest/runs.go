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
			ids, err := h.store.ActiveRunIDs(h.ctx, allShards(), after, 7)
			h.must("list the ids of active runs", err)
			same(h.T, "ids", ids, runIDs(runs))
			paged = append(paged, ids...)
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
}

// active wants just these active runs of some shards.
func (h *harness) active(shards []int, want ...string) {
	h.Helper()
	runs, err := h.store.ActiveRuns(h.ctx, shards, "", 1000)
	h.must("list active runs", err)
	same(h.T, "active runs", runIDs(runs), want)
	ids, err := h.store.ActiveRunIDs(h.ctx, shards, "", 1000)
	h.must("list the ids of active runs", err)
	same(h.T, "ids of active runs", slices.Concat([]string{}, ids), slices.Concat([]string{}, want))
}

func (h *harness) activeOf(uid string, want ...string) {
	h.Helper()
	runs, err := h.store.ActiveRunsOf(h.ctx, []string{uid})
	h.must("list active runs of "+uid, err)
	slices.Sort(want)
	same(h.T, "active runs of "+uid, sorted(runIDs(runs), func(id string) string { return id }), want)
}

var _ testing.TB = (*harness)(nil)
