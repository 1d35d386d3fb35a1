package main

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/memory"
)

// counted is the value of a counter with these values of its labels.
func counted(t *testing.T, m *metrics, name string, labels ...string) float64 {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var values []string
			for _, label := range metric.GetLabel() {
				values = append(values, label.GetValue())
			}
			if family.GetName() == name && slices.Equal(values, labels) {
				return metric.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("there is no %s of %v", name, labels)
	return 0
}

func TestSlotsAreCountedOnce(t *testing.T) {
	m := newMetrics()
	counts := &slotCounts{metrics: m}
	want := func(when string, fired, skipped, missed float64) {
		t.Helper()
		for outcome, want := range map[string]float64{"fired": fired, "skipped": skipped, "missed": missed} {
			if got := counted(t, m, "tidewheel_slots_total", outcome); got != want {
				t.Errorf("%s: %g slots are %s, want %g", when, got, outcome, want)
			}
		}
	}
	noon := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	run := func(id string, status engine.Status, attempts int, change func(*engine.Run)) {
		run := engine.Run{ID: id, Slot: noon, Trigger: engine.TriggerSchedule, Status: status, Attempt: attempts, FinishedAt: noon}
		for range attempts {
			run.Attempts = append(run.Attempts, engine.Attempt{QueuedAt: noon})
		}
		if change != nil {
			change(&run)
		}
		counts.committed(3, &engine.Batch{Runs: []engine.Run{run}})
	}
	run("early", engine.StatusQueued, 1, nil)
	want("before the shard is taken", 0, 0, 0)
	counts.taken(3, noon)
	run("a", engine.StatusScheduled, 0, nil)
	want("a run that is prepared", 0, 0, 0)
	run("a", engine.StatusQueued, 1, nil)
	run("a", engine.StatusRunning, 1, nil)
	run("a", engine.StatusSucceeded, 1, nil)
	want("a run that is seen three times", 1, 0, 0)
	run("a", engine.StatusQueued, 2, nil)
	run("a", engine.StatusSucceeded, 2, nil)
	want("the same, tried again by hand", 1, 0, 0)
	run("b", engine.StatusDead, 2, func(r *engine.Run) { r.Failures = 2 })
	want("a run that is seen when it has failed twice", 2, 0, 0)
	run("c", engine.StatusCancelled, 0, nil)
	want("a run that was cancelled before it was queued", 3, 0, 0)
	run("d", engine.StatusRunning, 1, func(r *engine.Run) { r.Attempts[0].QueuedAt = noon.Add(-time.Second) })
	run("d", engine.StatusSucceeded, 1, func(r *engine.Run) { r.Attempts[0].QueuedAt = noon.Add(-time.Second) })
	want("a run of the owner before", 3, 0, 0)
	item := 1
	run("e", engine.StatusQueued, 1, func(r *engine.Run) { r.Item = &item })
	run("f", engine.StatusQueued, 1, func(r *engine.Run) { r.Trigger = engine.TriggerUpstream })
	run("g", engine.StatusQueued, 1, func(r *engine.Run) { r.Trigger = engine.TriggerManual })
	run("h", engine.StatusQueued, 1, func(r *engine.Run) { r.Slot = time.Time{} })
	want("what is no slot of its own", 3, 0, 0)

	slots := func(id, uid string, count int64, outcome engine.Outcome) {
		counts.committed(3, &engine.Batch{Slots: []engine.SlotRange{{ID: id, JobUID: uid, Count: count, Outcome: outcome}}})
	}
	slots("j-1", "j", 4, engine.OutcomeSkipped)
	slots("j-1", "j", 6, engine.OutcomeSkipped)
	want("a range that grows", 3, 6, 0)
	slots("k-1", "k", 1, engine.OutcomeMissed)
	slots("j-9", "j", 2, engine.OutcomeMissed)
	want("other ranges", 3, 6, 3)
	counts.committed(3, &engine.Batch{DropTasks: []string{"j", "k"}})
	if left := len(counts.shards[3].ranges); left != 0 {
		t.Errorf("%d ranges of deleted jobs are remembered", left)
	}
	if left := counts.shards[3].fired; len(left) != 0 {
		t.Errorf("runs that have ended are remembered: %v", left)
	}
}

// refusing is a store that writes nothing.
type refusing struct{ *memory.Store }

var errRefusing = errors.New("it writes nothing")

func (refusing) Commit(_ context.Context, commits []engine.ShardCommit) []error {
	answers := make([]error, len(commits))
	for i := range answers {
		answers[i] = errRefusing
	}
	return answers
}

func TestNothingIsCountedThatIsNotDurable(t *testing.T) {
	m := newMetrics()
	store := newCountingStore(refusing{memory.New()}, m, newStoredBytes(memory.New(), testLog(t)), nil)
	if _, err := store.Take(t.Context(), 0, "engine"); err != nil {
		t.Fatal(err)
	}
	batch := &engine.Batch{
		Runs: []engine.Run{{
			ID: "a", Slot: time.Now(), Trigger: engine.TriggerSchedule, Status: engine.StatusSucceeded, Artifacts: []engine.Artifact{{Size: 5}},
			Attempt: 1, Attempts: []engine.Attempt{{QueuedAt: time.Now()}},
		}},
		Slots: []engine.SlotRange{{ID: "j-1", JobUID: "j", Count: 4, Outcome: engine.OutcomeMissed}},
	}
	if answers := store.Commit(t.Context(), []engine.ShardCommit{{Shard: 0, Batch: batch}}); !errors.Is(answers[0], errRefusing) {
		t.Fatal(answers)
	}
	for outcome := range map[string]bool{"fired": true, "missed": true} {
		if n := counted(t, m, "tidewheel_slots_total", outcome); n != 0 {
			t.Errorf("%g slots are %s", n, outcome)
		}
	}
	if n := counted(t, m, "tidewheel_runs_ended_total", "succeeded"); n != 0 || len(store.stored.unwritten) > 0 {
		t.Errorf("%g runs ended, with %v bytes", n, store.stored.unwritten)
	}
	if n := counted(t, m, "tidewheel_lease_changes_total"); n != 1 {
		t.Errorf("%g shards were taken, want the one", n)
	}
}
