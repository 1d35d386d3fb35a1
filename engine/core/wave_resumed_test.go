package core_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Resumed waves, which are read again while they do. The simulator found each.

func TestACancelledRootOfAResumedWaveEndsInItsTurnAfterARestart(t *testing.T) {
	b := newWaveBench(t,
		"kind: DAG\nname: etl\nmax_parallel: 1\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}, b: {schedule: '* * * * *'}}\n")
	b.ends = func(*engine.Task) engine.Finish {
		return engine.Finish{Status: engine.StatusFailed, NoRetry: true, Error: "no"}
	}
	b.idle(61 * time.Second)
	b.drain()
	b.wants("dag-w1", engine.StatusFailed, "a failed, b failed")
	b.ends = nil
	b.command(engine.CommandResumeWave, "dag-w1", "", engine.StatusInvalid) // a is queued, b waits for its turn
	b.receive(engine.Command{Kind: engine.CommandCancel, RunID: engine.TaskRunID("dag-w1", "b")})
	b.restart()
	b.drain()
	b.wants("dag-w1", engine.StatusCancelled, "a succeeded, b cancelled")
}

func TestARootOfAResumedWaveKeepsItsSlotAfterARestart(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\nmax_parallel: 1\ncatch_up: {policy: none}\ndefaults: {binary: work}\n"+
		"tasks: {a: {schedule: '* * * * *'}, b: {schedule: '* * * * *', for_each: '[1, 2]'}}\n")
	b.idle(61 * time.Second)
	b.command(engine.CommandCancelWave, "dag-w1", "", engine.StatusInvalid) // b has not begun
	b.drain()
	b.wants("dag-w1", engine.StatusCancelled, "a cancelled, b cancelled")
	b.now = b.now.Add(50 * time.Second) // later than a slot may be that is not caught up
	b.command(engine.CommandResumeWave, "dag-w1", "", engine.StatusInvalid)
	b.restart()
	b.drain()
	b.wants("dag-w1", engine.StatusSucceeded, "a succeeded, b[0] succeeded, b[1] succeeded")
	if item := b.runs[engine.ItemRunID("dag-w1", 1, "b")]; item.Slot.Format("15:04") != "00:01" || item.Trigger != engine.TriggerSchedule {
		t.Errorf("an item has the slot %s and came by %s", item.Slot, item.Trigger)
	}
	if got := b.ledger("b"); got != "" {
		t.Errorf("the slot has a run, and the ledger says %s", got)
	}
}

func TestAMappedTaskOfAResumedWaveWaitsForWhatItNeedsAfterARestart(t *testing.T) {
	b := newWaveBench(t,
		"kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks:\n  a: {}\n  each: {needs: [a], trigger: always, for_each: '[1, 2]'}\n")
	b.ends = func(*engine.Task) engine.Finish {
		return engine.Finish{Status: engine.StatusFailed, NoRetry: true, Error: "no"}
	}
	wave := b.ask("one", nil, nil)
	b.drain()
	b.wants(wave, engine.StatusFailed, "a failed, each[0] failed, each[1] failed")
	b.ends = nil
	b.command(engine.CommandResumeWave, wave, "", engine.StatusInvalid)
	b.restart()
	if len(b.queue) != 1 || b.queue[0].Task != "a" {
		t.Fatalf("%d go at once", len(b.queue))
	}
	b.execute(0)
	b.execute(0) // the first item
	b.restart()
	if len(b.queue) != 1 {
		t.Fatalf("%d are left", len(b.queue))
	}
	b.drain()
	b.wants(wave, engine.StatusSucceeded, "a succeeded, each[0] succeeded, each[1] succeeded")
	if got := strings.Count(strings.Join(b.started, " "), "#2"); got != 3 {
		t.Errorf("the attempts were %v", b.started)
	}
}

