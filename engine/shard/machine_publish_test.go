package shard_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// prepared has a run of the slot of 10 s on its way into the store.
func prepared(t *testing.T) (*rig, shard.Commit) { return preparedWith(t, shard.DefaultConfig()) }

func preparedWith(t *testing.T, config shard.Config) (*rig, shard.Commit) {
	r := beginWith(t, config)
	r.give(shard.Woken{Wake: engine.Wake{Shard: 1, Kind: engine.WakeJob, Key: "job"}})
	load := take[shard.Load](r)
	r.give(shard.Loaded{Epoch: load.Epoch, UIDs: load.UIDs, Jobs: engine.JobsLoaded{Jobs: []engine.JobSnapshot{job()}}})
	r.wait(9900 * time.Millisecond)
	return r, take[shard.Commit](r)
}

func published(r *rig) []string {
	var runs []string
	for _, action := range r.actions {
		if perform, ok := action.(shard.Perform); ok {
			if publish, ok := perform.Effect.(engine.Publish); ok {
				runs = append(runs, publish.Task.Run)
			}
		}
	}
	return runs
}

func TestATaskIsPublishedAtItsSlotWhenItsRunIsDurable(t *testing.T) {
	r, commit := prepared(t)
	r.give(shard.Committed{Epoch: commit.Epoch})
	if len(published(r)) > 0 {
		t.Fatal("published before its slot")
	}
	r.wait(100 * time.Millisecond)
	if got := published(r); len(got) != 1 || got[0] != slotRun(10) {
		t.Fatalf("at its slot %v were published", got)
	}
	take[shard.Commit](r) // that it is queued is written behind it
}

func TestATaskIsNotPublishedWhileItsRunIsNotDurable(t *testing.T) {
	r, commit := prepared(t)
	r.wait(200 * time.Millisecond) // its slot has come, and the commit is under way
	if len(published(r)) > 0 {
		t.Fatal("published without a durable run")
	}
	r.give(shard.Committed{Epoch: commit.Epoch})
	if len(published(r)) > 0 {
		t.Fatal("published before it is durable that the run is queued")
	}
	r.give(shard.Committed{Epoch: take[shard.Commit](r).Epoch})
	if got := published(r); len(got) != 1 {
		t.Fatalf("%v were published", got)
	}
}

func TestARefusedInsertionIsReadAndNotPublished(t *testing.T) {
	r, commit := prepared(t)
	r.wait(200 * time.Millisecond)
	r.give(shard.Committed{Epoch: commit.Epoch, Conflicts: []engine.Conflict{{Kind: "run", ID: slotRun(10)}}})
	read := take[shard.ReadRefused](r)
	if !slices.Equal(read.IDs, []string{slotRun(10)}) {
		t.Fatalf("read %v", read.IDs)
	}
	r.give(shard.RefusedRead{Epoch: read.Epoch, Asked: 1, Failed: true})
	r.wait(shard.DefaultConfig().RetryMin)
	if again := take[shard.Commit](r); again.Batch != commit.Batch {
		t.Fatal("another batch is written")
	}
	r.give(shard.Committed{Epoch: commit.Epoch, Conflicts: []engine.Conflict{{Kind: "run", ID: slotRun(10)}}})
	stored := engine.Run{
		ID: slotRun(10), Revision: 4, JobUID: "job", Job: "job", Shard: 1, Generation: 1, Trigger: engine.TriggerBackfill,
		Slot: start.Add(10 * time.Second), Status: engine.StatusSucceeded, Attempt: 1,
	}
	r.give(shard.RefusedRead{Epoch: take[shard.ReadRefused](r).Epoch, Asked: 1, Runs: []engine.Run{stored}})
	for tries := 0; tries < 5; tries++ {
		if !slices.ContainsFunc(r.actions, func(a shard.Action) bool { _, is := a.(shard.Commit); return is }) {
			break
		}
		r.give(shard.Committed{Epoch: take[shard.Commit](r).Epoch})
	}
	if got := published(r); len(got) > 0 {
		t.Errorf("%v were published although they had ended", got)
	}
}

