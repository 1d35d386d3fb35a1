package core_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// TestASlotThatGoesLateEndsOnceInACrash lets an engine that had not heard of a pause die before and after each of
// its commits while it lets a root go whose slot has passed: the slot goes in one wave, or is in the ledger, and never both.
func TestASlotThatGoesLateEndsOnceInACrash(t *testing.T) {
	for kind, each := range map[string]string{"single": "", "mapped": ", for_each: '[1, 2]'"} {
		for torn := range 12 {
			t.Run(fmt.Sprintf("%s/%d", kind, torn), func(t *testing.T) {
				b := newWaveBench(t,
					"kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks:\n  a: {schedule: '*/10 * * * *'"+each+"}\n  b: {needs: [a]}\n")
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