func TestAMappedTaskThatWasMarkedIsRunAgainAfterARestart(t *testing.T) {
	b := newWaveBench(t,
		"kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks:\n  a: {}\n  each: {needs: [a], trigger: always, for_each: '[1, 2]'}\n")
	b.ends = func(*engine.Task) engine.Finish {
		return engine.Finish{Status: engine.StatusFailed, NoRetry: true, Error: "no"}
	}
	wave := b.ask("one", nil, nil)
	b.drain()
	b.command(engine.CommandResumeWave, wave, "", engine.StatusInvalid)
	b.command(engine.CommandMarkTask, wave, "each", engine.StatusFailed)
	b.drain()
	b.wants(wave, engine.StatusFailed, "a failed, each failed, each[0] failed, each[1] failed")
	b.ends = nil
	b.command(engine.CommandResumeWave, wave, "", engine.StatusInvalid)
	b.restart()
	b.drain()
	b.wants(wave, engine.StatusSucceeded, "a succeeded, each[0] succeeded, each[1] succeeded")
}

func TestAlwaysTaskOfACancelledWaveContinuesAfterARestart(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks:\n  a: {}\n"+
		"  each: {needs: [a], trigger: always, for_each: '[1, 2, 3]', max_parallel: 1}\n")
	wave := b.ask("one", nil, nil)
	b.command(engine.CommandCancelWave, wave, "", engine.StatusInvalid)
	b.execute(0) // the first item
	b.restart()
	b.drain()
	b.wants(wave, engine.StatusCancelled, "a cancelled, each[0] succeeded, each[1] succeeded, each[2] succeeded")
}

func TestWhatWasStoppedWhileItRanStaysStoppedAfterARestart(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks:\n  a: {}\n"+
		"  each: {needs: [a], trigger: always, for_each: '[1, 2, 3]', max_parallel: 1}\n")
	wave := b.ask("one", nil, nil)
	b.execute(0)
	task := b.queue[0]
	b.begin(0, false)
	b.command(engine.CommandCancelWave, wave, "", engine.StatusInvalid)
	b.ends = func(*engine.Task) engine.Finish { return engine.Finish{Status: engine.StatusCancelled} }
	b.restart()
	b.end(task)
	b.drain()
	b.wants(wave, engine.StatusCancelled, "a succeeded, each[0] cancelled")
}

func TestMarkingADeadTaskRemovesItsDeadLetterAfterACrash(t *testing.T) {
	for torn := range 8 {
		b := newWaveBench(t,
			"kind: DAG\nname: etl\ndefaults: {binary: work, retry: {max_attempts: 2, delay: 1s, max_delay: 1s}}\ntasks: {a: {}, b: {}}\n")
		b.ends = func(*engine.Task) engine.Finish {
			code := 1
			return engine.Finish{Status: engine.StatusFailed, ExitCode: &code}
		}
		wave := b.ask("one", nil, nil)
		b.until(10 * time.Second)
		b.wants(wave, engine.StatusFailed, "a dead, b dead")
		b.ends = nil
		b.torn = torn
		b.command(engine.CommandMarkTask, wave, "a", engine.StatusSucceeded)
		b.drain()
		for id := range b.letters {
			if run := b.runs[id]; run.Status != engine.StatusDead {
				t.Errorf("the engine died after %d writes: there is a letter of run %s, which is %s", torn, id, run.Status)
			}
		}
	}
}

func TestRequestedWaveOpensOnceTheSlotBeforeItIsDropped(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\noverlap: queue\ndefaults: {binary: work}\n"+
		"tasks: {a: {schedule: '*/20 * * * * *'}, b: {schedule: '*/30 * * * * *'}}\n")
	// The engine is unavailable while a user edits the DAG, and then the clock goes back.
	b.editUnheard("kind: DAG\nname: etl\noverlap: queue\ndefaults: {binary: work}\ntasks: {a: {}}\n", 45*time.Second)
	b.now = b.now.Add(10 * time.Second)
	b.restart()
	b.idle(21 * time.Second)
	b.drain()
	b.wants("dag-w1", engine.StatusSucceeded, "a succeeded, b scheduled")
	wave := b.ask("one", nil, nil)
	b.until(40 * time.Second)
	b.wants("dag-w1", engine.StatusSucceeded, "a succeeded")
	b.wants(wave, engine.StatusSucceeded, "a succeeded")
}