// Another owner made the run and published it, and this one has the news: with what it believed of the run the news is lost.
func TestNewsOfARefusedInsertionIsNotAcknowledged(t *testing.T) {
	r, commit := prepared(t)
	r.give(shard.Results{Epoch: r.epoch, Results: []engine.Result{finished(slotRun(10))}, Receipt: "receipt"})
	r.give(shard.Committed{Epoch: commit.Epoch, Conflicts: []engine.Conflict{{Kind: "run", ID: slotRun(10)}}})
	stored := engine.Run{
		ID: slotRun(10), Revision: 2, JobUID: "job", Job: "job", Shard: 1, Generation: 1, Trigger: engine.TriggerSchedule,
		Slot: start.Add(10 * time.Second), Status: engine.StatusQueued, Attempt: 1, Attempts: []engine.Attempt{{N: 1, Status: engine.StatusQueued}},
	}
	r.give(shard.RefusedRead{Epoch: take[shard.ReadRefused](r).Epoch, Asked: 1, Runs: []engine.Run{stored}})
	take[shard.Reset](r)
	not[shard.Acknowledge](r)
}

// What is read while a write is under way may have one part of it and not the others.
func TestNothingIsReadWhileAWriteIsUnderWay(t *testing.T) {
	r, commit := prepared(t)
	r.give(shard.Owned{Shards: []int{1}})
	not[shard.Recover](r)
	r.give(shard.Owned{Shards: []int{1, 2}})
	r.wait(time.Second)
	not[shard.Recover](r)
	r.give(shard.Committed{Epoch: commit.Epoch})
	recovery := take[shard.Recover](r)
	r.give(shard.Owned{Shards: []int{1}})
	if again := take[shard.Recover](r); again.Epoch == recovery.Epoch {
		t.Error("what is read does not tell what it is for")
	}
}

// queued has a run whose slot has come before it was durable: that it is queued is on its way into the store.
func queued(t *testing.T, writer int64) (*rig, shard.Commit) {
	config := shard.DefaultConfig()
	config.Core.Writer = writer
	r, commit := preparedWith(t, config)
	r.wait(200 * time.Millisecond)
	r.give(shard.Committed{Epoch: commit.Epoch})
	return r, take[shard.Commit](r)
}

// An engine that stood still while a write was under way may have lost its shards, and somebody else may have seen the run
// through: a write finds that out.
func TestAnEngineThatStoodStillWritesBeforeItPublishes(t *testing.T) {
	r, commit := queued(t, 1)
	r.now = r.now.Add(6 * time.Second)
	r.give(shard.Committed{Epoch: commit.Epoch})
	if got := published(r); len(got) > 0 {
		t.Fatalf("%v were published", got)
	}
	again := take[shard.Commit](r)
	if runs := again.Batch.Runs; len(runs) != 1 || runs[0].Run.ID != slotRun(10) {
		t.Fatalf("%+v is written", runs)
	}
	r.give(shard.Committed{Epoch: again.Epoch})
	if got := published(r); len(got) != 1 {
		t.Errorf("%v were published", got)
	}
}

// An engine that keeps its leases, or needs none, publishes what it has written, however long the store took: it would write
// the same again and again where the store is always that slow.
func TestASlowWriteIsPublishedAndNotRepeated(t *testing.T) {
	for writer, waits := range map[int64]time.Duration{0: time.Minute, 1: time.Second} {
		r, commit := queued(t, writer)
		for waited := time.Duration(0); waited < time.Minute; waited += waits {
			r.wait(waits)
		}
		r.give(shard.Committed{Epoch: commit.Epoch})
		if got := published(r); len(got) != 1 || got[0] != slotRun(10) {
			t.Errorf("with writer %d %v were published", writer, got)
		}
	}
}

// A slot that has just passed becomes a queued run at once: its insertion and its publication are of one batch.
func TestARefusedInsertionIsNotPublishedByItsOwnBatch(t *testing.T) {
	r := begin(t)
	r.now = start.Add(12 * time.Second)
	r.give(shard.Woken{Wake: engine.Wake{Shard: 1, Kind: engine.WakeJob, Key: "job"}})
	load := take[shard.Load](r)
	r.give(shard.Loaded{Epoch: load.Epoch, UIDs: load.UIDs, Jobs: engine.JobsLoaded{Jobs: []engine.JobSnapshot{job()}}})
	r.give(shard.Committed{Epoch: take[shard.Commit](r).Epoch, Conflicts: []engine.Conflict{{Kind: "run", ID: slotRun(10)}}})
	stored := engine.Run{
		ID: slotRun(10), Revision: 4, JobUID: "job", Job: "job", Shard: 1, Generation: 1, Trigger: engine.TriggerBackfill,
		Slot: start.Add(10 * time.Second), Status: engine.StatusSucceeded, Attempt: 1,
	}
	r.give(shard.RefusedRead{Epoch: take[shard.ReadRefused](r).Epoch, Asked: 1, Runs: []engine.Run{stored}})
	if got := published(r); len(got) > 0 {
		t.Errorf("%v were published although they had ended", got)
	}
}

