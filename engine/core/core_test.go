package core_test

import (
	"fmt"
	"runtime/debug"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
)

// TestManyWaitingRunsEndAtOnce lets thousands of runs go that fail at once: one ends after the other, not one inside
// the other.
func TestManyWaitingRunsEndAtOnce(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "overlap=queue", "binary=other"})
	const many = 5000
	blocker := engine.Run{
		ID: b.runID("blocker"), Revision: 1, Namespace: "default", JobUID: benchUID, Job: "job", Shard: benchShard, Trigger: engine.TriggerManual,
		Status: engine.StatusRunning, Generation: 1, Attempt: 1, CreatedAt: b.now, Digest: "d",
		Attempts: []engine.Attempt{{N: 1, Status: engine.StatusRunning, ClaimedAt: b.now}},
	}
	runs := []engine.Run{blocker}
	for i := range many {
		runs = append(runs, engine.Run{
			ID: b.runID(fmt.Sprintf("waiting %d", i)), Revision: 1, Namespace: "default", JobUID: benchUID, Job: "job", Shard: benchShard,
			Trigger: engine.TriggerManual, Status: engine.StatusScheduled, CreatedAt: b.now.Add(time.Millisecond),
		})
	}
	b.write(&engine.Batch{Runs: runs})
	b.do([]string{"restart", "1s"})
	b.hold = true
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20))
	b.do([]string{"finished", "blocker/1", "0"})
	ready := b.core.Ready()
	failed := 0
	for i := range ready.Batch.Runs {
		if ready.Batch.Runs[i].Status == engine.StatusFailed {
			failed++
		}
	}
	if failed != many {
		t.Errorf("%d of %d runs have failed", failed, many)
	}
}

// TestLongOutageIsHandledInPieces keeps a job with a slot each second, after a day, from holding up all others.
func TestLongOutageIsHandledInPieces(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "every=1s", "catchup=last"})
	b.now = b.now.Add(24 * time.Hour)
	b.core = core.NewCore(b.config, b.now, b.random())
	b.hold = true
	b.load()
	steps := 0
	for ; steps < 10; steps++ {
		at, planned := b.core.Next()
		if !planned || at.After(b.now.Add(time.Second)) {
			break
		}
		b.now = at
		b.core.Step(b.now, core.Tick{})
	}
	if steps == 0 {
		t.Error("a day of slots was looked at in one step")
	}
	b.hold = false
	b.settle()
	var count int64
	ranges, _, err := b.store.Slots(t.Context(), engine.SlotFilter{JobUID: benchUID, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range ranges {
		count += r.Count
	}
	runs, _, err := b.store.Runs(t.Context(), engine.RunFilter{JobUID: benchUID, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := b.store.TasksByID(t.Context(), []string{benchUID})
	if err != nil || len(tasks) != 1 {
		t.Fatal(tasks, err)
	}
	if slots := int64(tasks[0].Slot.Sub(benchStart)/time.Second) - 1; count+int64(len(runs)) != slots {
		t.Errorf("%d slots noted and %d runs, want %d in all", count, len(runs), slots)
	}
	if len(ranges) > 3 {
		t.Errorf("%d ranges for one outage", len(ranges))
	}
}

// TestClockGoesBack: what waits for a time to pass does not wait longer; a slot that has passed does not come again.
func TestClockGoesBack(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "every=5s", "overlap=queue", "tries=3"})
	for _, line := range [][]string{{"at", "4.75s"}, {"at", "5s"}, {"started", "5s/1"}, {"at", "9.75s"}} {
		b.do(line)
	}
	b.now = b.now.Add(-time.Hour)
	b.out = nil
	b.step(core.ClockWentBack{By: time.Hour})
	b.now = b.now.Add(b.config.LockTTL + b.config.Margin)
	b.step(core.Tick{})
	if len(b.out) != 1 || b.out[0] != "now inspect 5s/1" {
		t.Errorf("after the lock's life: %q, want it inspected", b.out)
	}
	b.out = nil
	b.do([]string{"finished", "5s/1", "1"})
	b.now = b.now.Add(2 * time.Second)
	b.step(core.Tick{})
	if want := []string{"run 5s retrying #1", "run 5s queued #2", "then publish 5s/2"}; fmt.Sprint(b.out) != fmt.Sprint(want) {
		t.Errorf("the retry: %q, want %q", b.out, want)
	}
	b.out = nil
	b.now = b.now.Add(30 * time.Minute)
	b.step(core.Tick{})
	for _, line := range b.out {
		if line != "now inspect 5s/2" {
			t.Errorf("before the wall clock is where it was: %q", b.out)
		}
	}
}

// TestBinaries: a run takes what its binary means when it is prepared; a binary that no job in memory uses is
// forgotten, and one that was deleted and pushed again is not taken for an old one.
func TestBinaries(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "every=5s"})
	b.core.Step(b.now, core.BinariesChanged{Binaries: []engine.Binary{{Namespace: "default", Name: "unused", Revision: 1}}})
	if keys := b.core.BinaryKeys(); len(keys) != 1 || keys[0] != "default/tool" {
		t.Errorf("binaries in memory: %v", keys)
	}
	digest := func(slot string) string {
		runs, err := b.store.RunsByID(t.Context(), []string{b.runID(slot)})
		if err != nil || len(runs) != 1 {
			t.Fatal(runs, err)
		}
		return runs[0].Digest
	}
	tool := engine.Binary{Namespace: "default", Name: "tool", Revision: 5, UpdatedAt: benchStart.Add(time.Second),
		Versions: []engine.BinaryVersion{{N: 2, SHA256: "d2"}}}
	b.step(core.BinariesChanged{Binaries: []engine.Binary{tool}})
	b.do([]string{"at", "4.75s"})
	if got := digest("5s"); got != "d2" {
		t.Errorf("the run took %s", got)
	}
	again := engine.Binary{Namespace: "default", Name: "tool", Revision: 1, UpdatedAt: benchStart.Add(6 * time.Second),
		Versions: []engine.BinaryVersion{{N: 1, SHA256: "d9"}}}
	b.step(core.BinariesChanged{Binaries: []engine.Binary{again}})
	for _, line := range [][]string{{"at", "5s"}, {"started", "5s/1"}, {"finished", "5s/1", "0"}, {"at", "9.75s"}} {
		b.do(line)
	}
	if got := digest("10s"); got != "d9" {
		t.Errorf("the run after took %s", got)
	}
}

