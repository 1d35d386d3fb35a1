package core_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
)

const diamond = `
kind: DAG
name: etl
defaults: {binary: work}
tasks:
  a: {}
  b: {needs: [a]}
  c: {needs: [a]}
  d: {needs: [b, c]}
`

func TestManualWaveRunsTasksAfterTheirNeeds(t *testing.T) {
	b := newWaveBench(t, diamond)
	wave := b.ask("one", nil, nil)
	if len(b.queue) != 1 || b.queue[0].Task != "a" || b.queue[0].DAG != "etl" || b.queue[0].Epoch != 1 || b.queue[0].Lock != "dag-a" {
		t.Fatalf("first comes %+v", b.queue)
	}
	b.execute(0)
	if len(b.queue) != 2 {
		t.Fatalf("after a come %d", len(b.queue))
	}
	b.execute(1)
	if len(b.queue) != 1 {
		t.Fatal("d did not wait for b")
	}
	b.drain()
	b.wants(wave, engine.StatusSucceeded, "a succeeded, b succeeded, c succeeded, d succeeded")
	if tally := b.waves[wave].Tally; tally != (engine.WaveTally{Tasks: 4, Succeeded: 4}) {
		t.Errorf("tally %+v", tally)
	}
	if stats := b.core.Stats(); stats.DAGs != 0 || stats.Runs != 0 {
		t.Errorf("the core still holds %+v", stats)
	}
}

func TestManualWavesRunOneAfterTheOther(t *testing.T) {
	b := newWaveBench(t, diamond)
	first, second := b.ask("one", nil, nil), b.ask("two", nil, nil)
	if len(b.queue) != 1 || b.waves[second].Status != engine.StatusScheduled {
		t.Fatalf("the second did not wait: %+v", b.waves[second])
	}
	b.restart()
	b.drain()
	for i, wave := range []string{first, second} {
		b.wants(wave, engine.StatusSucceeded, "a succeeded, b succeeded, c succeeded, d succeeded")
		if b.waves[wave].Epoch != int64(i+1) {
			t.Errorf("wave %d has epoch %d", i, b.waves[wave].Epoch)
		}
	}
}

func TestFailureSpreadsByTheRulesAndIsResumedInPlace(t *testing.T) {
	b := newWaveBench(t, `
kind: DAG
name: etl
defaults: {binary: work}
tasks:
  a: {}
  b: {needs: [a]}
  c: {needs: [a]}
  d: {needs: [b, c]}
  tell: {needs: [d], trigger: all_done}
  alarm: {needs: [b], trigger: one_failed}
`)
	broken := true
	b.ends = func(task *engine.Task) engine.Finish {
		if task.Task == "b" && broken {
			code := 64
			return engine.Finish{Status: engine.StatusFailed, ExitCode: &code}
		}
		return engine.Finish{Status: engine.StatusSucceeded}
	}
	wave := b.ask("one", nil, nil)
	b.drain()
	b.wants(wave, engine.StatusFailed, "a succeeded, alarm succeeded, b failed, c succeeded, d skipped (upstream), tell succeeded")
	if reason := b.waves[wave].Reason; !strings.HasPrefix(reason, "task b: exit 64") {
		t.Errorf("the wave says %q", reason)
	}
	if reason := b.runs[engine.TaskRunID(wave, "d")].Reason; reason != "b failed" {
		t.Errorf("d says %q", reason)
	}
	broken = false
	ended := b.waves[wave]
	if took := ended.Took(b.now); took != ended.FinishedAt.Sub(ended.StartedAt) || len(ended.Rests) > 0 {
		t.Errorf("the wave took %s, and rested %v", took, ended.Rests)
	}
	b.now = b.now.Add(8 * time.Hour) // until work begins
	b.command(engine.CommandResumeWave, wave, "", engine.StatusInvalid)
	b.restart()
	b.drain()
	b.wants(wave, engine.StatusSucceeded, "a succeeded, alarm succeeded, b succeeded, c succeeded, d succeeded, tell succeeded")
	done := b.waves[wave]
	if took := done.Took(b.now); len(done.Rests) != 1 || !done.Rests[0].From.Equal(ended.FinishedAt) || took > time.Hour {
		t.Errorf("the wave that rested for 8 hours took %s; it rested %v", took, done.Rests)
	}
	for task, attempts := range map[string]int{"a": 1, "b": 2, "c": 1, "d": 1} {
		if got := b.runs[engine.TaskRunID(wave, task)].Attempt; got != attempts {
			t.Errorf("%s was tried %d times, want %d", task, got, attempts)
		}
	}
}

