package core_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
)

// What the simulator found in waves, each as a transcript of its own.

func (b *waveBench) idle(until time.Duration) {
	for end := b.dag.CreatedAt.Add(until); b.now.Before(end); {
		b.now = b.now.Add(time.Second)
		b.step(core.Tick{})
	}
}

func failsOnce(task string) func(*engine.Task) engine.Finish {
	failed := false
	return func(t *engine.Task) engine.Finish {
		if t.Task == task && !failed {
			failed = true
			return engine.Finish{Status: engine.StatusFailed, NoRetry: true, Error: "no"}
		}
		return engine.Finish{Status: engine.StatusSucceeded}
	}
}

func TestADeletedDAGOpensNoWave(t *testing.T) {
	b := newWaveBench(t, strings.Replace(strings.Replace(diamond, "name: etl", "name: etl\noverlap: queue", 1), "a: {}",
		"a: {schedule: '* * * * *'}", 1))
	b.idle(121 * time.Second) // the second slot waits for the first wave
	asked := b.ask("one", nil, nil)
	b.dag.Deleted = true
	b.save()
	b.drain()
	if got := b.waves["dag-w1"].Status; got != engine.StatusCancelled {
		t.Errorf("the open wave is %s", got)
	}
	if got := b.waves[asked].Status; got != engine.StatusCancelled {
		t.Errorf("the wave that was asked for is %s", got)
	}
	if len(b.waves) != 2 || len(b.queue) > 0 {
		t.Errorf("there are %d waves, and %d tasks wait", len(b.waves), len(b.queue))
	}
}

// What has waited for the wave before is of tasks that are gone since: a wave of it would have nothing that ends it.
func TestTheSlotOfARootThatAnEditHasTakenAwayOpensNoWave(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\noverlap: queue\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}, b: {schedule: '* * * * *'}}\n")
	b.idle(121 * time.Second) // the second slots wait for the first wave
	b.define("kind: DAG\nname: etl\noverlap: queue\ndefaults: {binary: work}\ntasks: {c: {}}\n")
	asked := b.ask("one", nil, nil)
	b.drain()
	for id, status := range map[string]engine.Status{"dag-w1": engine.StatusSucceeded, asked: engine.StatusSucceeded, "dag-w2": engine.StatusInvalid} {
		if got := b.waves[id].Status; got != status {
			t.Errorf("wave %s is %s", id, got)
		}
	}
}

func TestTheOpenWaveOfADeletedDAGEndsAfterARestart(t *testing.T) {
	b := newWaveBench(t, diamond)
	wave, asked := b.ask("one", nil, nil), b.ask("two", nil, nil)
	b.dag.Deleted = true
	b.dag.Revision++
	b.dag.Pending = true // and the engine dies before it hears of that
	b.restart()
	b.drain()
	for _, id := range []string{wave, asked} {
		if got := b.waves[id].Status; got != engine.StatusCancelled {
			t.Errorf("wave %s is %s", id, got)
		}
	}
	if b.dag.Pending {
		t.Error("the deletion is not done")
	}
}

func TestAWaveThatWaitsToResumeKeepsItsVersion(t *testing.T) {
	b := newWaveBench(t, diamond)
	b.ends = failsOnce("b")
	wave := b.ask("one", nil, nil)
	b.drain()
	b.wants(wave, engine.StatusFailed, "a succeeded, b failed, c succeeded, d skipped (upstream)")
	b.ask("two", nil, nil)
	b.command(engine.CommandResumeWave, wave, "", engine.StatusInvalid) // waits for the second wave
	b.define("kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks: {other: {}}\n")
	b.drain()
	b.wants(wave, engine.StatusSucceeded, "a succeeded, b succeeded, c succeeded, d succeeded")
}

const fanned = `
kind: DAG
name: etl
defaults: {binary: work}
tasks:
  a: {}
  each: {needs: [a], for_each: "[1, 2, 3]", max_parallel: 1}
  z: {needs: [each]}
`

