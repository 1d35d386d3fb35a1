package core_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
)

// The hard corners of overlap, catch-up and misfires, of the roots of a DAG; those of jobs are the transcripts named
// corner-*.txt. Each says which waves there are, by the slots of their root, and what the ledger says of the others.

// corner is a DAG with one CRON root every ten minutes and a task after it.
func corner(t *testing.T, policy, window, overlap string) *waveBench {
	return newWaveBench(t, fmt.Sprintf(`
kind: DAG
name: etl
defaults: {binary: work}
overlap: %s
catch_up: %s
tasks:
  a: {schedule: "*/10 * * * *"}
  b: {needs: [a]}
`, overlap, catchUp(policy, window)))
}

// catchUp is a policy with its window, which none has not.
func catchUp(policy, window string) string {
	if policy == "none" {
		return "{policy: none}"
	}
	return fmt.Sprintf("{policy: %s, window: %s}", policy, window)
}

// jump lets the clock stand at a time after the DAG was made; the engine sees nothing of what is in between.
func (b *waveBench) jump(at time.Duration) {
	b.now = b.dag.CreatedAt.Add(at)
	b.step(core.Tick{})
}

// away is jump, with the engine being restarted at the end of it.
func (b *waveBench) away(at time.Duration) {
	b.now = b.dag.CreatedAt.Add(at)
	b.restart()
}

// waveList returns the waves: the slots of root a, and how they stand, in the order of their epochs.
func (b *waveBench) waveList() string {
	waves := slices.Collect(maps.Values(b.waves))
	slices.SortFunc(waves, func(x, y engine.Wave) int { return int(x.Epoch - y.Epoch) })
	var all []string
	for _, w := range waves {
		all = append(all, b.runs[engine.TaskRunID(w.ID, "a")].Slot.Format("02 15:04")+" "+w.Status.String())
	}
	return strings.Join(all, ", ")
}

// days is ledger with the days.
func (b *waveBench) days(root string) string {
	var all []string
	for _, id := range slices.Sorted(maps.Keys(b.slots)) {
		if s := b.slots[id]; s.JobUID == engine.RootID(waveUID, root) {
			all = append(all, fmt.Sprintf("%s..%s %d %s(%s)", s.From.Format("02 15:04"), s.To.Format("02 15:04"), s.Count, s.Outcome, s.Reason))
		}
	}
	return strings.Join(all, ", ")
}

func (b *waveBench) is(waves, ledger string) {
	b.t.Helper()
	if got := b.waveList(); got != waves {
		b.t.Errorf("the waves are\n     %s\nwant %s", got, waves)
	}
	if got := b.days("a"); got != ledger {
		b.t.Errorf("the ledger says\n     %s\nwant %s", got, ledger)
	}
}

func TestRootIsResumedAfterAWeek(t *testing.T) {
	for policy, want := range map[string][2]string{
		"none": {"02 00:10 succeeded", "02 00:20..09 00:10 1008 skipped(paused)"},
		"last": {"02 00:10 succeeded, 09 00:10 succeeded", "02 00:20..09 00:00 1007 skipped(paused)"},
		"all": {
			"02 00:10 succeeded, 08 23:50 succeeded, 09 00:00 succeeded, 09 00:10 succeeded",
			"02 00:20..08 23:40 1005 skipped(paused)",
		},
	} {
		t.Run(policy, func(t *testing.T) {
			b := corner(t, policy, "30m", "queue")
			b.until(12 * time.Minute)
			b.pause(true)
			b.jump(7*24*time.Hour + 15*time.Minute)
			b.is("02 00:10 succeeded", "")
			b.pause(false)
			b.drain()
			b.until(7*24*time.Hour + 15*time.Minute + 5*time.Second)
			b.is(want[0], want[1])
		})
	}
}