func TestDeadLetterOfATaskIsRemovedWhenItsWaveResumes(t *testing.T) {
	b := newWaveBench(t,
		"kind: DAG\nname: etl\ndefaults: {binary: work, retry: {max_attempts: 2, delay: 1s, max_delay: 1s}}\ntasks: {a: {}}\n")
	b.ends = func(*engine.Task) engine.Finish {
		code := 1
		return engine.Finish{Status: engine.StatusFailed, ExitCode: &code}
	}
	wave := b.ask("one", nil, nil)
	b.until(10 * time.Second)
	b.wants(wave, engine.StatusFailed, "a dead")
	if !b.letters[engine.TaskRunID(wave, "a")] {
		t.Fatalf("there is no dead letter: %v", b.letters)
	}
	b.ends = nil
	b.command(engine.CommandResumeWave, wave, "", engine.StatusInvalid)
	b.drain()
	b.wants(wave, engine.StatusSucceeded, "a succeeded")
	if len(b.letters) > 0 {
		t.Errorf("the letters %v stay", b.letters)
	}
}

func TestMarkedTaskLetsTheWaveContinue(t *testing.T) {
	b := newWaveBench(t, diamond)
	b.ends = func(task *engine.Task) engine.Finish {
		if task.Task == "b" {
			return engine.Finish{Status: engine.StatusFailed, NoRetry: true, Error: "no"}
		}
		return engine.Finish{Status: engine.StatusSucceeded}
	}
	wave := b.ask("one", nil, nil)
	b.drain()
	b.wants(wave, engine.StatusFailed, "a succeeded, b failed, c succeeded, d skipped (upstream)")
	b.command(engine.CommandMarkTask, wave, "b", engine.StatusSucceeded)
	b.drain()
	b.wants(wave, engine.StatusSucceeded, "a succeeded, b succeeded, c succeeded, d succeeded")
	if run := b.runs[engine.TaskRunID(wave, "b")]; run.Attempt != 1 || run.Reason != "marked as succeeded by ann" {
		t.Errorf("b: %+v", run)
	}
}

func TestOutputsReachTheTasksThatNeedThem(t *testing.T) {
	b := newWaveBench(t, `
kind: DAG
name: etl
defaults: {binary: work}
args: {day: monday}
tasks:
  join: {}
  shops: {needs: [join], for_each: outputs.join.shops, max_parallel: 2, args: ["--of", "${outputs.join.rows}"]}
  report: {needs: [shops], when: "len(outputs.shops.total) == 3 && args.day == 'friday'", env: {TOTALS: "${outputs.shops.total}"}}
  never: {needs: [join], when: "outputs.join.rows > 100"}
`)
	b.ends = func(task *engine.Task) engine.Finish {
		switch task.Task {
		case "join":
			return engine.Finish{Status: engine.StatusSucceeded, Outputs: json.RawMessage(`{"rows": 7, "shops": ["x", "y", {"z": 1}]}`)}
		case "shops":
			return engine.Finish{Status: engine.StatusSucceeded, Outputs: json.RawMessage(`{"total": ` + string(rune('1'+*task.Item)) + `}`)}
		}
		return engine.Finish{Status: engine.StatusSucceeded}
	}
	wave := b.ask("one", nil, map[string]string{"day": "friday"})
	b.execute(0)
	if len(b.queue) != 2 {
		t.Fatalf("%d items go at once, want 2", len(b.queue))
	}
	item := b.queue[1]
	if string(item.ItemValue) != `"y"` || *item.Item != 1 || item.Args[1] != "7" || len(item.Inputs) != 1 || item.Lock != item.Run {
		t.Errorf("an item gets %+v", item)
	}
	b.execute(0)
	b.restart()
	for len(b.queue) > 1 || b.queue[0].Task == "shops" {
		b.execute(0)
	}
	report := b.queue[0]
	if report.Task != "report" || report.Env["TOTALS"] != "[1,2,3]" || len(report.Inputs) != 3 ||
		string(report.Inputs[2].Outputs) != `{"total": 3}` || report.Inputs[2].Items != 3 {
		t.Errorf("the report gets %+v", report)
	}
	b.drain()
	b.wants(wave, engine.StatusSucceeded,
		"join succeeded, never skipped, report succeeded, shops[0] succeeded, shops[1] succeeded, shops[2] succeeded")
}