func TestACancelledMappedTaskResumesTheItemsThatHaveNotSucceeded(t *testing.T) {
	b := newWaveBench(t, fanned)
	wave := b.ask("one", nil, nil)
	b.execute(0) // a
	b.execute(0) // the first item
	b.command(engine.CommandCancelWave, wave, "", engine.StatusInvalid)
	b.drain()
	if got := b.waves[wave].Status; got != engine.StatusCancelled {
		t.Fatalf("the wave is %s", got)
	}
	b.restart()
	b.command(engine.CommandResumeWave, wave, "", engine.StatusInvalid)
	b.drain()
	if got := b.waves[wave].Status; got != engine.StatusSucceeded {
		t.Errorf("resumed, the wave is %s: %s", got, b.statuses(wave))
	}
	if got := b.runs[engine.ItemRunID(wave, 0, "each")].Attempt; got != 1 {
		t.Errorf("the item that had succeeded was tried %d times", got)
	}
	for id, run := range b.runs {
		if !run.Status.Terminal() {
			t.Errorf("run %s is %s", id, run.Status)
		}
	}
}

func TestAWaveIsCancelledThoughItsLastRunWasToBeRetried(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work, retry: {max_attempts: 2, delay: 1h, max_delay: 1h}}\n"+
		"tasks: {a: {}, b: {needs: [a]}}\n")
	b.ends = func(*engine.Task) engine.Finish {
		code := 1
		return engine.Finish{Status: engine.StatusFailed, ExitCode: &code}
	}
	wave := b.ask("one", nil, nil)
	b.drain()
	b.command(engine.CommandCancelWave, wave, "", engine.StatusInvalid)
	b.wants(wave, engine.StatusCancelled, "a cancelled, b skipped (upstream)")
}

func TestAMarkHoldsThoughWhatItNeedsIsRunAgain(t *testing.T) {
	b := newWaveBench(t,
		"kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks: {a: {}, b: {needs: [a]}, c: {needs: [b], trigger: none_failed}}\n")
	b.ends = failsOnce("a")
	wave := b.ask("one", nil, nil)
	b.drain()
	b.wants(wave, engine.StatusFailed, "a failed, b skipped (upstream), c skipped (upstream)")
	b.command(engine.CommandMarkTask, wave, "b", engine.StatusSkipped)
	b.drain()
	b.wants(wave, engine.StatusSucceeded, "a succeeded, b skipped, c succeeded")
	if got := b.runs[engine.TaskRunID(wave, "b")].Attempt; got != 0 {
		t.Errorf("b was marked, and was tried %d times", got)
	}
}

func TestARootThatIsGivenNeedsWhileItsSlotWaitsLeavesTheSlotInTheLedger(t *testing.T) {
	b := newWaveBench(t,
		"kind: DAG\nname: etl\noverlap: queue\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}, b: {schedule: '* * * * *'}}\n")
	b.idle(121 * time.Second) // both wait with their second slot
	b.define("kind: DAG\nname: etl\noverlap: queue\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}, b: {needs: [a]}}\n")
	b.drain()
	if got := b.ledger("b"); got != "00:02..00:02 1 skipped(edited)" {
		t.Errorf("the ledger says %q", got)
	}
	b.wants("dag-w2", engine.StatusSucceeded, "a succeeded, b succeeded")
}

func TestACancelledRunOfATaskThatWaitsForItsTurnEndsThen(t *testing.T) {
	b := newWaveBench(t,
		"kind: DAG\nname: etl\nmax_parallel: 1\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}, b: {schedule: '* * * * *'}}\n")
	b.idle(61 * time.Second) // a is queued, b waits for its turn
	b.receive(engine.Command{Kind: engine.CommandCancel, RunID: engine.TaskRunID("dag-w1", "b")})
	b.drain()
	b.wants("dag-w1", engine.StatusCancelled, "a succeeded, b cancelled")
	if got := b.ledger("b"); got != "" {
		t.Errorf("the slot is in the ledger as %s, and has a run", got)
	}
}