func TestScheduleOfARootIsEditedInAnOutage(t *testing.T) {
	for policy, want := range map[string][2]string{
		"none": {"02 00:10 succeeded", "02 00:20..02 00:40 3 missed(outage), 02 00:50..02 01:15 6 missed(outage)"},
		"last": {
			"02 00:10 succeeded, 02 00:40 succeeded, 02 01:15 succeeded",
			"02 00:20..02 00:30 2 missed(outage), 02 00:50..02 01:10 5 missed(outage)",
		},
	} {
		t.Run(policy, func(t *testing.T) {
			b := corner(t, policy, "10h", "queue")
			b.until(12 * time.Minute)
			b.now = b.dag.CreatedAt.Add(45 * time.Minute)
			b.quietly(func() {
				b.define(fmt.Sprintf("kind: DAG\nname: etl\ndefaults: {binary: work}\noverlap: queue\ncatch_up: %s\n"+
					"tasks: {a: {schedule: '*/5 * * * *'}, b: {needs: [a]}}\n", catchUp(policy, "10h")))
			})
			b.away(78 * time.Minute)
			b.drain()
			b.until(78*time.Minute + 5*time.Second)
			b.is(want[0], want[1])
		})
	}
}

// No engine sees the edit, which adds a root, before the DAG is resumed: it was paused for the slots of that root, too.
func TestRootThatIsAddedToAPausedDAGFiresNoSlotOfThePause(t *testing.T) {
	b := corner(t, "none", "10h", "queue")
	b.until(12 * time.Minute)
	b.pause(true)
	b.now = b.dag.CreatedAt.Add(30 * time.Minute)
	b.quietly(func() {
		b.define("kind: DAG\nname: etl\ndefaults: {binary: work}\noverlap: queue\ncatch_up: {policy: none}\n" +
			"tasks: {a: {schedule: '*/10 * * * *'}, new: {schedule: '*/5 * * * *'}}\n")
	})
	b.now = b.dag.CreatedAt.Add(45*time.Minute + 2*time.Second)
	b.quietly(func() { b.pause(false) })
	b.away(45*time.Minute + 3*time.Second)
	b.drain()
	if want := "02 00:35..02 00:45 3 skipped(paused)"; b.days("new") != want {
		t.Errorf("the ledger says\n     %s\nwant %s", b.days("new"), want)
	}
	b.is("02 00:10 succeeded", "02 00:20..02 00:30 2 skipped(paused), 02 00:40..02 00:40 1 skipped(paused)")
}

// The same where the DAG was resumed and paused again before the engine saw any of it: nothing says how long it was not paused.
func TestRootThatIsAddedToADAGThatIsPausedAgainFiresNoSlotOfThePause(t *testing.T) {
	b := corner(t, "none", "10h", "queue")
	b.until(12 * time.Minute)
	b.pause(true)
	b.now = b.dag.CreatedAt.Add(44*time.Minute + 50*time.Second)
	b.quietly(func() {
		b.define("kind: DAG\nname: etl\ndefaults: {binary: work}\noverlap: queue\ncatch_up: {policy: none}\n" +
			"tasks: {a: {schedule: '*/10 * * * *'}, new: {schedule: '*/5 * * * *'}}\n")
	})
	b.now = b.dag.CreatedAt.Add(45*time.Minute + 1*time.Second)
	b.quietly(func() { b.pause(false) })
	b.now = b.dag.CreatedAt.Add(45*time.Minute + 2*time.Second)
	b.quietly(func() { b.pause(true) })
	b.away(45*time.Minute + 3*time.Second)
	b.pause(false)
	b.drain()
	if want := "02 00:45..02 00:45 1 skipped(paused)"; b.days("new") != want {
		t.Errorf("the ledger says\n     %s\nwant %s", b.days("new"), want)
	}
}