// TestHeldJobIsNotForgotten: a job that is being read stays in memory, so that what was read of it before it was
// worked on is seen to be out of date.
func TestHeldJobIsNotForgotten(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define"})
	b.do([]string{"run", "a"})
	b.do([]string{"started", "a/1"})
	b.core.Hold(benchUID)
	old, err := b.loader().Jobs(t.Context(), []string{benchUID})
	if err != nil || len(old.Jobs[0].Runs) != 1 {
		t.Fatal(old, err)
	}
	b.do([]string{"finished", "a/1", "0"})
	if b.core.Stats().Jobs != 1 {
		t.Fatal("the job was forgotten while it was held")
	}
	b.step(old)
	if stats := b.core.Stats(); stats.Runs != 0 {
		t.Errorf("a run came back that had ended: %+v", stats)
	}
	b.core.LetGo(benchUID)
	if b.core.Stats().Jobs != 0 {
		t.Error("the job is not held, and it is still there")
	}
}

// TestJobIsForgottenOnlyOnceAllOfItIsDurable: a read of the store meanwhile would bring back what is being removed.
func TestJobIsForgottenOnlyOnceAllOfItIsDurable(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "at=5s"})
	b.do([]string{"at", "4.75s"})
	b.hold = true
	b.do([]string{"cancel", "5s"})
	if b.core.Stats().Jobs != 1 {
		t.Error("the job was forgotten, and its prepared run is not removed")
	}
	ready := b.core.Ready()
	b.step(core.Tick{})
	if b.core.Stats().Jobs != 1 {
		t.Error("the job was forgotten while its prepared run is being removed")
	}
	b.core.Committed(ready)
	if b.core.Stats().Jobs != 0 {
		t.Error("the job is idle, and it is still there")
	}
}

// An attempt whose commit is under way waits for the store: it is in no queue yet.
func TestAnAttemptThatIsBeingWrittenIsNotAskedFor(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "at=5s"})
	b.hold = true
	b.do([]string{"at", "5s"})
	b.core.Ready() // and it is not durable for long
	for _, effect := range b.core.Step(b.now.Add(b.config.Requeue), core.Tick{}) {
		t.Errorf("%T before it is published", effect)
	}
}

// A backfill looks runs up in the store, which has one whose removal is decided and not durable.
func TestASlotWhoseRunIsBeingRemovedIsBackfilled(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "every=60s", "catchup=none"})
	b.do([]string{"at", "59.75s"})
	b.do([]string{"restart", "100s"})
	b.hold = true
	b.do([]string{"revoked", "60s/1", "yes"})
	b.do([]string{"backfill", "30s", "61s"})
	b.hold = false
	b.settle()
	if run, err := b.store.Run(t.Context(), b.runID("60s")); err != nil || run.Trigger != engine.TriggerBackfill {
		t.Errorf("%+v, %v", run, err)
	}
}
