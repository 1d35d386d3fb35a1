package shard_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// A fence is of one shard: nothing that its decision led to is done, and the others notice nothing.
func TestAFencedCommitPublishesNothingAndLeavesItsShardOnly(t *testing.T) {
	other := home + 1
	r := beginWith(t, shard.DefaultConfig(), home, other)
	r.know(job())
	r.know(jobOf(uidIn(other, 1)[0]))
	r.wait(9900 * time.Millisecond)
	commit := take[shard.Commit](r)
	if len(commit.Commits) != 2 {
		t.Fatalf("%d shards are written together", len(commit.Commits))
	}
	lost, stays := r.seats[home], r.seats[other]
	r.results(lost, "lost", finished("job-gone"))
	r.results(stays, "stays", finished(uidIn(other, 1)[0]+"-gone"))
	r.committed(commit, fmt.Errorf("memory: %w", engine.ErrFenced)) // the first, and not the second
	if leave := take[shard.Leave](r); leave.Shard != home || leave.Why == "" {
		t.Errorf("%+v", leave)
	}
	if got := take[shard.Acknowledge](r).Receipt; got != "stays" {
		t.Errorf("acknowledged %v", got)
	}
	r.wait(100 * time.Millisecond)
	if got := published(r); len(got) != 1 || engine.ShardOf(engine.RunJob(got[0])) != other {
		t.Errorf("%v were published", got)
	}
	r.settle()
	not[shard.Acknowledge](r)
	r.wait(shard.DefaultConfig().RetryMax - 100*time.Millisecond)
	recovery := take[shard.Recover](r)
	if len(recovery.Seats) != 1 || recovery.Seats[0].Shard != home || recovery.Seats[0] == lost {
		t.Errorf("recovers %v after %v", recovery.Seats, lost)
	}
	r.recovered(recovery)
	if poll := take[shard.Poll](r); len(poll.Seats) != 1 || poll.Seats[0] != r.seats[home] {
		t.Errorf("polls %v", poll.Seats)
	}
	if r.results(stays, "again", finished("job-gone")); take[shard.Acknowledge](r).Receipt != "again" {
		t.Error("the other shard has another seat")
	}
}

// A machine that was suspended may have lost its shards without knowing: what it would publish waits for a commit that was begun
// afterwards, and is gone with a fence.
func TestWhatAMachineThatStoodStillPublishesWaitsForALaterCommit(t *testing.T) {
	stood := func() *rig { // the slot has come meanwhile, and its run is prepared
		r, commit := prepared(t)
		r.committed(commit)
		r.stand(5 * time.Second)
		if got := published(r); len(got) > 0 {
			t.Fatalf("%v were published at once", got)
		}
		return r
	}
	r := stood()
	r.committed(take[shard.Commit](r))
	if got := published(r); len(got) != 1 || got[0] != slotRun(10) {
		t.Errorf("after a commit %v were published", got)
	}
	r = stood()
	r.committed(take[shard.Commit](r), errUnknown)
	if got := published(r); len(got) > 0 {
		t.Errorf("after a commit of which nothing is known %v were published", got)
	}
	r.wait(50 * time.Millisecond)
	r.committed(take[shard.Commit](r), engine.ErrFenced)
	r.wait(shard.DefaultConfig().RetryMax)
	r.recovered(take[shard.Recover](r))
	r.settle()
	if got := published(r); len(got) > 0 {
		t.Errorf("after a fence %v were published", got)
	}
}

func TestACommitThatWasBegunBeforeAStandstillProvesNothing(t *testing.T) {
	r := begin(t)
	r.wait(12 * time.Second)
	r.know(job()) // whose slot has just passed: its run is made and queued in one decision
	commit := take[shard.Commit](r)
	r.stand(5 * time.Second) // while it is under way
	r.committed(commit)
	if got := published(r); len(got) > 0 {
		t.Fatalf("%v were published", got)
	}
	r.committed(take[shard.Commit](r))
	if got := published(r); len(got) != 1 || got[0] != slotRun(10) {
		t.Errorf("after a commit that was begun later %v were published", got)
	}
}

// An effect that needs no writing waits for a commit all the same: an empty one.
func TestAQuestionAfterAStandstillWaitsForAnEmptyCommit(t *testing.T) {
	r := working(t)
	r.stand(19 * time.Second) // by now the running attempt is looked at
	not[shard.Perform](r)
	commit := take[shard.Commit](r)
	if !commit.Commits[0].Batch.Empty() {
		t.Errorf("it writes %+v", commit.Commits[0].Batch)
	}
	r.committed(commit)
	if inspect, is := take[shard.Perform](r).Effect.(core.Inspect); !is || inspect.Run != slotRun(10) {
		t.Errorf("%+v is done", inspect)
	}
}

