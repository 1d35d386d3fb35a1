package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

var expiryPromises = []promise{
	{"runs that ended long ago are deleted, some at a time", func(h *harness) {
		job := aJob("report")
		var old []engine.Run
		for i := range 25 {
			old = append(old, h.live(finished(job, noon.Add(time.Duration(i)*time.Second), engine.StatusSucceeded)))
		}
		young := h.live(finished(job, noon.Add(time.Hour), engine.StatusFailed))
		active := h.live(finished(job, noon.Add(-time.Hour), engine.StatusFailed)[:3])
		before := old[24].FinishedAt.Add(time.Millisecond)
		same(h.T, "deleted", h.expireRuns(allShards(), before, 10), len(old))
		same(h.T, "history", runIDs(h.history(engine.RunFilter{})), []string{young.ID, active.ID})
		if _, err := h.store.Run(h.ctx, old[3].ID); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("a deleted run: %v", err)
		}
		same(h.T, "an active run", h.run(active.ID), active)
		if runs := h.history(engine.RunFilter{JobUID: job.UID, Statuses: []engine.Status{engine.StatusSucceeded}}); len(runs) > 0 {
			h.Fatalf("deleted runs are still listed: %v", runIDs(runs))
		}
	}},
	{"a run expires when it has ended before the instant, not at it", func(h *harness) {
		run := h.live(finished(aJob("report"), noon, engine.StatusSucceeded))
		same(h.T, "deleted", h.expireRuns(allShards(), run.FinishedAt, 10), 0)
		same(h.T, "the run", h.run(run.ID), run)
		same(h.T, "deleted", h.expireRuns(allShards(), run.FinishedAt.Add(time.Millisecond), 10), 1)
	}},
	{"runs of some shards expire, and those of others stay", func(h *harness) {
		var all, others []string
		for i := range 12 {
			run := h.live(finished(aJob(fmt.Sprintf("report-%d", i)), noon, engine.StatusSucceeded))
			if all = append(all, run.ID); run.Shard%2 == 1 {
				others = append(others, run.ID)
			}
		}
		var even []int
		for shard := 0; shard < engine.Shards; shard += 2 {
			even = append(even, shard)
		}
		if len(others) == 0 || len(others) == len(all) {
			h.Fatalf("all runs are of one kind of shards: %v", all)
		}
		same(h.T, "deleted", h.expireRuns(even, noon.Add(time.Hour), 3), len(all)-len(others))
		id := func(id string) string { return id }
		same(h.T, "left", sorted(runIDs(h.history(engine.RunFilter{})), id), sorted(others, id))
		same(h.T, "of no shard", h.expireRuns(nil, noon.Add(time.Hour), 3), 0)
	}},
	{"runs that ended in one millisecond expire, some at a time", func(h *harness) {
		for i := range 10 {
			h.live(finished(aJob(fmt.Sprintf("report-%d", i)), noon, engine.StatusSucceeded))
		}
		same(h.T, "deleted", h.expireRuns(allShards(), noon.Add(time.Hour), 3), 10)
	}},
	{"an expired run is given whole if something may be kept beside it", func(h *harness) {
		var want []engine.Run
		for i, change := range []func(run *engine.Run){
			func(run *engine.Run) { run.Attempts[0].Output = &engine.Output{Size: 3, Lines: 1, Tail: []byte("ok")} }, // nothing is
			func(run *engine.Run) { run.Attempts[0].Output = &engine.Output{Size: 1 << 20, Chunks: 2} },
			func(run *engine.Run) { run.Attempts[0].Output = nil },
			func(run *engine.Run) { run.Artifacts = []engine.Artifact{{Name: "report.csv", Size: 7, SHA256: "00"}} },
			func(run *engine.Run) { run.Status = engine.StatusDead },
		} {
			lives := finished(aJob(fmt.Sprintf("report-%d", i)), noon.Add(time.Duration(i)*time.Minute), engine.StatusFailed)
			last := lives[len(lives)-1]
			last.Attempts = slices.Clone(last.Attempts)
			last.Attempts[0].Output = &engine.Output{Size: 3, Lines: 1}
			change(&last)
			h.commitRuns(last)
			if i > 0 {
				want = append(want, last)
			}
			if last.KeepsMore() != (i > 0) {
				h.Fatalf("run %d keeps more: %v", i, last.KeepsMore())
			}
		}
		expired, err := h.store.ExpireRuns(h.ctx, allShards(), engine.Expiry{Before: noon.Add(time.Hour)}, 10)
		h.must("expire", err)
		same(h.T, "deleted", expired.Count, 5)
		beside := slices.DeleteFunc(expired.Beside, func(run engine.Run) bool { return !run.KeepsMore() })
		id := func(run engine.Run) string { return run.ID }
		same(h.T, "given", sorted(beside, id), sorted(want, id))
		same(h.T, "left", runIDs(h.history(engine.RunFilter{})), nil)
	}},
	{"runs expire by their end, in whatever order they were written", func(h *harness) {
		job := aJob("report")
		var stays []string
		for i := range 60 {
			offset := time.Duration((i*37)%60) * time.Minute
			run := h.live(finished(job, noon.Add(offset), engine.StatusSucceeded))
			if offset >= 30*time.Minute {
				stays = append(stays, run.ID)
			}
		}
		same(h.T, "deleted", h.expireRuns(allShards(), noon.Add(30*time.Minute), 7), 30)
		id := func(id string) string { return id }
		same(h.T, "left", sorted(runIDs(h.history(engine.RunFilter{})), id), sorted(stays, id))
	}},
	{"ledger entries expire by their last slot", func(h *harness) {
		job := aJob("report")
		var batch engine.Batch
		for i := range 10 {
			batch.Slots = append(batch.Slots, aSlotRange(job, noon.Add(-time.Duration(i)*time.Hour), 11))
		}
		h.commit(batch)
		deleted := 0
		for range 100 {
			some, err := h.store.ExpireSlots(h.ctx, engine.Expiry{Before: batch.Slots[3].To}, 2)
			h.must("expire", err)
			if some > 2 {
				h.Fatalf("%d for a limit of 2", some)
			}
			if some == 0 {
				break
			}
			deleted += some
		}
		same(h.T, "deleted", deleted, 6)
		same(h.T, "slots", h.slots(engine.SlotFilter{JobUID: job.UID, Limit: 100}), batch.Slots[:4])
	}},
	{"dead letters expire by when they were written, some at a time, in all namespaces", func(h *harness) {
		var batch engine.Batch
		for i := range 10 {
			batch.DeadLetters = append(batch.DeadLetters, aLetter(slotRun(aJob("report"), noon.Add(-time.Duration(i)*time.Hour)), noon.Add(-time.Duration(i)*time.Hour)))
		}
		elsewhere := aLetter(slotRun(aJob("elsewhere"), noon), noon.Add(-24*time.Hour))
		elsewhere.Namespace = "other"
		h.commit(engine.Batch{DeadLetters: append([]engine.DeadLetter{elsewhere}, batch.DeadLetters...)})
		deleted := 0
		for range 100 {
			some, err := h.store.ExpireDeadLetters(h.ctx, engine.Expiry{Before: batch.DeadLetters[3].At}, 2)
			h.must("expire", err)
			if some > 2 {
				h.Fatalf("%d for a limit of 2", some)
			}
			if some == 0 {
				break
			}
			deleted += some
		}
		same(h.T, "deleted", deleted, 7)
		same(h.T, "letters", h.letters(100), batch.DeadLetters[:4])
		if _, err := h.store.DeadLetter(h.ctx, elsewhere.RunID); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("a letter of another namespace: %v", err)
		}
	}},
	{"earlier versions of a definition are dropped, later ones and the current one stay", func(h *harness) {
		job, dag := h.createJob(aJob("report")), h.createDAG(aDAG("etl"))
		other := h.createJob(aJob("other"))
		for _, description := range []string{"second", "third", "fourth"} {
			job, dag = h.replaceJob(edit(job, description)), h.replaceDAG(editDAG(dag, description))
			other = h.replaceJob(edit(other, description))
		}
		for range 2 { // what is gone is gone
			_, err := h.store.Jobs().DropGenerations(h.ctx, job.UID, 3)
			h.must("drop", err)
			_, err = h.store.DAGs().DropGenerations(h.ctx, dag.UID, job.Generation)
			h.must("drop", err)
		}
		versions, err := h.store.Jobs().Generations(h.ctx, job.UID, 0, 10)
		h.must("list", err)
		var kept []int64
		for i := range versions {
			kept = append(kept, versions[i].Generation)
		}
		same(h.T, "versions of the job", kept, []int64{4, 3})
		if _, err := h.store.Generation(h.ctx, job.UID, 2); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("a version that was dropped: %v", err)
		}
		dagVersions, err := h.store.DAGs().Generations(h.ctx, dag.UID, 0, 10)
		h.must("list", err)
		same(h.T, "versions of the DAG", len(dagVersions), 1)
		same(h.T, "its present one", dagVersions[0].Generation, dag.Generation)
		versions, err = h.store.Jobs().Generations(h.ctx, other.UID, 0, 10)
		h.must("list", err)
		same(h.T, "versions of another job", len(versions), 4)
		if deleted, err := h.store.Jobs().DropGenerations(h.ctx, other.UID, 3); err != nil || deleted != 2 {
			h.Fatalf("%d were dropped, %v", deleted, err)
		}
	}},
}

// expireRuns deletes all old runs of some shards, at most limit at a time, and returns how many.
func (h *harness) expireRuns(shards []int, before time.Time, limit int) (deleted int) {
	h.Helper()
	for range 1000 {
		some, err := h.store.ExpireRuns(h.ctx, shards, engine.Expiry{Before: before}, limit)
		h.must("expire", err)
		if some.Count > limit || len(some.Beside) > some.Count {
			h.Fatalf("%d runs, %d of them given, for a limit of %d", some.Count, len(some.Beside), limit)
		}
		if some.Count == 0 {
			return deleted
		}
		if some.Upto.IsZero() || some.Upto.After(before) {
			h.Fatalf("%d runs before %v, up to %v", some.Count, before, some.Upto)
		}
		deleted += some.Count
	}
	h.Fatalf("there is no end to it")
	return 0
}