func TestATaskThatBecomesARootWhileItRunsHasTheSlotOfItsWave(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}, b: {needs: [a]}}\n")
	b.idle(61 * time.Second)
	b.execute(0) // a; b has the slot of its wave
	b.editUnheard("kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}, b: {schedule: '* * * * *'}}\n",
		59*time.Second)
	b.restart() // only now the engine hears of that
	b.drain()
	b.until(64 * time.Second)
	if run := b.runs["dag-w2-b"]; b.ledger("b") == "" && run.Slot.Format("15:04") != "00:01" {
		t.Errorf("of the slot that came after the edit the ledger says nothing, and the run %q is for slot %s", run.ID, run.Slot)
	}
}

// The engine dies at any place of what it writes when a root that was given needs lets go of its slot.
func TestASlotThatAnEditTookAwayStaysInTheLedgerAfterACrash(t *testing.T) {
	for torn := range 30 {
		b := newWaveBench(t,
			"kind: DAG\nname: etl\noverlap: queue\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}, b: {schedule: '* * * * *'}}\n")
		b.idle(121 * time.Second) // both wait with their second slot
		b.define("kind: DAG\nname: etl\noverlap: queue\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}, b: {needs: [a]}}\n")
		b.torn = torn
		b.drain()
		b.wants("dag-w2", engine.StatusSucceeded, "a succeeded, b succeeded")
		if run := b.runs["dag-w2-b"]; run.Trigger != engine.TriggerUpstream || b.ledger("b") != "00:02..00:02 1 skipped(edited)" {
			t.Errorf("the engine died after %d writes: the run of b came by %s, and the ledger says %q", torn, run.Trigger, b.ledger("b"))
		}
	}
}

// editUnheard saves a changed definition at an instant after the DAG's creation, and the engine does not hear of it.
func (b *waveBench) editUnheard(definition string, at time.Duration) {
	b.t.Helper()
	documents, problems := spec.Decode("dag.yaml", []byte(definition))
	if len(problems) > 0 {
		b.t.Fatal(problems)
	}
	d := documents[0].DAG
	b.dag.Spec = *d
	b.dag.Generation++
	b.dag.Revision++
	b.dag.Pending, b.dag.UpdatedAt = true, b.dag.CreatedAt.Add(at)
	b.versions[b.dag.Generation] = d
}

func TestAWaveThatWentOnBlamesWhatFailedSince(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks: {a: {}, b: {needs: [a]}}\n")
	fails := "a"
	b.ends = func(task *engine.Task) engine.Finish {
		if task.Task != fails {
			return engine.Finish{Status: engine.StatusSucceeded}
		}
		return engine.Finish{Status: engine.StatusFailed, NoRetry: true, Error: fails + " is broken"}
	}
	wave := b.ask("one", nil, nil)
	b.drain()
	if got := b.waves[wave].Reason; got != "task a: a is broken" {
		t.Errorf("first it says %q", got)
	}
	fails = "b"
	b.command(engine.CommandResumeWave, wave, "", engine.StatusInvalid)
	b.drain()
	if got := b.waves[wave].Reason; got != "task b: b is broken" {
		t.Errorf("after it was resumed it says %q", got)
	}
	b.command(engine.CommandMarkTask, wave, "b", engine.StatusFailed)
	b.drain()
	if got := b.waves[wave].Reason; !strings.HasPrefix(got, "task b: marked as failed") {
		t.Errorf("after b was marked it says %q", got)
	}
}