// quietly does what users do while no engine is there.
func (b *waveBench) quietly(do func()) {
	running := b.core
	b.core = core.NewCore(core.DefaultConfig(), b.now, nil)
	runs, waves, tasks, slots := maps.Clone(b.runs), maps.Clone(b.waves), maps.Clone(b.tasks), maps.Clone(b.slots)
	do()
	b.core, b.runs, b.waves, b.tasks, b.slots = running, runs, waves, tasks, slots
	b.dag.Pending = true
	b.queue = nil
}

func TestClockJumpsOverSlotsOfARoot(t *testing.T) {
	b := corner(t, "last", "10h", "skip")
	b.until(12 * time.Minute)
	b.jump(63 * time.Minute) // forward
	b.drain()
	b.is("02 00:10 succeeded, 02 01:00 succeeded", "02 00:20..02 00:50 4 missed(outage)")
	b.now = b.dag.CreatedAt.Add(35 * time.Minute) // back over them
	b.step(core.ClockWentBack{By: 28 * time.Minute})
	b.until(69 * time.Minute)
	b.is("02 00:10 succeeded, 02 01:00 succeeded", "02 00:20..02 00:50 4 missed(outage)")
	b.until(71 * time.Minute)
	b.is("02 00:10 succeeded, 02 01:00 succeeded, 02 01:10 succeeded", "02 00:20..02 00:50 4 missed(outage)")
}

func TestWaveLastsLongerThanTenIntervals(t *testing.T) {
	for overlap, want := range map[string][2]string{
		"skip":  {"02 00:10 succeeded, 02 02:10 running", "02 00:20..02 02:00 11 skipped(overlap)"},
		"queue": {"02 00:10 succeeded, 02 00:20 succeeded, 02 02:10 running", "02 00:30..02 02:00 10 skipped(overlap)"},
	} {
		t.Run(overlap, func(t *testing.T) {
			b := corner(t, "last", "10h", overlap)
			b.until(10*time.Minute - time.Second)
			for minute := 10; minute <= 125; minute++ { // a runs all the time
				b.jump(time.Duration(minute) * time.Minute)
			}
			b.drain()
			b.jump(130 * time.Minute)
			b.is(want[0], want[1])
		})
	}
}

func TestDAGIsDeletedWhileItsRootWaitsInTheQueue(t *testing.T) {
	b := corner(t, "last", "10h", "skip")
	b.jump(10 * time.Minute)
	if len(b.queue) != 1 {
		t.Fatal("nothing waits")
	}
	b.dag.Deleted = true
	b.save()
	b.drain()
	b.is("02 00:10 cancelled", "")
	if stats := b.core.Stats(); stats.DAGs != 0 || stats.Runs != 0 || b.dag.Pending {
		t.Errorf("the core still holds %+v, pending %t", stats, b.dag.Pending)
	}
}

func TestDAGIsPausedBetweenPrepareAndFire(t *testing.T) {
	b := corner(t, "last", "10h", "skip")
	b.jump(10*time.Minute - 200*time.Millisecond)
	if len(b.runs) != 1 {
		t.Fatalf("prepared are %d", len(b.runs))
	}
	b.pause(true)
	b.jump(15 * time.Minute)
	b.is("", "02 00:10..02 00:10 1 skipped(paused)")
	b.pause(false)
	b.until(21 * time.Minute)
	b.is("02 00:20 succeeded", "02 00:10..02 00:10 1 skipped(paused)")
}

// A dead task ends its wave, and nothing else: the next slot opens the next wave.
func TestDeadTaskBlocksNoLaterWave(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work, retry: {max_attempts: 2, delay: 1s, max_delay: 1s}}\n"+
		"tasks: {a: {schedule: '*/10 * * * *'}, b: {needs: [a]}}\n")
	fails := true
	b.ends = func(task *engine.Task) engine.Finish {
		if task.Task == "b" && fails {
			code := 1
			return engine.Finish{Status: engine.StatusFailed, ExitCode: &code}
		}
		return engine.Finish{Status: engine.StatusSucceeded}
	}
	b.until(11 * time.Minute)
	first := engine.WaveID(waveUID, 1)
	if len(b.letters) != 1 || !b.letters[engine.TaskRunID(first, "b")] {
		t.Fatalf("the dead letters are %v", b.letters)
	}
	fails = false
	b.until(21 * time.Minute)
	b.is("02 00:10 failed, 02 00:20 succeeded", "")
	if len(b.letters) != 1 {
		t.Errorf("the dead letters are %v", b.letters)
	}
}

