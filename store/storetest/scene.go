package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// scene is a store in which something has happened, and a batch that makes use of every part.
func scene(h *harness) (jobs []engine.Job, batch engine.Batch) {
	one, two, gone := aJob("one"), aJob("two"), aJob("gone")
	for _, job := range []engine.Job{one, two, gone} {
		h.createJob(job)
	}
	gone.Revision, gone.Deleted, gone.Pending = 2, true, true
	h.must("delete job", h.store.Jobs().Replace(h.ctx, gone))
	dead := h.live(finished(one, noon, engine.StatusDead))
	h.commitRuns(slotRun(two, noon), slotRun(gone, noon))
	etl, old := h.createDAG(aDAG("etl")), h.createDAG(aDAG("old"))
	old = h.replaceDAG(removeDAG(old))
	wave := aWave(etl, 1, noon)
	h.commit(engine.Batch{
		Waves:       []engine.Wave{wave},
		Slots:       []engine.SlotRange{aSlotRange(one, noon.Add(-time.Hour), 3)},
		DeadLetters: []engine.DeadLetter{aLetter(dead, noon)},
		Incidents:   []engine.Incident{anIncident(one, spec.AlertFailed, noon)},
		Tasks:       []engine.ScheduledTask{aTask(two, noon), aTask(gone, noon)},
	})
	h.must("put command", h.store.PutCommand(h.ctx, aCommand(one, "backfill-1", noon)))
	h.must("put command", h.store.PutCommand(h.ctx, aCommand(one, "backfill-2", noon)))

	moved := aTask(two, noon.Add(time.Hour))
	moved.Revision = 2
	again := queued(dead)
	again.FinishedAt = time.Time{}
	later := finished(two, noon.Add(time.Hour), engine.StatusDead)[0]
	next := aWave(etl, 2, noon.Add(time.Minute))
	return []engine.Job{one, two, gone}, engine.Batch{
		Waves:         []engine.Wave{endedWave(wave, engine.StatusSucceeded), next},
		Runs:          []engine.Run{again, queued(slotRun(two, noon)), later, taskRun(next, "fetch", -1)},
		Slots:         []engine.SlotRange{aSlotRange(one, noon.Add(-time.Hour), 5), aSlotRange(two, noon, 1)},
		DeadLetters:   []engine.DeadLetter{aLetter(later, noon.Add(time.Minute))},
		Incidents:     []engine.Incident{anIncident(two, spec.AlertDead, noon)},
		DropIncidents: []string{engine.IncidentID(one.UID, "", spec.AlertFailed)},
		DropLetters:   []string{dead.ID},
		DropRuns:      []string{slotRun(gone, noon).ID},
		Tasks:         []engine.ScheduledTask{moved, aTask(one, noon)},
		DropTasks:     []string{gone.UID},
		Handled: []engine.JobHandled{
			{UID: one.UID, Namespace: one.Namespace, Name: one.Name, Revision: 1},
			{UID: gone.UID, Namespace: gone.Namespace, Name: gone.Name, Revision: 2},
		},
		HandledDAGs: append(handledDAG(etl).HandledDAGs, handledDAG(old).HandledDAGs...),
		Done:        []engine.CommandDone{{ID: "backfill-1", At: noon}},
	}
}

// dagsAreDone wants that a scene's batch has done what concerns DAGs.
func (h *harness) dagsAreDone(got state, batch engine.Batch) {
	h.Helper()
	same(h.T, "waves", got.Waves, []engine.Wave{batch.Waves[1], batch.Waves[0]})
	same(h.T, "DAGs", len(got.DAGs), 1)
	h.pendingDAGs()
	gone, err := h.store.DAGsByUID(h.ctx, []string{batch.HandledDAGs[1].UID})
	h.must("read DAGs", err)
	same(h.T, "tombstones of DAGs", len(gone), 0)
}

var decisionPromises = []promise{
	{"every part of a batch is done", func(h *harness) {
		jobs, batch := scene(h)
		h.commit(batch)
		got := h.state(jobs...)
		same(h.T, "runs", len(got.Runs), 4)
		same(h.T, "active runs", len(got.Active), 4)
		h.dagsAreDone(got, batch)
		same(h.T, "slots", got.Slots, batch.Slots)
		same(h.T, "letters", got.Letters, batch.DeadLetters)
		same(h.T, "incidents", got.Incidents, batch.Incidents)
		same(h.T, "tasks", got.Tasks, []engine.ScheduledTask{batch.Tasks[1], batch.Tasks[0]})
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
	{"a write under a context that has ended is an error", func(h *harness) {
		ctx, cancel := context.WithCancel(h.ctx)
		cancel()
		run := slotRun(aJob("report"), noon)
		if err := (&writer{store: h.store}).commit(ctx, engine.Batch{Runs: []engine.Run{run}}); !errors.Is(err, context.Canceled) {
			h.Fatalf("got %v", err)
		}
		h.commitRuns(run)
	}},
	{"the batch is not changed", func(h *harness) {
		_, batch := scene(h)
		before := fmt.Sprintf("%+v", batch)
		h.commit(batch)
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
		err := (&writer{store: h.store}).commit(h.ctx, engine.Batch{Runs: []engine.Run{slotRun(aJob("report"), noon)}})
		if err == nil || strings.Contains(err.Error(), "panic") {
			h.Fatalf("a closed store answers a commit with %v", err)
		}
		h.must("close again", h.store.Close(h.ctx))
	}},
}
