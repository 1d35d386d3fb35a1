package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// A former owner goes on with what it has in memory until it hears that it is none any more: another bench over the same
// store. These tests hold that a slot ends once all the same.

// former is an engine that has read the job as it is now, and writes nothing before land.
func (b *bench) former() *bench {
	former := *b
	former.core, former.out, former.hold = engine.NewCore(b.config, b.now, b.random()), nil, true
	former.load()
	return &former
}

// land writes what the engine has decided, part by part, until one is refused.
func (b *bench) land() (refused bool) {
	b.t.Helper()
	for _, part := range b.core.Ready().Batch.Parts() {
		conflicts, err := b.store.Commit(b.t.Context(), part)
		if err != nil {
			b.t.Fatal(err)
		}
		if len(conflicts) > 0 {
			return true
		}
	}
	return false
}

// says plays a line of a transcript and wants just these to come of it.
func (b *bench) says(line string, want ...string) {
	b.t.Helper()
	b.out = nil
	b.do(strings.Fields(line))
	if !slices.Equal(b.out, want) {
		b.t.Errorf("%s: got\n  %s\nand wanted\n  %s", line, strings.Join(b.out, "\n  "), strings.Join(want, "\n  "))
	}
}

// ledger wants just these ranges in the store, newest first.
func (b *bench) ledger(want ...string) {
	b.t.Helper()
	ranges, _, err := b.store.Slots(b.t.Context(), engine.SlotFilter{JobUID: benchUID, Limit: 100})
	if err != nil {
		b.t.Fatal(err)
	}
	var got []string
	for i := range ranges {
		got = append(got, offset(ranges[i].From)+"-"+offset(ranges[i].To)+" "+string(ranges[i].Reason))
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("the ledger says %q, and not %q", got, want)
	}
}

func TestAFormerOwnerDoesNotTellOfASlotThatRan(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "every=60s", "catchup=none"})
	former := b.former()
	b.do([]string{"at", "59.75s"})
	b.do([]string{"at", "60s"})
	former.now = b.seconds("200s")
	former.step(engine.Tick{})
	if !former.land() {
		t.Error("it was not refused")
	}
	b.ledger()
}

// The run of a slot is made before the scheduled task passes the slot over. Where the task was refused, the slot has been
// told otherwise, and the run is taken back by whoever finds it.
func TestTheRunOfASlotThatWasToldOtherwiseIsTakenBack(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "every=60s", "catchup=none"})
	former := b.former()
	former.now = b.seconds("61s") // late by no more than the grace: it goes at once
	former.step(engine.Tick{})
	b.now = b.seconds("100s")
	b.step(engine.Tick{}) // too late
	if !former.land() {
		t.Error("it was not refused")
	}
	b.ledger("60s-60s outage")
	b.out = nil
	b.load()
	if want := []string{"then revoke 60s/1"}; !slices.Equal(b.out, want) {
		t.Errorf("got %q, and wanted %q", b.out, want)
	}
	b.says("revoked 60s/1 yes", "drop 60s if unchanged")
	b.ledger("60s-60s outage")
}

// The same, and it is found while the note of the slot is on its way.
func TestTheRunOfASlotThatIsAboutToBeToldIsTakenBack(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "every=60s", "overlap=skip"})
	former := b.former()
	former.now = b.seconds("61s")
	former.step(engine.Tick{})
	b.do([]string{"run", "a"})
	b.hold = true
	b.do([]string{"at", "60s"}) // skipped
	ready := b.core.Ready()
	if _, err := b.store.Commit(t.Context(), ready.Batch.Parts()[0]); err != nil { // the ledger comes later
		t.Fatal(err)
	}
	former.land()
	b.do([]string{"finished", "a/1", "0"}) // nothing is in its way any more
	b.load()
	if _, err := b.store.Commit(t.Context(), ready.Batch.Parts()[1]); err != nil {
		t.Fatal(err)
	}
	b.core.Committed(ready)
	b.out = nil
	b.do([]string{"commit"})
	if want := []string{"run a succeeded #1", "next slot 120s", "then revoke 60s/1"}; !slices.Equal(b.out, want) {
		t.Errorf("got %q, and wanted %q", b.out, want)
	}
}

