package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Waves that go on, and are read again while they do. The simulator found each.

func TestACancelledRootOfAResumedWaveEndsInItsTurnAfterARestart(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\nmax_parallel: 1\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}, b: {schedule: '* * * * *'}}\n")
	b.ends = func(*engine.Task) engine.Finish {
		return engine.Finish{Status: engine.StatusFailed, NoRetry: true, Error: "no"}
	}
	b.idle(61 * time.Second)
	b.drain()
	b.wants("dag-w1", engine.StatusFailed, "a failed, b failed")
	b.ends = nil
	b.command(engine.CommandResumeWave, "dag-w1", "", engine.StatusInvalid) // a is queued, b waits for its turn
	b.commandAbout(engine.CommandCancel, engine.TaskRunID("dag-w1", "b"))
	b.restart()
	b.drain()
	b.wants("dag-w1", engine.StatusCancelled, "a succeeded, b cancelled")
}

func TestARootOfAResumedWaveKeepsItsSlotAfterARestart(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\nmax_parallel: 1\ncatch_up: {policy: none}\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}, b: {schedule: '* * * * *', for_each: '[1, 2]'}}\n")
	b.idle(61 * time.Second)
	b.command(engine.CommandCancelWave, "dag-w1", "", engine.StatusInvalid) // b has not begun
	b.drain()
	b.wants("dag-w1", engine.StatusCancelled, "a cancelled, b cancelled")
	b.now = b.now.Add(50 * time.Second) // later than a slot that nobody wants to catch up may be
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
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks:\n  a: {}\n  each: {needs: [a], trigger: always, for_each: '[1, 2]'}\n")
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
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks:\n  a: {}\n  each: {needs: [a], trigger: always, for_each: '[1, 2]'}\n")
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

func TestWhatAlwaysRunsGoesOnAfterARestartThoughItsWaveWasCancelled(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks:\n  a: {}\n  each: {needs: [a], trigger: always, for_each: '[1, 2, 3]', max_parallel: 1}\n")
	wave := b.ask("one", nil, nil)
	b.command(engine.CommandCancelWave, wave, "", engine.StatusInvalid)
	b.execute(0) // the first item
	b.restart()
	b.drain()
	b.wants(wave, engine.StatusCancelled, "a cancelled, each[0] succeeded, each[1] succeeded, each[2] succeeded")
}

func TestWhatWasStoppedWhileItRanStaysStoppedAfterARestart(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks:\n  a: {}\n  each: {needs: [a], trigger: always, for_each: '[1, 2, 3]', max_parallel: 1}\n")
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

func TestAMarkOfADeadTaskTakesItsLetterBackThoughTheEngineDies(t *testing.T) {
	for torn := range 8 {
		b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work, retry: {max_attempts: 2, delay: 1s, max_delay: 1s}}\ntasks: {a: {}, b: {}}\n")
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

func TestWhatWasAskedForOpensOnceASlotThatWasInItsWayIsGone(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\noverlap: queue\ndefaults: {binary: work}\ntasks: {a: {schedule: '*/20 * * * * *'}, b: {schedule: '*/30 * * * * *'}}\n")
	// The engine is away while somebody edits the DAG, and then the clock goes back.
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
	b.editUnheard("kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}, b: {schedule: '* * * * *'}}\n", 59*time.Second)
	b.restart() // only now the engine hears of that
	b.drain()
	b.until(64 * time.Second)
	if run := b.runs["dag-w2-b"]; b.ledger("b") == "" && run.Slot.Format("15:04") != "00:01" {
		t.Errorf("of the slot that came after the edit the ledger says nothing, and the run %q is for slot %s", run.ID, run.Slot)
	}
}

// All slots are to be caught up, one wave after the other, and then the DAG is paused: what came before that is told.
func TestAPauseTellsOfAllSlotsThatCameBefore(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\noverlap: queue\ncatch_up: {policy: all, window: 1h}\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}}\n")
	b.now = b.now.Add(10*time.Minute + 30*time.Second)
	b.pause(true)
	told := 0
	for _, s := range b.slots {
		told += int(s.Count)
	}
	if told+len(b.runs) != 10 {
		t.Errorf("of 10 slots the ledger tells of %d, and there are %d runs", told, len(b.runs))
	}
}

// A former owner has begun a root in the wave that is open, and its write came late.
func TestARunThatSomebodyElseMadeInTheOpenWaveIsReadAnew(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}, b: {schedule: '*/10 * * * *'}}\n")
	b.until(61 * time.Second) // the wave waits for b
	theirs := b.runs["dag-w1-a"]
	theirs.ID, theirs.Task, theirs.Revision, theirs.Status = "dag-w1-b", "b", 1, engine.StatusQueued
	theirs.Attempts = []engine.Attempt{{N: 1, Status: engine.StatusQueued}}
	load := func() []engine.Effect {
		return b.core.Step(b.now, engine.JobsLoaded{DAGs: []engine.DAGSnapshot{b.snapshot()}, Binaries: b.binaries()})
	}
	if effects := load(); len(effects) > 0 {
		t.Fatalf("nobody else has made anything, and there is %v", effects)
	}
	b.runs[theirs.ID] = theirs
	effects := load()
	if len(effects) != 1 {
		t.Fatalf("there are %d effects", len(effects))
	}
	if anew, is := effects[0].(engine.ReadAnew); !is || anew.Why != "run dag-w1-b was made by somebody else" {
		t.Errorf("the effect is %+v", effects[0])
	}
	b.restart()
	b.drain()
	b.wants("dag-w1", engine.StatusSucceeded, "a succeeded, b succeeded")
}

