package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// scene is a store in which something has happened, and a batch that makes use of every part.
func scene(h *harness) (jobs []engine.Job, batch *engine.Batch) {
	one, two, gone := aJob("one"), aJob("two"), aJob("gone")
	for _, job := range []engine.Job{one, two, gone} {
		h.createJob(job)
	}
	gone.Revision, gone.Deleted, gone.Pending = 2, true, true
	h.must("delete job", h.store.ReplaceJob(h.ctx, gone))
	dead := h.live(finished(one, noon, engine.StatusDead))
	h.commitRuns(slotRun(two, noon), slotRun(gone, noon))
	etl, old := h.createDAG(aDAG("etl")), h.createDAG(aDAG("old"))
	old = h.replaceDAG(removeDAG(old))
	wave := aWave(etl, 1, noon)
	h.commit(engine.Batch{
		Waves:       waveWrites(wave),
		Slots:       []engine.SlotRange{aSlotRange(one, noon.Add(-time.Hour), 3)},
		DeadLetters: []engine.DeadLetter{aLetter(dead, noon)},
		Tasks:       []engine.TaskWrite{{Task: aTask(two, noon)}, {Task: aTask(gone, noon)}},
	})
	h.must("put command", h.store.PutCommand(h.ctx, aCommand(one, "backfill-1", noon)))
	h.must("put command", h.store.PutCommand(h.ctx, aCommand(one, "backfill-2", noon)))

	moved := aTask(two, noon.Add(time.Hour))
	moved.Revision = 2
	again := queued(dead)
	again.FinishedAt = time.Time{}
	later := finished(two, noon.Add(time.Hour), engine.StatusDead)[0]
	next := aWave(etl, 2, noon.Add(time.Minute))
	return []engine.Job{one, two, gone}, &engine.Batch{
		Waves:       waveWrites(endedWave(wave, engine.StatusSucceeded), next),
		Runs:        runWrites(again, queued(slotRun(two, noon)), later, taskRun(next, "fetch", -1)),
		Slots:       []engine.SlotRange{aSlotRange(one, noon.Add(-time.Hour), 5), aSlotRange(two, noon, 1)},
		DeadLetters: []engine.DeadLetter{aLetter(later, noon.Add(time.Minute))},
		DropLetters: []string{dead.ID},
		DropRuns:    runDrops(slotRun(gone, noon)),
		Tasks:       []engine.TaskWrite{{Task: moved}, {Task: aTask(one, noon)}, {Task: aTask(gone, noon), Delete: true}},
		Handled: []engine.JobHandled{
			{UID: one.UID, Namespace: one.Namespace, Name: one.Name, Revision: 1},
			{UID: gone.UID, Namespace: gone.Namespace, Name: gone.Name, Revision: 2},
		},
		HandledDAGs: append(handledDAG(etl).HandledDAGs, handledDAG(old).HandledDAGs...),
		Commands:    []string{"backfill-1"},
	}
}

// dagsAreDone wants that a scene's batch has done what concerns DAGs.
func (h *harness) dagsAreDone(got state, batch *engine.Batch) {
	h.Helper()
	same(h.T, "waves", got.Waves, []engine.Wave{batch.Waves[1].Wave, batch.Waves[0].Wave})
	same(h.T, "DAGs", len(got.DAGs), 1)
	h.pendingDAGs()
	gone, err := h.store.DAGsByUID(h.ctx, []string{batch.HandledDAGs[1].UID})
	h.must("read DAGs", err)
	same(h.T, "tombstones of DAGs", len(gone), 0)
}

// endsWith wants a batch to be refused for one write, and Done to say that what comes after it is not done.
func (h *harness) endsWith(batch *engine.Batch, conflict engine.Conflict) {
	h.Helper()
	h.refused(*batch, conflict)
	done := batch.Done([]engine.Conflict{conflict})
	waves, runs := done.Waves, done.Runs
	done.Waves, done.Runs = nil, nil
	if !done.Empty() || len(waves) > len(batch.Waves) || len(runs) >= len(batch.Runs) {
		h.Fatalf("said to be done: %d waves, %d runs, and %+v", len(waves), len(runs), done)
	}
}