// What is told of the slots of two runs is told by the writes of both: where one is refused, the other stays true.
func TestTheSlotsOfTwoRunsAreToldApart(t *testing.T) {
	b := newBench(t)
	b.config.Lead = 2500 * time.Millisecond // two are prepared at a time
	b.core = engine.NewCore(b.config, b.now, b.random())
	b.do([]string{"define", "every=1s", "overlap=allow"})
	var told []engine.SlotRange
	b.hold = true
	b.do([]string{"pause"})
	for _, write := range b.core.Ready().Batch.Runs {
		if write.Run.GivenUp != nil {
			told = append(told, *write.Run.GivenUp)
		}
	}
	if len(told) != 2 || told[0].Count != 1 || told[1].Count != 1 {
		t.Errorf("it is told %+v", told)
	}
}

// A slot that lies ahead of the scheduled task is told while the job is paused, and the job is resumed before that is durable.
func TestASlotAheadOfTheScheduledTaskIsToldOnce(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "every=5s", "catchup=none", "overlap=allow"})
	former := b.former()
	b.do([]string{"at", "2s"})
	b.do([]string{"pause"})
	former.now = b.seconds("11s") // 5s and 10s go at once
	former.step(engine.Tick{})
	former.land()
	b.do([]string{"restart", "14s"})
	b.hold = true
	b.do([]string{"revoked", "10s/1", "yes"})
	b.core.Ready()
	b.do([]string{"resume"})
	if slots := b.core.Ready().Batch.Slots; len(slots) > 0 {
		t.Errorf("it is told again: %+v", slots)
	}
}

// A pause that the former owner had not heard of: the run is taken back, its slot told, and that not again when the job is
// resumed.
func TestTheRunOfASlotAfterAPauseIsTakenBack(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "every=60s", "catchup=all", "overlap=queue"})
	former := b.former()
	b.do([]string{"at", "30s"})
	b.do([]string{"pause"})
	former.now = b.seconds("130s") // it catches 60s up
	former.step(engine.Tick{})
	if !former.land() {
		t.Error("it was not refused")
	}
	b.says("restart 140s", "then revoke 60s/1", "then revoke 120s/1")
	b.says("revoked 60s/1 yes", "ledger 60s-60s ×1 skipped paused", "drop 60s if unchanged")
	b.says("revoked 120s/1 yes", "ledger 60s-120s ×2 skipped paused", "drop 120s if unchanged")
	b.do([]string{"at", "200s"})
	b.do([]string{"define", "every=60s", "catchup=none", "overlap=queue"})
	b.says("resume", "next slot 240s", "handled 4")
	b.ledger("180s-180s paused", "60s-120s paused")
}

// The job is deleted, and the slot is told by a range of several.
func TestTheRunOfADeletedJobsSlotThatWasToldIsTakenBack(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "every=5s", "catchup=none", "overlap=queue"})
	former := b.former()
	b.now = b.seconds("58s")
	b.step(engine.Tick{})
	b.ledger("5s-45s outage")
	former.now = b.seconds("16s") // 10s goes, and 15s waits for it
	former.step(engine.Tick{})
	if !former.land() {
		t.Error("it was not refused")
	}
	b.do([]string{"quietly", "delete"})
	b.do([]string{"restart", "61s"})
	for _, line := range []string{"revoked 10s/1 yes", "revoked 15s/1 yes"} {
		b.do(strings.Fields(line))
	}
	b.ledger("5s-45s outage")
	runs, err := b.store.RunsByID(t.Context(), []string{b.runID("10s"), b.runID("15s")})
	if err != nil || len(runs) > 0 {
		t.Errorf("there still are %+v, %v", runs, err)
	}
}

// An edit has replaced the schedule by which the slot was told, in a range of several.
func TestTheRunOfASlotOfAnEarlierFormThatWasToldIsTakenBack(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "every=5s", "catchup=none", "overlap=queue"})
	former := b.former()
	b.now = b.seconds("58s")
	b.step(engine.Tick{})
	former.now = b.seconds("16s") // 10s goes, and 15s waits for it
	former.step(engine.Tick{})
	if !former.land() {
		t.Error("it was not refused")
	}
	b.do([]string{"quietly", "define", "every=7s"})
	b.do([]string{"restart", "59s"})
	for _, line := range []string{"revoked 10s/1 yes", "revoked 15s/1 yes"} {
		b.do(strings.Fields(line))
	}
	b.ledger("5s-45s outage")
	runs, err := b.store.RunsByID(t.Context(), []string{b.runID("10s"), b.runID("15s")})
	if err != nil || len(runs) > 0 {
		t.Errorf("there still are %+v, %v", runs, err)
	}
}