func TestARunThatIsNotThereAnyMoreResets(t *testing.T) {
	r, commit := prepared(t)
	r.give(shard.Committed{Epoch: commit.Epoch, Conflicts: []engine.Conflict{{Kind: "run", ID: slotRun(10)}}})
	r.give(shard.RefusedRead{Epoch: take[shard.ReadRefused](r).Epoch, Asked: 1})
	take[shard.Reset](r)
}

func TestAConflictResets(t *testing.T) {
	r := working(t)
	r.give(shard.Results{Epoch: r.epoch, Results: []engine.Result{finished(slotRun(10))}, Receipt: "receipt"})
	commit := take[shard.Commit](r)
	r.give(shard.Committed{Epoch: commit.Epoch, Conflicts: []engine.Conflict{{Kind: "run", ID: slotRun(10)}}})
	reset := take[shard.Reset](r)
	not[shard.Acknowledge](r)
	if r.machine.Running() || r.machine.Stats().Jobs != 0 {
		t.Error("it goes on with what it knew")
	}
	// What was under way before means nothing any more.
	r.give(shard.Committed{Epoch: commit.Epoch})
	r.give(shard.Results{Epoch: r.epoch, Results: []engine.Result{finished(slotRun(10))}, Receipt: "late"})
	r.give(shard.Swept{Epoch: r.epoch, Pending: []string{"job"}})
	r.empty()
	r.wait(shard.DefaultConfig().RetryMax)
	recovery := take[shard.Recover](r)
	if recovery.Epoch != reset.Epoch || recovery.Epoch == r.epoch {
		t.Errorf("recovers under epoch %d, reset to %d, before %d", recovery.Epoch, reset.Epoch, r.epoch)
	}
	r.give(shard.Recovered{Epoch: recovery.Epoch, Failed: true})
	not[shard.Listen](r)
	r.wait(shard.DefaultConfig().RetryMax)
	r.give(shard.Recovered{Epoch: take[shard.Recover](r).Epoch})
	take[shard.Listen](r)
}

// A queue that has let a task go tells so: nobody may look after its run for minutes otherwise.
func TestATaskThatHasGoneFromTheQueueIsPublishedAgain(t *testing.T) {
	r, commit := prepared(t)
	r.give(shard.Committed{Epoch: commit.Epoch})
	r.wait(100 * time.Millisecond)
	r.give(shard.Committed{Epoch: take[shard.Commit](r).Epoch})
	if got := published(r); len(got) != 1 {
		t.Fatalf("%v were published", got)
	}
	settle := func() {
		for slices.ContainsFunc(r.actions, func(a shard.Action) bool { _, commit := a.(shard.Commit); return commit }) {
			r.give(shard.Committed{Epoch: take[shard.Commit](r).Epoch})
		}
	}
	r.wait(5 * time.Minute) // the looks of the core are far between by now
	settle()
	for _, attempt := range []int{7, 1} { // of the first nothing is known
		r.actions = nil
		r.give(shard.Woken{Wake: engine.Wake{Shard: 1, Kind: engine.WakeTask, Key: slotRun(10), Attempt: attempt}})
		settle()
		revokes := slices.ContainsFunc(r.actions, func(action shard.Action) bool {
			perform, ok := action.(shard.Perform)
			if !ok {
				return false
			}
			revoke, ok := perform.Effect.(engine.Revoke)
			return ok && revoke.Run == slotRun(10) && revoke.Attempt == 1
		})
		if revokes != (attempt == 1) {
			t.Errorf("attempt %d is taken back: %v", attempt, revokes)
		}
	}
	r.give(shard.Answered{Epoch: r.epoch, Event: engine.AttemptRevoked{Run: slotRun(10), Attempt: 1, Revoked: true}})
	settle()
	if got := published(r); len(got) != 1 || got[0] != slotRun(10) {
		t.Errorf("%v were published again", got)
	}
}