// A shard that comes back is another seat: late answers are ignored.
func TestLateAnswersOfASeatThatWasLeftChangeNothing(t *testing.T) {
	r, commit := prepared(t)
	old := r.seats[home]
	r.give(shard.Woken{Wake: engine.Wake{Shard: home, Kind: engine.WakeJob, Key: "job"}})
	load := take[shard.Load](r)
	r.actions = nil
	r.give(shard.Swept{Commands: asks("a")})
	commands := take[shard.LoadCommands](r)
	r.give(shard.Owned{})
	if leave := take[shard.Leave](r); leave.Shard != home || leave.Why != "" {
		t.Errorf("%+v", leave)
	}
	r.give(shard.Owned{Shards: []int{home}})
	again := take[shard.Recover](r)
	if again.Seats[0] == old {
		t.Fatal("it has the seat that it left")
	}
	late := func() {
		r.t.Helper()
		r.actions = nil
		r.give(shard.Recovered{Seats: []shard.Seat{old}, Terms: []engine.Term{{Number: 1}}, Active: []shard.Active{{UID: "job", Runs: 1}}})
		r.loaded(load, job())
		r.read(commands)
		r.results(old, "late", finished("job-gone"))
		r.give(shard.Answered{Seat: old, Event: core.TaskPublished{Run: slotRun(10), Attempt: 1, Failed: true}})
		r.give(shard.Polled{Seats: []shard.Seat{old}, Failed: true})
		r.committed(commit, engine.ErrFenced)
		r.empty()
		if r.machine.Stats() != (core.Stats{}) {
			t.Errorf("it holds %+v", r.machine.Stats())
		}
	}
	late()
	if r.machine.Running() {
		t.Error("it continues with a seat that has not recovered")
	}
	r.recovered(again)
	late()
	if got := published(r); len(got) > 0 {
		t.Errorf("%v were published", got)
	}
}

// Shards that are taken over take long to be read. What the machine has had before fires at its instants meanwhile.
func TestTakingShardsOverDelaysNoOther(t *testing.T) {
	const half = engine.Shards / 2
	var had, all []int
	for number := range engine.Shards {
		if all = append(all, number); number < half {
			had = append(had, number)
		}
	}
	r := beginWith(t, shard.DefaultConfig(), had...)
	for _, number := range had {
		r.know(jobOf(uidIn(number, 1)[0]))
	}
	fires := func() {
		t.Helper()
		r.wait(r.now.Truncate(10 * time.Second).Add(10*time.Second - 200*time.Millisecond).Sub(r.now))
		r.settle()
		r.actions = nil
		r.wait(200 * time.Millisecond)
		if got := published(r); len(got) != half {
			t.Errorf("at %s %d were published", r.now, len(got))
		}
		r.settle()
		not[shard.Leave](r)
		for _, number := range had { // it ends at once
			run := engine.SlotRunID(uidIn(number, 1)[0], r.now)
			r.results(r.seats[number], number, finished(run))
		}
		r.settle()
	}
	r.wait(5 * time.Second)
	r.give(shard.Owned{Shards: all})
	recovery := take[shard.Recover](r)
	if len(recovery.Seats) != engine.Shards-half {
		t.Fatalf("%d shards are read", len(recovery.Seats))
	}
	fires() // while they are being read
	r.give(shard.Recovered{Seats: recovery.Seats, Failed: true})
	r.wait(time.Second)
	recovery = take[shard.Recover](r)
	fires() // while they are read again
	if r.machine.Running() {
		t.Error("it has all shards, and nothing was read of half of them")
	}
	r.recovered(recovery)
	fires()
	if !r.machine.Running() {
		t.Error("it does not have all shards")
	}
}