func TestBadExpressionsFailTheirTaskWithWords(t *testing.T) {
	for name, try := range map[string]struct{ task, outputs, words string }{
		"no list":        {"for_each: outputs.a.n", `{"n": 3}`, "must be a list"},
		"an empty list":  {"for_each: outputs.a.n", `{"n": []}`, "its list is empty"},
		"nothing":        {"for_each: outputs.a.n", ``, "for_each"},
		"division":       {"when: 1 / outputs.a.n > 1", `{"n": 0}`, "zero"},
		"no condition":   {"when: outputs.a.n", `{"n": 3}`, "must be true or false"},
		"what is no map": {"when: outputs.a.n", `[1]`, "JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks:\n  a: {}\n"+
				"  b: {needs: [a], "+strings.Replace(try.task, ": ", ": '", 1)+"'}\n")
			b.ends = func(task *engine.Task) engine.Finish {
				return engine.Finish{Status: engine.StatusSucceeded, Outputs: json.RawMessage(try.outputs)}
			}
			wave := b.ask("one", nil, nil)
			b.drain()
			run := b.runs[engine.TaskRunID(wave, "b")]
			if !strings.Contains(run.Reason, try.words) || run.Attempt != 0 {
				t.Errorf("b is %s and says %q", run.Status, run.Reason)
			}
			want := engine.StatusFailed
			if name == "an empty list" {
				want = engine.StatusSucceeded
			}
			if b.waves[wave].Status != want {
				t.Errorf("the wave is %s", b.waves[wave].Status)
			}
		})
	}
}

const twoRhythms = `
kind: DAG
name: etl
defaults: {binary: work}
tasks:
  orders: {schedule: "*/30 * * * *"}
  rates: {schedule: "*/10 * * * *"}
  join: {needs: [orders, rates]}
`

func TestRootsOfDifferentRhythmShareAnEpoch(t *testing.T) {
	b := newWaveBench(t, twoRhythms)
	b.until(95 * time.Minute)
	for epoch, slots := range map[int64]string{1: "00:10 00:30", 2: "00:40 01:00", 3: "01:10 01:30"} {
		wave := engine.WaveID(waveUID, epoch)
		b.wants(wave, engine.StatusSucceeded, "join succeeded, orders succeeded, rates succeeded")
		got := b.runs[engine.TaskRunID(wave, "rates")].Slot.Format("15:04") + " " + b.runs[engine.TaskRunID(wave, "orders")].Slot.Format("15:04")
		if got != slots {
			t.Errorf("epoch %d has the slots %s, want %s", epoch, got, slots)
		}
	}
	want := "00:20..00:30 2 skipped(overlap), 00:50..01:00 2 skipped(overlap), 01:20..01:30 2 skipped(overlap)"
	if got := b.ledger("rates"); got != want {
		t.Errorf("the ledger of rates says\n     %s\nwant %s", got, want)
	}
	if got := b.ledger("orders"); got != "" {
		t.Errorf("the ledger of orders says %s", got)
	}
}

