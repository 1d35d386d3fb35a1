package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
)

// The slots of a root that are all caught up come one wave after the other, and wait for their turn until then.

const everyTenMinutes = "02 00:10 succeeded, 02 00:20 succeeded, 02 00:30 succeeded, 02 00:40 succeeded, 02 00:50 succeeded, 02 01:00 succeeded"

// redefine saves corner's DAG with another schedule of its root, and another catch-up policy.
func (b *waveBench) redefine(schedule, policy string) {
	b.t.Helper()
	b.define(fmt.Sprintf("kind: DAG\nname: etl\ndefaults: {binary: work}\noverlap: queue\ncatch_up: %s\n"+
		"tasks: {a: {schedule: '%s'}, b: {needs: [a]}}\n", catchUp(policy, "10h"), schedule))
}

func TestAllSlotsOfAPauseOfARootRun(t *testing.T) {
	for _, overlap := range []string{"skip", "queue"} {
		t.Run(overlap, func(t *testing.T) {
			b := corner(t, "all", "10h", overlap)
			b.until(12 * time.Minute)
			b.pause(true)
			b.jump(65 * time.Minute)
			b.now = b.now.Add(time.Second)
			b.pause(false)
			b.drain()
			b.until(66 * time.Minute)
			b.is(everyTenMinutes, "")
		})
	}
}

// The engine hears of the resumption some time after it.
func TestAllSlotsOfAPausedRootRunWhenTheResumptionArrivesLate(t *testing.T) {
	b := corner(t, "all", "10h", "skip")
	b.until(12 * time.Minute)
	b.pause(true)
	b.now = b.dag.CreatedAt.Add(45 * time.Minute)
	b.quietly(func() { b.pause(false) })
	b.away(65 * time.Minute)
	b.drain()
	b.until(66 * time.Minute)
	b.is(everyTenMinutes, "")
}

func TestRootsSlotsThatWaitForTheirTurnOutliveARestart(t *testing.T) {
	b := corner(t, "all", "2h", "queue")
	b.until(12 * time.Minute)
	b.away(65 * time.Minute)
	b.restart()
	b.restart()
	b.drain()
	b.until(66 * time.Minute)
	b.is(everyTenMinutes, "")
}

func TestRootsSlotsThatWaitForTheirTurnOutliveAPause(t *testing.T) {
	b := corner(t, "all", "10h", "queue")
	b.until(12 * time.Minute)
	b.away(55 * time.Minute)
	b.pause(true)
	if waiting := b.tasks[engine.RootID(waveUID, "a")].Waiting; len(waiting) == 0 {
		t.Fatal("no slot waits for its turn")
	}
	b.drain()
	if waiting := b.tasks[engine.RootID(waveUID, "a")].Waiting; len(waiting) == 0 {
		t.Error("all slots have had their turn in the pause")
	}
	b.jump(65 * time.Minute)
	b.pause(false)
	b.drain()
	b.until(66 * time.Minute)
	b.is(everyTenMinutes, "")
}

func TestRootsSlotsThatWaitForTheirTurnOutliveAnEdit(t *testing.T) {
	b := corner(t, "all", "10h", "queue")
	b.until(12 * time.Minute)
	b.away(65 * time.Minute)
	b.redefine("0 */2 * * *", "all")
	b.drain()
	b.until(66 * time.Minute)
	b.is(everyTenMinutes, "")
}

// An edit that asks for another policy ends the catch-up: what has not had its turn is recorded.
func TestAnEditOfThePolicyEndsTheCatchUp(t *testing.T) {
	b := corner(t, "all", "10h", "queue")
	b.until(12 * time.Minute)
	b.away(65 * time.Minute)
	b.redefine("0 */2 * * *", "last")
	b.drain()
	b.until(66 * time.Minute)
	b.is("02 00:10 succeeded, 02 00:20 succeeded, 02 00:30 succeeded", "02 00:40..02 01:00 3 skipped(edited)")
}