// The DAG is resumed and paused again as well, and no engine sees any of it: what is between the edit and the last pause counts as
// paused, too.
func TestRootAddedToAPausedDAGFiresNothingWhileItStaysPaused(t *testing.T) {
	b := corner(t, "none", "10h", "queue")
	b.until(12 * time.Minute)
	b.pause(true)
	b.now = b.dag.CreatedAt.Add(30 * time.Minute)
	b.quietly(func() {
		b.define("kind: DAG\nname: etl\ndefaults: {binary: work}\noverlap: queue\ncatch_up: {policy: none}\n" +
			"tasks: {a: {schedule: '*/10 * * * *'}, new: {schedule: '*/5 * * * *'}}\n")
	})
	for _, at := range []int{45, 46} {
		b.now = b.dag.CreatedAt.Add(time.Duration(at) * time.Minute)
		b.quietly(func() { b.pause(at == 46) })
	}
	b.away(46*time.Minute + 3*time.Second)
	b.drain()
	b.now = b.dag.CreatedAt.Add(52 * time.Minute)
	b.pause(false)
	b.drain()
	if want := "02 00:35..02 00:50 4 skipped(paused)"; b.days("new") != want {
		t.Errorf("the ledger says\n     %s\nwant %s", b.days("new"), want)
	}
}

// The same where the previous schedule has run out in the pause.
func TestAScheduleThatRunsOutInAPauseStaysPaused(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ncatch_up: {policy: none}\nactive: {until: 2026-03-02T00:25:00Z}\n"+
		"tasks: {a: {schedule: '*/10 * * * *'}}\n")
	b.until(12 * time.Minute)
	b.pause(true)
	b.now = b.dag.CreatedAt.Add(30 * time.Minute)
	b.quietly(func() {
		b.define("kind: DAG\nname: etl\ndefaults: {binary: work}\ncatch_up: {policy: none}\ntasks: {a: {schedule: '*/5 * * * *'}}\n")
	})
	for _, at := range []int{45, 46} {
		b.now = b.dag.CreatedAt.Add(time.Duration(at) * time.Minute)
		b.quietly(func() { b.pause(at == 46) })
	}
	b.away(46*time.Minute + 3*time.Second)
	b.drain()
	b.now = b.dag.CreatedAt.Add(52 * time.Minute)
	b.pause(false)
	b.drain()
	b.is("02 00:10 succeeded", "02 00:20..02 00:20 1 skipped(paused), 02 00:35..02 00:50 4 skipped(paused)")
}

// The clock by which a DAG is resumed is ahead of the engine's: what passed in the pause is caught up, and fires late.
func TestSlotsOfAPauseAreCaughtUpWhereTheClockOfTheResumptionIsAhead(t *testing.T) {
	b := corner(t, "all", "10h", "queue")
	b.until(12 * time.Minute)
	b.pause(true)
	b.jump(30*time.Minute + time.Second)
	b.dag.Paused, b.dag.PausedAt = false, b.now.Add(2*time.Second)
	b.save()
	b.drain()
	for _, run := range b.runs {
		if run.Task == "a" && run.Slot.After(b.dag.CreatedAt.Add(12*time.Minute)) && run.Trigger != engine.TriggerCatchUp {
			t.Errorf("the slot of %s fired as %s", run.Slot.Format("15:04"), run.Trigger)
		}
	}
	b.is("02 00:10 succeeded, 02 00:20 succeeded, 02 00:30 succeeded", "")
}