func TestSlotDuringAWaveWaitsWhereTheDefinitionSaysSo(t *testing.T) {
	b := newWaveBench(t, strings.Replace(strings.Replace(diamond, "name: etl", "name: etl\noverlap: queue", 1), "a: {}",
		"a: {schedule: '* * * * *'}", 1))
	for b.now.Before(b.dag.CreatedAt.Add(4*time.Minute + 10*time.Second)) { // nothing is executed
		b.now = b.now.Add(time.Second)
		b.step(core.Tick{})
	}
	if got := b.ledger("a"); got != "00:03..00:04 2 skipped(overlap)" {
		t.Errorf("the ledger says %s", got)
	}
	b.restart()
	b.drain()
	for epoch, slot := range map[int64]string{1: "00:01", 2: "00:02"} {
		wave := engine.WaveID(waveUID, epoch)
		b.wants(wave, engine.StatusSucceeded, "a succeeded, b succeeded, c succeeded, d succeeded")
		if got := b.runs[engine.TaskRunID(wave, "a")].Slot.Format("15:04"); got != slot {
			t.Errorf("epoch %d has slot %s, want %s", epoch, got, slot)
		}
	}
	if len(b.waves) != 2 {
		t.Errorf("there are %d waves", len(b.waves))
	}
}

func TestEditDuringAWaveConcernsTheNextOne(t *testing.T) {
	b := newWaveBench(t, strings.Replace(diamond, "a: {}", "a: {schedule: '* * * * *'}", 1))
	for b.now.Before(b.dag.CreatedAt.Add(61 * time.Second)) {
		b.now = b.now.Add(time.Second)
		b.step(core.Tick{})
	}
	b.define("kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks:\n  a: {schedule: '* * * * *'}\n  other: {needs: [a]}\n")
	b.restart()
	b.until(130 * time.Second)
	b.wants("dag-w1", engine.StatusSucceeded, "a succeeded, b succeeded, c succeeded, d succeeded")
	b.wants("dag-w2", engine.StatusSucceeded, "a succeeded, other succeeded")
	if a, z := b.waves["dag-w1"].Generation, b.waves["dag-w2"].Generation; a != 1 || z != 2 {
		t.Errorf("generations %d and %d", a, z)
	}
}

func TestCancelledWaveEnds(t *testing.T) {
	b := newWaveBench(t, strings.Replace(diamond, "d: {needs: [b, c]}", "d: {needs: [b, c]}\n  clean: {needs: [d], trigger: always}", 1))
	wave := b.ask("one", nil, nil)
	waiting := b.ask("two", nil, nil)
	b.execute(0)
	b.begin(0, false) // b runs
	b.ends = func(task *engine.Task) engine.Finish {
		if task.Task == "b" {
			return engine.Finish{Status: engine.StatusCancelled}
		}
		return engine.Finish{Status: engine.StatusSucceeded}
	}
	running := b.runs[engine.TaskRunID(wave, "b")]
	b.command(engine.CommandCancelWave, waiting, "", engine.StatusInvalid)
	b.command(engine.CommandCancelWave, wave, "", engine.StatusInvalid)
	b.end(&engine.Task{Run: running.ID, Attempt: 1, Task: "b", Shard: running.Shard})
	b.drain()
	b.wants(wave, engine.StatusCancelled, "a succeeded, b cancelled, c cancelled, clean succeeded, d cancelled")
	b.wants(waiting, engine.StatusCancelled, "")
}

func TestPausedDAGStartsNothing(t *testing.T) {
	b := newWaveBench(t, strings.Replace(diamond, "a: {}", "a: {schedule: '* * * * *'}", 1))
	b.pause(true)
	b.until(5 * time.Minute)
	if len(b.waves) != 0 {
		t.Fatalf("there are waves: %v", b.waves)
	}
	b.pause(false)
	b.until(6*time.Minute + 5*time.Second)
	if got := b.ledger("a"); got != "00:01..00:04 4 skipped(paused)" {
		t.Errorf("the ledger says %s", got)
	}
	b.wants("dag-w1", engine.StatusSucceeded, "a succeeded, b succeeded, c succeeded, d succeeded")
	b.wants("dag-w2", engine.StatusSucceeded, "a succeeded, b succeeded, c succeeded, d succeeded")
}

