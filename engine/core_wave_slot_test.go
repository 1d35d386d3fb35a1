package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// TestASlotThatGoesLateEndsOnceInACrash lets an engine that had not heard of a pause die, or be refused, at each of its
// writes while it lets a root go whose slot has passed: the slot goes in one wave, or is in the ledger, and never both.
func TestASlotThatGoesLateEndsOnceInACrash(t *testing.T) {
	for kind, each := range map[string]string{"single": "", "mapped": ", for_each: '[1, 2]'"} {
		for torn := range 12 {
			t.Run(fmt.Sprintf("%s/%d", kind, torn), func(t *testing.T) {
				b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks:\n  a: {schedule: '*/10 * * * *'"+each+"}\n  b: {needs: [a]}\n")
				b.until(5 * time.Minute)
				b.dag.Paused, b.dag.PausedAt, b.dag.Pending = true, b.now, true
				b.dag.Revision++
				b.torn = torn
				b.jump(12 * time.Minute)
				b.torn = -1
				b.restart()
				b.drain()
				b.until(15 * time.Minute)
				b.pause(false)
				b.until(25 * time.Minute)
				ends := len(b.slots)
				for _, w := range b.waves {
					if w.Slot.Equal(b.dag.CreatedAt.Add(10 * time.Minute)) {
						ends++
					}
				}
				if ends != 1 {
					t.Errorf("the waves are %v, and the ledger says %q", b.waves, b.ledger("a"))
				}
			})
		}
	}
}

// TestARootPassesItsSlotBeforeItsWaveOpens: another owner may have decided otherwise of the slot.
func TestARootPassesItsSlotBeforeItsWaveOpens(t *testing.T) {
	b := corner(t, "last", "1h", "skip")
	b.until(5 * time.Minute)
	b.parts = nil
	b.jump(12 * time.Minute)
	first := b.parts[0]
	if len(first.Runs) != 1 || first.Runs[0].Run.ID != "dag-w1-a" || first.Runs[0].Run.Status != engine.StatusScheduled {
		t.Errorf("the first part has runs %+v", first.Runs)
	}
	if len(first.Tasks) != 1 || first.Tasks[0].Task.ID != engine.RootID(waveUID, "a") {
		t.Errorf("the first part has tasks %+v", first.Tasks)
	}
	if opens := slices.IndexFunc(b.parts, func(part *engine.Batch) bool { return len(part.Waves) > 0 }); opens < 1 {
		t.Errorf("the wave opens with part %d", opens)
	}
	b.drain()
	b.wants("dag-w1", engine.StatusSucceeded, "a succeeded, b succeeded")
}

// TestARootOfWhichAPauseWasNotHeardIsGivenUp: its scheduled task was refused, and stands at its slot.
func TestARootOfWhichAPauseWasNotHeardIsGivenUp(t *testing.T) {
	b := corner(t, "last", "1h", "skip")
	b.until(5 * time.Minute)
	b.dag.Paused, b.dag.PausedAt, b.dag.Pending = true, b.now, true
	b.dag.Revision++
	b.torn = 1 // the run, and not the scheduled task
	b.jump(12 * time.Minute)
	b.drain()
	if len(b.started) > 0 || len(b.runs) > 0 {
		t.Errorf("%v started, and there are runs %v", b.started, b.runs)
	}
	if got := b.ledger("a"); got != "00:10..00:10 1 skipped(paused)" {
		t.Errorf("the ledger says %q", got)
	}
	b.pause(false)
	b.until(25 * time.Minute)
	if got := b.told(); got != "02 00:20 succeeded" {
		t.Errorf("the waves are %s", got)
	}
}

// TestASlotThatTwoOwnersPreparedGoesOnce: one for the open wave, and one for the wave to come, before its scheduled task
// was refused.
func TestASlotThatTwoOwnersPreparedGoesOnce(t *testing.T) {
	b := corner(t, "last", "1h", "queue")
	for b.now = b.dag.CreatedAt.Add(10 * time.Minute); len(b.queue) == 0; b.now = b.now.Add(time.Second) {
		b.step(engine.Tick{})
	}
	first := b.runs["dag-w1-a"]
	again := first.Clone()
	again.ID, again.Wave, again.Epoch, again.Revision = "dag-w2-a", "dag-w2", 2, 1
	again.Status, again.Attempt, again.Attempts = engine.StatusScheduled, 0, nil
	b.runs[again.ID] = again
	b.restart()
	b.drain()
	b.until(15 * time.Minute)
	if got := b.told(); got != "02 00:10 succeeded" {
		t.Errorf("the waves are %s", got)
	}
	if got := b.ledger("a"); got != "" {
		t.Errorf("the ledger says %s", got)
	}
	b.until(25 * time.Minute)
	b.wants("dag-w2", engine.StatusSucceeded, "a succeeded, b succeeded")
}

// TestARootInItsWaveDoesNotWaitForItsSlot: the clock went back behind it while the wave before was open.
func TestARootInItsWaveDoesNotWaitForItsSlot(t *testing.T) {
	b := newWaveBench(t, `
kind: DAG
name: etl
defaults: {binary: work}
overlap: queue
catch_up: {policy: none}
max_parallel: 1
tasks:
  a: {schedule: "*/10 * * * *"}
  z: {schedule: "*/10 * * * *"}
`)
	b.idle(21 * time.Minute)
	b.execute(0)
	b.away(5 * time.Minute)
	b.execute(0) // which ends the first wave
	b.jump(35 * time.Minute)
	b.drain()
	b.wants("dag-w2", engine.StatusSucceeded, "a succeeded, z succeeded")
	if got := b.ledger("z"); strings.Contains(got, "00:20..") {
		t.Errorf("the slot of the second wave is in the ledger: %s", got)
	}
}

// The same, and the wave that had the slot has ended when the run that is left is found.
func TestASlotThatAWaveHasHadGoesInNoOther(t *testing.T) {
	b := corner(t, "last", "1h", "queue")
	b.until(11 * time.Minute)
	b.wants("dag-w1", engine.StatusSucceeded, "a succeeded, b succeeded")
	first := b.runs["dag-w1-a"]
	again := first.Clone()
	again.ID, again.Wave, again.Epoch, again.Revision = "dag-w2-a", "dag-w2", 2, 1
	again.Status, again.Attempt, again.Attempts = engine.StatusScheduled, 0, nil
	b.runs[again.ID] = again
	b.restart()
	b.until(15 * time.Minute)
	if got := b.told(); got != "02 00:10 succeeded" {
		t.Errorf("the waves are %s", got)
	}
	b.until(25 * time.Minute)
	b.wants("dag-w2", engine.StatusSucceeded, "a succeeded, b succeeded")
}