// What has waited since a schedule before the last is recorded, too: each range of the ledger is of one schedule.
func TestTheEndOfACatchUpThatHasOutlivedAnEditIsRecorded(t *testing.T) {
	b := corner(t, "all", "10h", "queue")
	b.until(12 * time.Minute)
	b.away(55 * time.Minute)
	b.redefine("0 * * * *", "all")
	b.jump(2*time.Hour + 5*time.Minute)
	b.redefine("0 */2 * * *", "last")
	b.drain()
	b.until(2*time.Hour + 6*time.Minute)
	b.is("02 00:10 succeeded, 02 00:20 succeeded, 02 00:30 succeeded",
		"02 00:40..02 00:40 1 skipped(edited), 02 00:50..02 00:50 1 skipped(edited), 02 01:00..02 02:00 2 skipped(edited)")
}

// A slot that comes while others wait comes after them; so many wait, and no more.
func TestASlotThatComesInACatchUpWaitsBehindTheOthers(t *testing.T) {
	b := corner(t, "all", "10h", "skip")
	b.until(12 * time.Minute)
	b.away(65 * time.Minute)
	for at := 65; at < 92; at++ { // no executor runs anything
		b.now = b.dag.CreatedAt.Add(time.Duration(at) * time.Minute)
		b.step(core.Tick{})
	}
	b.drain()
	b.until(93 * time.Minute)
	b.is(everyTenMinutes+", 02 01:10 succeeded, 02 01:20 succeeded, 02 01:30 succeeded", "")
}

// It does so from its slot on: an edit just before that takes it away.
func TestASlotThatAnEditTookAwayDoesNotWaitBehindTheOthers(t *testing.T) {
	b := corner(t, "all", "10h", "queue")
	b.until(12 * time.Minute)
	b.away(65 * time.Minute)
	b.now = b.dag.CreatedAt.Add(70*time.Minute - 100*time.Millisecond)
	b.step(core.Tick{})
	b.redefine("0 */2 * * *", "all")
	b.drain()
	b.until(75 * time.Minute)
	b.is(everyTenMinutes, "")
}

func TestSlotsThatWaitForTheirTurnAreBounded(t *testing.T) {
	b := corner(t, "all", "1000h", "queue")
	b.until(12 * time.Minute)
	b.away(200 * time.Hour)
	task := engine.RootID(waveUID, "a")
	full := len(b.tasks[task].Waiting)
	for minute := range 25 {
		b.now = b.dag.CreatedAt.Add(200*time.Hour + time.Duration(minute)*time.Minute)
		b.step(core.Tick{})
	}
	most := core.DefaultConfig().MaxCatchUp
	if got := len(b.tasks[task].Waiting); full < most-2 || got != most {
		t.Errorf("%d slots wait, then %d: want %d at most", full, got, most)
	}
	queueFull := 0
	for _, s := range b.slots {
		if s.Reason == engine.ReasonQueueFull {
			queueFull += int(s.Count)
		}
	}
	if queueFull == 0 {
		t.Error("nothing is recorded of the slots that came after that")
	}
}

// Earlier versions wrote no PausedUntil: what is stopped is paused.
func TestAPauseThatAnEarlierVersionWroteStaysInEffect(t *testing.T) {
	b := corner(t, "none", "", "queue")
	b.until(12 * time.Minute)
	b.pause(true)
	for id, task := range b.tasks {
		task.PausedUntil = time.Time{}
		b.tasks[id] = task
	}
	b.away(30*time.Minute + time.Second)
	b.pause(false)
	b.drain()
	b.is("02 00:10 succeeded", "02 00:20..02 00:30 2 skipped(paused)")
}

// The clock goes back behind a pause, and an edit plans slots of that time: the schedule is not paused in it now.
func TestAPauseThatTheClockWentBackBehindIsOver(t *testing.T) {
	b := corner(t, "none", "", "queue")
	b.until(12 * time.Minute)
	b.pause(true)
	b.jump(13 * time.Minute)
	b.pause(false)
	b.now = b.dag.CreatedAt.Add(11 * time.Minute)
	b.step(core.ClockWentBack{By: 2 * time.Minute})
	b.redefine("30 * * * * *", "none")
	b.drain()
	b.until(12*time.Minute + 40*time.Second)
	b.is("02 00:10 succeeded, 02 00:11 succeeded, 02 00:12 succeeded", "")
}