func TestNothingBeginsInTheWaveOfADeletedDAG(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\n"+
		"tasks: {a: {}, b: {}, tell: {needs: [a, b], trigger: all_done}, more: {needs: [b]}}\n")
	wave := b.ask("one", nil, nil)
	b.dag.Deleted = true
	b.save()
	b.drain()
	if got := b.waves[wave]; got.Status != engine.StatusCancelled || got.Reason != "cancelled by the deletion of its DAG" {
		t.Errorf("the wave is %s: %s", got.Status, got.Reason)
	}
	for _, task := range []string{"tell", "more"} {
		if run, there := b.runs[engine.TaskRunID(wave, task)]; there && run.Attempt > 0 {
			t.Errorf("task %s began, and is %s", task, run.Status)
		}
	}
}

// TestARootThatIsNotPlannedYetIsNotSkipped: the first root's slot came while the engine was away, and opens a wave before those
// after it, of the same edit, have their first slot.
func TestARootThatIsNotPlannedYetIsNotSkipped(t *testing.T) {
	const one = "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}"
	b := newWaveBench(t, one+"}\n")
	b.now = b.now.Add(121 * time.Second)
	b.define(one + ", b: {schedule: '* * * * *'}}\n")
	b.until(4 * time.Minute)
	b.wants("dag-w1", engine.StatusSucceeded, "a succeeded, b succeeded")
}

// Seed 1763863200587: one root's slot ends the wave, another's opens the next one at the same instant, and a third has waited for that.
func TestARootThatWaitsForTheNextWaveGoesWhenAnotherSlotOpensIt(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\noverlap: queue\ndefaults: {binary: work}\ntasks:\n"+
		"  ends: {schedule: '0 2 * * * *', when: 'false'}\n"+
		"  opens: {schedule: ['30 0 * * * *', '0 2 * * * *', '0 50 * * * *']}\n"+
		"  waits: {schedule: ['20 0,1 * * * *', '0 50 * * * *']}\n")
	for end := b.now.Add(2*time.Minute + time.Second); b.now.Before(end); {
		b.now = b.now.Add(250 * time.Millisecond)
		b.step(core.Tick{})
		b.drain()
	}
	b.wants("dag-w1", engine.StatusSucceeded, "ends skipped, opens succeeded, waits succeeded")
	b.wants("dag-w2", engine.StatusRunning, "opens succeeded, waits succeeded")
}

// Seed 1763863200754.
func TestATaskThatWasSkippedRunsOnceWhatItNeedsIsMarkedAsSucceeded(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\n"+
		"tasks: {a: {when: 'false'}, b: {needs: [a]}, c: {needs: [b]}, other: {}}\n")
	b.ends = failsOnce("other")
	wave := b.ask("one", nil, nil)
	b.drain()
	b.wants(wave, engine.StatusFailed, "a skipped, b skipped, c skipped, other failed")
	b.command(engine.CommandMarkTask, wave, "a", engine.StatusSucceeded)
	b.drain()
	b.wants(wave, engine.StatusSucceeded, "a succeeded, b succeeded, c succeeded, other succeeded")
}

// Seed 1102: the root's slot in the open wave was missed, an edit took the root away, and its next slot waits for that wave to end.
func TestAWaveEndsThoughARootThatGetsNoSlotInItWaitsForTheNextOne(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\noverlap: queue\nmax_parallel: 1\ncatch_up: {policy: all, window: 15s}\n"+
		"defaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}, b: {schedule: '* * * * *'}}\n")
	b.idle(121 * time.Second) // a is queued, b waits for its turn, and both wait for the next wave
	b.define("kind: DAG\nname: etl\noverlap: queue\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}}\n")
	b.now = b.now.Add(30 * time.Second)
	b.restart()
	b.drain()
	b.wants("dag-w1", engine.StatusSucceeded, "a succeeded, b skipped")
	b.wants("dag-w2", engine.StatusSucceeded, "a succeeded")
	if got := b.ledger("b"); got != "00:01..00:01 1 missed(outage), 00:02..00:02 1 skipped(edited)" {
		t.Errorf("the ledger says %q", got)
	}
}
