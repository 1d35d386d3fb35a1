package core_test

import (
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
)

// The run of a root that was prepared is given up, and another takes its place before its removal is written. What became
// of its slot is recorded wherever the engine dies.

const minuteAndHour = "kind: DAG\nname: etl\ndefaults: {binary: work}\n" +
	"tasks: {a: {schedule: '30 1 * * * *'}, b: {schedule: '0 * * * * *'}}\n"

func TestSlotThatAnEditTookAwayIsRecordedThoughItsTaskIsSkipped(t *testing.T) {
	for torn := range 20 {
		b := newWaveBench(t, minuteAndHour)
		b.idle(60 * time.Second)
		b.now = b.dag.CreatedAt.Add(89900 * time.Millisecond)
		b.step(core.Tick{})
		b.torn = torn
		b.define("kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks: {b: {schedule: '0 * * * * *'}}\n")
		b.drain()
		b.wants("dag-w1", engine.StatusSucceeded, "a skipped, b succeeded")
		if got := b.ledger("a"); got != "00:01..00:01 1 skipped(edited)" {
			t.Errorf("the engine died after %d writes: the ledger says %q", torn, got)
		}
	}
}

func TestSlotIsRecordedThoughTheNextOneHasItsRun(t *testing.T) {
	for torn := 1; torn < 20; torn++ { // before the first write the engine has not seen the edit
		b := newWaveBench(t, minuteAndHour)
		b.idle(60 * time.Second)
		b.now = b.dag.CreatedAt.Add(89900 * time.Millisecond)
		b.step(core.Tick{})
		b.editUnheard("kind: DAG\nname: etl\ndefaults: {binary: work}\n"+
			"tasks: {a: {schedule: '31 1 * * * *'}, b: {schedule: '0 * * * * *'}}\n", 89900*time.Millisecond)
		b.core.Step(b.now, core.JobsLoaded{DAGs: []core.DAGSnapshot{b.snapshot()}}) // while another batch is being written
		b.now = b.now.Add(time.Second)
		b.torn = torn
		b.step(core.Tick{})
		b.now = b.now.Add(time.Second)
		b.step(core.Tick{})
		b.drain()
		b.wants("dag-w1", engine.StatusSucceeded, "a succeeded, b succeeded")
		if got := b.ledger("a"); got != "00:01..00:01 1 skipped(edited)" {
			t.Errorf("the engine died after %d writes: the ledger says %q", torn, got)
		}
	}
}

// A root that is given needs, and items, while its slot waits: the items begin before it is its turn to be looked at.
func TestSlotThatAnEditTookAwayIsRecordedThoughItemsStandForItsTask(t *testing.T) {
	for torn := range 30 {
		b := newWaveBench(t,
			"kind: DAG\nname: etl\noverlap: queue\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}, b: {schedule: '* * * * *'}}\n")
		b.idle(121 * time.Second) // both wait with their second slot
		b.define("kind: DAG\nname: etl\noverlap: queue\ndefaults: {binary: work}\n" +
			"tasks: {a: {schedule: '* * * * *', when: 'false'}, b: {needs: [a], trigger: all_done, for_each: '[1]'}}\n")
		b.torn = torn
		b.drain()
		if got := b.ledger("b"); got != "00:02..00:02 1 skipped(edited)" {
			t.Errorf("the engine died after %d writes: the ledger says %q", torn, got)
		}
	}
}

// Seed 222, without a guard: the clock goes back behind the creation of a DAG, and its edits count from there. What lies before the
// creation is no slot of it.
func TestSlotsBeforeTheFirstScheduleAreNotTakenForItsOwn(t *testing.T) {
	dag := func(schedule string) string {
		return "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks: {a: {" + schedule + "}}\n"
	}
	b := newWaveBench(t, dag("schedule: '*/5 * * * *'"))
	b.idle(11 * time.Minute)
	b.drain()
	b.now = b.dag.CreatedAt.Add(-time.Hour)
	b.step(core.ClockWentBack{By: 71 * time.Minute})
	b.define(dag(""))
	b.now = b.now.Add(time.Minute)
	b.define(dag("schedule: '*/3 * * * *'"))
	if got := b.ledger("a"); got != "00:03..00:09 3 skipped(edited), 00:10..00:10 1 skipped(overlap)" {
		t.Errorf("the ledger says %q", got)
	}
}

// Both roots are given needs while they wait for the open wave: no wave opens for the first one, in which the other would wait for ever.
func TestNoWaveOpensForASlotThatAnEditTookAway(t *testing.T) {
	b := newWaveBench(t,
		"kind: DAG\nname: etl\noverlap: queue\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}, b: {schedule: '* * * * *'}}\n")
	b.idle(121 * time.Second) // both wait with their second slot
	b.define("kind: DAG\nname: etl\noverlap: queue\ndefaults: {binary: work}\n" +
		"tasks: {a: {needs: [c]}, b: {needs: [c]}, c: {schedule: '0 12 * * *'}}\n")
	b.drain()
	b.wants("dag-w1", engine.StatusSucceeded, "a succeeded, b succeeded")
	if w, opened := b.waves["dag-w2"]; opened {
		t.Errorf("a wave has opened: %+v", w)
	}
	for _, r := range b.runs {
		if !r.Status.Terminal() {
			t.Errorf("run %s is %s: %s", r.ID, r.Status, r.Reason)
		}
	}
	for _, root := range []string{"a", "b"} {
		if got := b.ledger(root); got != "00:02..00:02 1 skipped(edited)" {
			t.Errorf("the ledger of %s says %q", root, got)
		}
	}
}

// An edit and a pause are heard after the clock went back behind a slot that had come before both: it has not come now, and does not fire.
func TestASlotThatLiesAheadAgainDoesNotFireAfterAPause(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}}\n")
	b.idle(61 * time.Second)
	b.drain()
	b.editUnheard("kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks: {a: {schedule: '30 * * * * *'}}\n", 125*time.Second)
	b.dag.Paused, b.dag.PausedAt = true, b.dag.CreatedAt.Add(126*time.Second)
	b.now = b.dag.CreatedAt.Add(70 * time.Second)
	b.step(core.ClockWentBack{By: 56 * time.Second})
	b.save()
	b.until(5 * time.Minute)
	for _, r := range b.runs {
		if r.Slot.After(b.dag.CreatedAt.Add(time.Minute)) {
			t.Errorf("slot %s has run %s: %s", r.Slot, r.ID, r.Status)
		}
	}
	if got := b.ledger("a"); got != "00:02..00:02 1 skipped(paused)" {
		t.Errorf("the ledger says %q", got)
	}
}