func TestMaxParallelBoundsAWave(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: wide\nmax_parallel: 3\ndefaults: {binary: work}\npayload: [1, 2, 3, 4, 5, 6, 7, 8]\ntasks:\n"+
		"  each: {for_each: payload}\n  beside: {}\n  after: {needs: [each, beside]}\n")
	wave := b.ask("one", nil, nil)
	for len(b.queue) > 0 {
		if len(b.queue) > 3 {
			t.Fatalf("%d run at once", len(b.queue))
		}
		b.execute(len(b.queue) - 1)
	}
	if b.waves[wave].Status != engine.StatusSucceeded || len(b.started) != 10 {
		t.Errorf("%s after %d runs", b.waves[wave].Status, len(b.started))
	}
}

func TestOutageIsCaughtUpOneWaveAfterTheOther(t *testing.T) {
	b := newWaveBench(t, strings.Replace(strings.Replace(diamond, "name: etl", "name: etl\ncatch_up: {policy: all, window: 1h}", 1),
		"a: {}", "a: {schedule: '*/10 * * * *'}", 1))
	b.now = b.now.Add(45 * time.Minute)
	b.restart()
	for b.now.Before(b.dag.CreatedAt.Add(45*time.Minute + 5*time.Second)) {
		b.drain()
		b.now = b.now.Add(time.Second)
		b.step(core.Tick{})
	}
	for epoch, slot := range map[int64]string{1: "00:10", 2: "00:20", 3: "00:30", 4: "00:40"} {
		wave := engine.WaveID(waveUID, epoch)
		b.wants(wave, engine.StatusSucceeded, "a succeeded, b succeeded, c succeeded, d succeeded")
		if got := b.runs[engine.TaskRunID(wave, "a")].Slot.Format("15:04"); got != slot {
			t.Errorf("epoch %d has slot %s, want %s", epoch, got, slot)
		}
	}
	if got := b.ledger("a"); got != "" {
		t.Errorf("the ledger says %s", got)
	}
}

// The engine dies at any place of what it writes after an outage: a slot that it noted as missed is not caught up by the
// next one.
func TestSlotMissedByADAGStaysMissedAfterACrash(t *testing.T) {
	for torn := range 12 {
		b := newWaveBench(t, "kind: DAG\nname: etl\ntasks: {a: {binary: work, schedule: '* * * * *'}}\n")
		b.torn = torn
		b.now = b.dag.CreatedAt.Add(10*time.Minute + 30*time.Second)
		b.step(core.Tick{})
		b.drain()
		noted := 0
		for _, s := range b.slots {
			noted += int(s.Count)
			for _, run := range b.runs {
				if !run.Slot.Before(s.From) && !run.Slot.After(s.To) {
					t.Errorf("the engine died after %d writes: slot %s was missed, and run %s is %s", torn, run.Slot, run.ID, run.Status)
				}
			}
		}
		if noted+len(b.runs) != 10 {
			t.Errorf("the engine died after %d writes: of 10 slots %d were noted, and %d became runs", torn, noted, len(b.runs))
		}
	}
}

func TestRootThatHadNoSlotClaimsNone(t *testing.T) {
	b := newWaveBench(t, `
kind: DAG
name: etl
defaults: {binary: work}
tasks:
  fast: {schedule: "* * * * *"}
  slow: {schedule: "0 12 * * *"}
  join: {needs: [fast, slow]}
`)
	b.until(61 * time.Second)
	wave := engine.WaveID(waveUID, 1)
	b.wants(wave, engine.StatusRunning, "fast succeeded")
	b.command(engine.CommandCancelWave, wave, "", engine.StatusInvalid)
	b.wants(wave, engine.StatusCancelled, "fast succeeded, join cancelled, slow cancelled")
	fast, slow := b.runs[engine.TaskRunID(wave, "fast")].Slot, b.runs[engine.TaskRunID(wave, "slow")].Slot
	if fast.IsZero() || !slow.IsZero() {
		t.Errorf("fast has the slot %s, and slow, which has had none, %s", fast, slow)
	}
}