// A fixed delay passes over slots that are excluded, each as long after the one before: the ledger has those, and nothing
// in between.
func TestASlotBetweenThoseOfAFixedDelayIsTold(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "after=2s", "exclude=0s-60s"})
	b.do([]string{"at", "3s"})
	b.do([]string{"quietly", "define", "every=5s"})
	for _, at := range []string{"4s", "6s"} { // the engine has not heard of the edit
		b.do([]string{"at", at})
	}
	b.load()
	b.ledger("5s-5s edited", "2s-6s blackout")
}

// An engine hears of an edit late, goes on as before until then, and crashes. Meanwhile the job is edited once more: slots
// of the schedule that is there now have passed by that of two edits ago.
func TestASlotThatAFormTwoEditsAgoHadDoesNotComeAgain(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "every=1s", "exclude=0s-60s"})
	b.do([]string{"at", "2.5s"})
	b.do([]string{"quietly", "define", "every=20s"})
	b.do([]string{"at", "4s"})
	b.load()
	b.ledger("1s-4s blackout")
	b.now = b.seconds("3.5s") // it was written while the one before was acted upon
	b.do([]string{"quietly", "define", "every=2s"})
	b.do([]string{"restart", "4.2s"})
	b.ledger("1s-4s blackout")
	if runs, err := b.store.RunsByID(t.Context(), []string{b.runID("4s")}); err != nil || len(runs) > 0 {
		t.Errorf("there is %+v, %v", runs, err)
	}
}

// TestWhatAnotherOwnerMayPublishIsTakenBackBeforeItIsGivenUp: one that has prepared the same run publishes it at its slot,
// before its write is refused.
func TestWhatAnotherOwnerMayPublishIsTakenBackBeforeItIsGivenUp(t *testing.T) {
	b := newBench(t)
	b.config.Writer = 1
	b.core = engine.NewCore(b.config, b.now, b.random())
	b.do([]string{"define", "every=60s"})
	b.do([]string{"at", "59.75s"})
	b.out = nil
	b.do([]string{"pause"})
	if !slices.Contains(b.out, "then revoke 60s/1") {
		t.Errorf("got %q, and the attempt is not taken back", b.out)
	}
	if stored, err := b.store.Run(t.Context(), b.runID("60s")); err != nil || stored.Status != engine.StatusScheduled {
		t.Errorf("before it is: %v, %v", stored.Status, err)
	}
	b.ledger()
	b.do([]string{"revoked", "60s/1", "yes"})
	if _, err := b.store.Run(t.Context(), b.runID("60s")); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("after it was: %v", err)
	}
	b.ledger("60s-60s paused")
}

// TestASlotThatIsInTheLedgerIsNotToldAgain: another owner has told of it, and has not moved the scheduled task.
func TestASlotThatIsInTheLedgerIsNotToldAgain(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "every=60s", "catchup=none"})
	slot := b.seconds("60s")
	told := engine.SlotRange{
		ID: engine.SlotRangeID(benchUID, slot), JobUID: benchUID, Namespace: "default", Job: "job", From: slot, To: slot, Count: 1,
		Outcome: engine.OutcomeSkipped, Reason: engine.ReasonOverlap,
	}
	if conflicts, err := b.store.Commit(t.Context(), &engine.Batch{Slots: []engine.SlotRange{told}}); err != nil || len(conflicts) > 0 {
		t.Fatal(conflicts, err)
	}
	b.do([]string{"restart", "200s"})
	b.ledger("120s-180s outage", "60s-60s overlap")
}

// TestARangeOfTheScheduleBeforeIsNoneOfThePresentOne: it is as long, and begins and ends at slots that both have.
func TestARangeOfTheScheduleBeforeIsNoneOfThePresentOne(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "schedule=*/5_*_*_*_*", "catchup=none"})
	b.do([]string{"at", "8m"})
	b.do([]string{"quietly", "define", "schedule=5,12,15_*_*_*_*", "catchup=none"})
	b.do([]string{"at", "17m"}) // it has not heard of the edit
	b.ledger("300s-900s outage")
	b.load()
	b.ledger("720s-720s edited", "300s-900s outage")
}