// Reading all that has not ended takes long. What is due does not wait for it; results do, which may be of any of it.
func TestWhatIsDueFiresBeforeAllThatHasNotEndedIsRead(t *testing.T) {
	r := newRig(t, shard.DefaultConfig())
	r.give(shard.Owned{Shards: []int{home}})
	recovery := take[shard.Recover](r)
	waiting := uidIn(home, 4)
	snapshot := job()
	prepared := runningRun(engine.SlotRunID("job", start.Add(time.Second)))
	prepared.Trigger, prepared.Slot, prepared.Status, prepared.Attempt, prepared.Attempts = engine.TriggerSchedule, start.Add(time.Second), engine.StatusScheduled, 0, nil
	snapshot.Runs = []engine.Run{prepared}
	r.give(shard.Recovered{Seats: recovery.Seats, Terms: []engine.Term{{Number: 1}}, Active: []shard.Active{
		{UID: waiting[0], Runs: 200}, {UID: waiting[1], Runs: 200}, {UID: "job", Runs: 1, Slot: prepared.Slot}, {UID: waiting[2], Runs: 1000}, {UID: waiting[3], Runs: 1},
	}})
	if poll := take[shard.Poll](r); !poll.After.IsZero() || poll.Until.Before(start.Add(time.Second)) || poll.Until.After(start.Add(10*time.Second)) {
		t.Errorf("it asks for what is due from %s to %s", poll.After, poll.Until)
	}
	first := take[shard.Load](r)
	if !slices.Equal(first.UIDs, []string{"job", waiting[0]}) {
		t.Fatalf("%v are read first", first.UIDs)
	}
	r.loaded(first, snapshot)
	r.wait(time.Second)
	r.settle() // what another engine has prepared is published after the commit
	if got := published(r); len(got) != 1 || got[0] != prepared.ID {
		t.Errorf("at its slot %v were published", got)
	}
	load := take[shard.Load](r)
	if !slices.Equal(load.UIDs, waiting[1:2]) {
		t.Errorf("then %v are read", load.UIDs)
	}
	r.give(shard.Loaded{Seats: load.Seats, UIDs: load.UIDs, Failed: true})
	if load = take[shard.Load](r); !slices.Equal(load.UIDs, waiting[1:2]) {
		t.Errorf("%v are read again", load.UIDs)
	}
	r.give(shard.Woken{Wake: engine.Wake{Shard: home, Kind: engine.WakeJob, Key: waiting[3]}}) // read for another reason
	r.loaded(take[shard.Load](r))
	not[shard.Listen](r)
	r.loaded(load)
	if r.machine.Running() {
		t.Error("it continues as if all were read")
	}
	not[shard.Listen](r)
	if load = take[shard.Load](r); !slices.Equal(load.UIDs, waiting[2:3]) {
		t.Errorf("in the end %v are read", load.UIDs)
	}
	r.loaded(load)
	not[shard.Load](r)
	if listen := take[shard.Listen](r); listen.Seat != recovery.Seats[0] || !r.machine.Running() {
		t.Errorf("it listens to %v", listen.Seat)
	}
}

// A shard that is lost while it is read does not keep those after it waiting.
func TestWhatIsLeftIsNotReadOn(t *testing.T) {
	other := home + 1
	r := newRig(t, shard.DefaultConfig())
	r.give(shard.Owned{Shards: []int{home, other}})
	recovery := take[shard.Recover](r)
	lost, kept := uidIn(home, 2), uidIn(other, 1)
	r.give(shard.Recovered{Seats: recovery.Seats, Terms: make([]engine.Term, 2), Active: []shard.Active{
		{UID: lost[0], Runs: 300}, {UID: lost[1], Runs: 300}, {UID: kept[0], Runs: 300},
	}})
	load := take[shard.Load](r)
	r.give(shard.Owned{Shards: []int{other}})
	r.loaded(load)
	if load = take[shard.Load](r); !slices.Equal(load.UIDs, kept) {
		t.Errorf("%v are read", load.UIDs)
	}
	r.loaded(load)
	if listen := take[shard.Listen](r); listen.Seat.Shard != other {
		t.Errorf("it listens to %v", listen.Seat)
	}
}

// Another engine may have taken the shard over since it was read, and have seen the prepared run through.
func TestAShardThatWasReadBeforeAStandstillPublishesAfterACommitOnly(t *testing.T) {
	r := newRig(t, shard.DefaultConfig())
	r.give(shard.Owned{Shards: []int{home}})
	recovery := take[shard.Recover](r)
	snapshot := job()
	prepared := runningRun(slotRun(10))
	prepared.Trigger, prepared.Slot, prepared.Status, prepared.Attempt, prepared.Attempts = engine.TriggerSchedule, snapshot.Task.Slot, engine.StatusScheduled, 0, nil
	snapshot.Runs, snapshot.Task.Slot, snapshot.Task.RunAt = []engine.Run{prepared}, start.Add(20*time.Second), start.Add(20*time.Second)
	r.now = start.Add(12 * time.Second) // a standstill: the machine hears nothing in between
	r.give(shard.Recovered{Seats: recovery.Seats, Terms: []engine.Term{{Number: 1}}, Active: []shard.Active{{UID: "job", Runs: 1}}})
	r.loaded(take[shard.Load](r), snapshot)
	if got := published(r); len(got) > 0 {
		t.Errorf("%v were published at once", got)
	}
	r.settle()
	if got := published(r); len(got) != 1 {
		t.Errorf("after a commit %v were published", got)
	}
}
