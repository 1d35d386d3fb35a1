package engine_test

import (
	"slices"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
)

// What an engine finds in the store when it begins, another one may have gone further with.

// TestWhatMayHaveBeenPublishedIsMarked: an engine that crashed may have published what it had prepared. Whoever gets the copy
// must not take an old claim that is missing for one that never was.
func TestWhatMayHaveBeenPublishedIsMarked(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "every=60s"})
	published := func() *engine.Task {
		t.Helper()
		effects := b.core.Step(b.now, engine.Tick{})
		for ready := b.core.Ready(); ready != nil; ready = b.core.Ready() {
			if conflicts, err := b.store.Commit(t.Context(), ready.Batch); err != nil || len(conflicts) > 0 {
				t.Fatal(conflicts, err)
			}
			effects = append(effects, ready.After...)
			b.core.Committed(ready)
		}
		for _, effect := range effects {
			if publish, ok := effect.(engine.Publish); ok {
				return publish.Task
			}
		}
		t.Fatalf("nothing is published: %v", effects)
		return nil
	}
	b.do([]string{"at", "59.75s"})
	b.now = b.seconds("60s")
	if task := published(); task.Again {
		t.Errorf("attempt %d of run %s was never published before", task.Attempt, b.runName(task.Run))
	}
	b.do([]string{"started", "60s/1"})
	b.do([]string{"finished", "60s/1", "0"})
	b.do([]string{"at", "119.75s"})
	b.do([]string{"crash"})
	b.load()
	b.now = b.seconds("120s")
	if task := published(); !task.Again {
		t.Errorf("attempt %d of run %s may have been published before", task.Attempt, b.runName(task.Run))
	}
}

// TestNothingGoesBeforeAllHasBeenLookedAt: the run of a slot that somebody told otherwise waits behind one which the deletion
// of the job ends. It is taken back, and does not go because nothing is in its way any more.
func TestNothingGoesBeforeAllHasBeenLookedAt(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "every=60s", "overlap=queue", "tries=2"})
	for _, line := range [][]string{{"at", "60s"}, {"started", "60s/1"}, {"at", "120s"}} {
		b.do(line)
	}
	slot := b.seconds("120s")
	told := engine.SlotRange{
		ID: engine.SlotRangeID(benchUID, slot), JobUID: benchUID, Namespace: "default", Job: "job", From: slot, To: slot, Count: 1,
		Outcome: engine.OutcomeSkipped, Reason: engine.ReasonOverlap,
	}
	if conflicts, err := b.store.Commit(t.Context(), &engine.Batch{Slots: []engine.SlotRange{told}}); err != nil || len(conflicts) > 0 {
		t.Fatal(conflicts, err)
	}
	b.do([]string{"finished", "60s/1", "1"}) // it is to be tried again
	b.do([]string{"quietly", "delete"})
	b.out = nil
	b.do([]string{"restart", "120.5s"})
	if !slices.Contains(b.out, "then revoke 120s/1") || slices.Contains(b.out, "run 120s queued #1") {
		t.Errorf("the slot's run is not taken back: %q", b.out)
	}
}

// TestNoSlotOfAFixedDelayComesAgain: an edit finds a run under way that had ended long before and is tried again by hand. That
// is cancelled while it waits, and its end is that of its last attempt: what followed it has run.
func TestNoSlotOfAFixedDelayComesAgain(t *testing.T) {
	b := newBench(t)
	for _, line := range [][]string{
		{"define", "after=3s", "overlap=queue"}, {"at", "3s"}, {"started", "3s/1"}, {"at", "5s"}, {"finished", "3s/1", "1"},
		{"at", "8s"}, {"started", "8s/1"}, {"at", "9s"}, {"finished", "8s/1", "0"},
		{"run", "other"}, {"started", "other/1"}, {"retry", "3s"},
		{"at", "10s"}, {"define", "after=3s", "overlap=queue", "tries=2"}, {"at", "11s"},
	} {
		b.do(line)
	}
	b.out = nil
	b.do([]string{"cancel", "3s"})
	if want := "next slot 13s"; !slices.Contains(b.out, want) {
		t.Errorf("got %q, want %s: the edit and its delay", b.out, want)
	}
}

// TestWhoStoodStillWritesBeforeItPublishes: another owner may have seen the run through meanwhile.
func TestWhoStoodStillWritesBeforeItPublishes(t *testing.T) {
	for want, steps := range map[string][]string{"now publish a/1": {"97s", "99s"}, "then publish a/1": {"50s"}} {
		b := newBench(t)
		b.config.Writer = 1
		b.core = engine.NewCore(b.config, b.now, b.random())
		b.do([]string{"define", "every=1h"})
		b.do([]string{"run", "a", "at=100s"})
		for _, at := range steps {
			b.do([]string{"at", at})
		}
		b.out = nil
		b.do([]string{"at", "100s"})
		if !slices.Contains(b.out, want) {
			t.Errorf("after %s: got %q, and not %q", steps, b.out, want)
		}
	}
}