// sameButRuns wants that of a scene's batch nothing is done that comes after the runs.
func (h *harness) sameButRuns(got, before state) {
	h.Helper()
	before.Runs, before.Active, before.Waves = nil, nil, nil
	got.Runs, got.Active, got.Waves = nil, nil, nil
	same(h.T, "all else", got, before)
}

var batchPromises = []promise{
	{"every part of a batch is done", func(h *harness) {
		jobs, batch := scene(h)
		h.commit(*batch)
		got := h.state(jobs...)
		same(h.T, "runs", len(got.Runs), 4)
		same(h.T, "active runs", len(got.Active), 4)
		h.dagsAreDone(got, batch)
		same(h.T, "slots", got.Slots, batch.Slots)
		same(h.T, "letters", got.Letters, batch.DeadLetters)
		same(h.T, "tasks", got.Tasks, []engine.ScheduledTask{batch.Tasks[1].Task, batch.Tasks[0].Task})
		same(h.T, "jobs", len(got.Jobs), 2)
		same(h.T, "pending", []bool{got.Jobs[0].Pending, got.Jobs[1].Pending}, []bool{false, true})
		same(h.T, "commands", len(got.Commands), 1)
	}},
	{"an empty batch changes nothing", func(h *harness) {
		jobs, _ := scene(h)
		before := h.state(jobs...)
		h.commit(engine.Batch{})
		same(h.T, "state", h.state(jobs...), before)
	}},
	{"a batch given twice changes nothing", func(h *harness) {
		jobs, batch := scene(h)
		h.commit(*batch)
		once := h.state(jobs...)
		h.commit(*batch)
		same(h.T, "state", h.state(jobs...), once)
	}},
	{"a batch that was cut between any two writes is repaired by doing it again", func(h *harness) {
		jobs, batch := scene(h)
		// Each round does one more write than the one before, so that the last of them has met every cut.
		faulty := &Faulty{Store: h.store}
		for cut := range Writes(batch) {
			faulty.Torn = func(*engine.Batch) int { return cut }
			if _, err := faulty.Commit(h.ctx, batch); !errors.Is(err, ErrInjected) {
				h.Fatalf("cut after %d writes: %v", cut, err)
			}
		}
		h.commit(*batch)
		repaired := h.state(jobs...)
		h.commit(*batch)
		same(h.T, "state", h.state(jobs...), repaired)
		same(h.T, "slots", repaired.Slots, batch.Slots)
		same(h.T, "letters", repaired.Letters, batch.DeadLetters)
		same(h.T, "runs", len(repaired.Runs), 4)
		h.dagsAreDone(repaired, batch)
		same(h.T, "jobs", len(repaired.Jobs), 2)
		same(h.T, "commands", len(repaired.Commands), 1)
	}},
	{"a new run of a job, or a task, that is there leaves the other writes done", func(h *harness) {
		jobs, batch := scene(h)
		theirs := slotRun(jobs[1], noon.Add(time.Hour))
		theirs.Reason = "another engine was faster"
		taken := aTask(jobs[0], noon.Add(time.Minute))
		batch.Runs[2] = engine.RunWrite{Run: slotRun(jobs[1], noon.Add(time.Hour))}
		h.commit(engine.Batch{Runs: runWrites(theirs), Tasks: []engine.TaskWrite{{Task: taken}}})
		conflicts := []engine.Conflict{{Kind: "run", ID: theirs.ID}, {Kind: "task", ID: taken.ID}}
		h.refused(*batch, conflicts...)
		got := h.state(jobs...)
		same(h.T, "their run", h.run(theirs.ID), theirs)
		same(h.T, "tasks", got.Tasks, []engine.ScheduledTask{taken, batch.Tasks[0].Task})
		same(h.T, "runs", len(got.Runs), 4)
		same(h.T, "slots", got.Slots, batch.Slots)
		same(h.T, "letters", got.Letters, batch.DeadLetters)
		same(h.T, "commands", len(got.Commands), 1)
		same(h.T, "jobs", len(got.Jobs), 2)
		done := batch.Done(conflicts)
		same(h.T, "runs that are said to be done", len(done.Runs), 3)
		same(h.T, "tasks that are said to be done", len(done.Tasks), 2)
	}},
	{"a wave that is refused ends its batch", func(h *harness) {
		jobs, batch := scene(h)
		other := endedWave(batch.Waves[0].Wave, engine.StatusFailed)
		other.Revision--
		h.commit(engine.Batch{Waves: waveWrites(other)})
		before := h.state(jobs...)
		h.endsWith(batch, engine.Conflict{Kind: "wave", ID: other.ID})
		got := h.state(jobs...)
		same(h.T, "waves", got.Waves, []engine.Wave{batch.Waves[1].Wave, other})
		before.Waves, got.Waves = nil, nil
		same(h.T, "all else", got, before)
	}},
	{"a run that somebody else has changed ends its batch before new runs of tasks", func(h *harness) {
		jobs, batch := scene(h)
		theirs := queued(slotRun(jobs[1], noon))
		theirs.Reason = "another engine was faster"
		h.commit(engine.Batch{Runs: runWrites(theirs)})
		before := h.state(jobs...)
		h.endsWith(batch, engine.Conflict{Kind: "run", ID: theirs.ID})
		got := h.state(jobs...)
		same(h.T, "their run", h.run(theirs.ID), theirs)
		same(h.T, "another run", h.run(batch.Runs[0].Run.ID), batch.Runs[0].Run)
		same(h.T, "a new run of a job", h.run(batch.Runs[2].Run.ID), batch.Runs[2].Run)
		if _, err := h.store.Run(h.ctx, batch.Runs[3].Run.ID); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("the new run of a task: %v", err)
		}
		h.sameButRuns(got, before)
	}},
	{"a new run of a task that is there ends its batch", func(h *harness) {
		jobs, batch := scene(h)
		theirs := batch.Runs[3].Run
		theirs.Reason = "another engine was faster"
		h.commit(engine.Batch{Runs: runWrites(theirs)})
		before := h.state(jobs...)
		h.endsWith(batch, engine.Conflict{Kind: "run", ID: theirs.ID})
		got := h.state(jobs...)
		same(h.T, "their run", h.run(theirs.ID), theirs)
		same(h.T, "another run", h.run(batch.Runs[1].Run.ID), batch.Runs[1].Run)
		h.sameButRuns(got, before)
	}},
	{"all conflicts of a large batch are told", func(h *harness) {
		var runs, changed []engine.Run
		var want []engine.Conflict
		for i := range 1200 {
			run := slotRun(aJob(fmt.Sprintf("job-%d", i%40)), noon.Add(time.Duration(i)*time.Minute))
			runs = append(runs, run)
			next := queued(run)
			if i%3 == 0 {
				next.Revision = 7
				want = append(want, engine.Conflict{Kind: "run", ID: run.ID})
			}
			changed = append(changed, next)
		}
		h.commitRuns(runs...)
		h.refused(engine.Batch{Runs: runWrites(changed...)}, sorted(want, func(c engine.Conflict) string { return c.ID })...)
		for i := range 6 {
			want := changed[i]
			if i%3 == 0 {
				want = runs[i]
			}
			same(h.T, "run", h.run(want.ID), want)
		}
	}},
	{"a write under a context that has ended is an error", func(h *harness) {
		ctx, cancel := context.WithCancel(h.ctx)
		cancel()
		run := slotRun(aJob("report"), noon)
		if _, err := h.store.Commit(ctx, &engine.Batch{Runs: runWrites(run)}); !errors.Is(err, context.Canceled) {
			h.Fatalf("got %v", err)
		}
		h.commitRuns(run)
	}},
	{"the batch is not changed", func(h *harness) {
		_, batch := scene(h)
		before := fmt.Sprintf("%+v", batch)
		h.commit(*batch)
		if after := fmt.Sprintf("%+v", batch); after != before {
			h.Fatalf("before:\n%s\nafter:\n%s", before, after)
		}
	}},
	{"a store that has ended says so", func(h *harness) {
		h.must("ping", h.store.Ping(h.ctx))
		h.must("close", h.store.Close(h.ctx))
		if err := h.store.Ping(h.ctx); err == nil {
			h.Fatal("a closed store answers a ping")
		}
		_, err := h.store.Commit(h.ctx, &engine.Batch{Runs: runWrites(slotRun(aJob("report"), noon))})
		if err == nil || strings.Contains(err.Error(), "panic") {
			h.Fatalf("a closed store answers a commit with %v", err)
		}
		h.must("close again", h.store.Close(h.ctx))
	}},
}