// A former owner prepared a root for the wave that another one has opened on a generation without that root.
func TestARunOfATaskThatTheOpenWaveDoesNotHaveEnds(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}, b: {schedule: '*/10 * * * *'}}\n")
	b.until(61 * time.Second) // the wave waits for b
	theirs := b.runs["dag-w1-a"]
	theirs.ID, theirs.Task, theirs.Revision, theirs.Status, theirs.Generation = "dag-w1-c", "c", 1, engine.StatusScheduled, 9
	theirs.Attempts, theirs.Attempt = nil, 0
	b.runs[theirs.ID] = theirs
	for range 2 {
		b.restart()
		b.drain()
		effects := b.core.Step(b.now, engine.JobsLoaded{DAGs: []engine.DAGSnapshot{b.snapshot()}, Binaries: b.binaries()})
		for _, effect := range effects {
			if anew, is := effect.(engine.ReadAnew); is {
				t.Fatalf("all is read anew for ever: %s", anew.Why)
			}
		}
		b.drain()
	}
	if run, kept := b.runs[theirs.ID]; kept && !run.Status.Terminal() {
		t.Errorf("the run of a task that the wave does not have is %s", run.Status)
	}
	b.until(601 * time.Second)
	b.wants("dag-w1", engine.StatusSucceeded, "a succeeded, b succeeded")
}

// The engine dies at any place of what it writes when a root that was given needs lets go of its slot.
func TestASlotThatAnEditTookAwayStaysInTheLedgerAfterACrash(t *testing.T) {
	for torn := range 30 {
		b := newWaveBench(t, "kind: DAG\nname: etl\noverlap: queue\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}, b: {schedule: '* * * * *'}}\n")
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

// A former owner prepares a root for a wave that the present one has opened meanwhile, and hears the end of that run.
func TestASlotComesAfterTheEndOfARunThatSomebodyElseHasLetGo(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\noverlap: queue\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}, b: {needs: [a]}}\n")
	b.idle(121 * time.Second) // the second slot waits for the first wave
	b.core.Step(b.now, engine.ResultsReceived{Results: []engine.Result{{
		Kind: engine.ResultFinished, Run: "dag-w2-a", Attempt: 1, At: b.now, Finish: &engine.Finish{Status: engine.StatusSucceeded, FinishedAt: b.now},
	}}})
	b.core.Step(b.now.Add(time.Minute), engine.Tick{})
	written := map[string]int{}
	for _, write := range b.core.Ready().Batch.Runs {
		if written[write.Run.ID]++; written[write.Run.ID] > 1 {
			t.Errorf("run %s is in the batch twice", write.Run.ID)
		}
	}
	if written["dag-w2-a"] == 0 {
		t.Error("the end of the run is not written")
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
	b.forms[b.dag.Generation] = d
}

// Whoever resumes a wave may die between the wave and its runs. What is still on its way must not come after the wave has
// ended again.
func TestTheEndOfAWaveThatWasResumedInVainFencesItsRuns(t *testing.T) {
	for _, held := range []bool{false, true} { // whether the engine that finds it has the DAG in memory
		b := newWaveBench(t, strings.Replace(diamond, "a: {}", "a: {schedule: '0 12 * * *'}", 1))
		b.ends = failsOnce("b")
		wave := b.ask("one", nil, nil)
		b.drain()
		before := b.runs[engine.TaskRunID(wave, "b")].Revision
		if held {
			w := b.waves[wave]
			w.Status, w.Reason, w.Resumed, w.FinishedAt, w.Tally = engine.StatusRunning, "", 1, time.Time{}, engine.WaveTally{}
			w.Revision++
			b.waves[wave] = w
			b.save()
		} else {
			b.torn = 2 // whose turn it is, and the wave
			b.command(engine.CommandResumeWave, wave, "", engine.StatusInvalid)
		}
		b.drain()
		b.wants(wave, engine.StatusFailed, "a succeeded, b failed, c succeeded, d skipped (upstream)")
		if got := b.runs[engine.TaskRunID(wave, "b")].Revision; got != before+1 {
			t.Errorf("the run that was to be tried again is at revision %d, and was at %d", got, before)
		}
		if got := b.runs[engine.TaskRunID(wave, "a")].Revision; got != 3 {
			t.Errorf("the run that had succeeded was written again: it is at revision %d", got)
		}
	}
}

// A run of a wave that is over has the slot of that wave, which is none of its task's.
func TestARunThatIsLeftOfAWaveThatIsOverTakesNoSlot(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks: {a: {schedule: '* * * * *'}, b: {needs: [a]}}\n")
	b.until(62 * time.Second)
	left := b.runs["dag-w1-b"]
	left.Status, left.Attempt, left.Attempts, left.Revision = engine.StatusScheduled, 0, nil, left.Revision+1
	b.runs[left.ID] = left
	b.restart()
	if got := b.ledger("b"); got != "" {
		t.Errorf("the ledger says %s", got)
	}
	if run, there := b.runs[left.ID]; there {
		t.Errorf("the run is %s", run.Status)
	}
}
