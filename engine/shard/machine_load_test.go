package shard_test

import (
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// A slow store would hide slots until they are long past.
func TestAPollDoesNotWaitForTheStore(t *testing.T) {
	r := working(t)
	r.results(r.seats[home], "receipt", finished(slotRun(10)))
	take[shard.Commit](r) // which is never answered
	r.wait(20100 * time.Millisecond)
	poll := take[shard.Poll](r)
	if !poll.After.Equal(start.Add(time.Minute)) || !poll.Until.After(poll.After) {
		t.Errorf("polls from %s to %s", poll.After, poll.Until)
	}
	r.polled(poll)
	not[shard.Poll](r)
}

// A slow store says for long that a job waits: to read and write it with each sweep would make it slower still.
func TestWhatHasBeenActedUponIsNotReadAgain(t *testing.T) {
	r := begin(t)
	swept := func() {
		r.wait(time.Second)
		r.swept(shard.Swept{Pending: []string{"job"}})
	}
	swept()
	snapshot := job()
	snapshot.Job.Pending = true
	r.loaded(take[shard.Load](r), snapshot)
	commit := take[shard.Commit](r)
	if handled := commit.Commits[0].Batch.Handled; len(handled) != 1 {
		t.Fatalf("%+v is handled", handled)
	}
	for range 3 { // while it is written that it is handled
		swept()
		not[shard.Load](r)
	}
	r.committed(commit)
	swept() // it was edited meanwhile
	take[shard.Load](r)
}

func TestAFailedPollCoversTheSameSpanAgain(t *testing.T) {
	r := newRig(t, shard.DefaultConfig())
	r.give(shard.Owned{Shards: []int{home}})
	r.recovered(take[shard.Recover](r))
	first := take[shard.Poll](r)
	r.give(shard.Polled{Seats: first.Seats, Failed: true})
	not[shard.Poll](r)
	r.wait(time.Second)
	again := take[shard.Poll](r)
	if !again.After.Equal(first.After) || again.Until.Before(first.Until) {
		t.Errorf("polled from %s to %s, and then from %s to %s", first.After, first.Until, again.After, again.Until)
	}
}

// A shard that comes later has everything to ask for that is due; one that polls at the same instant continues from where it is.
func TestAShardThatRecoveredLaterPollsFromTheBeginning(t *testing.T) {
	other := home + 1
	r := begin(t)
	r.wait(15 * time.Second)
	r.give(shard.Owned{Shards: []int{home, other}})
	recovery := take[shard.Recover](r)
	r.wait(5*time.Second - time.Millisecond)
	r.now = r.now.Add(time.Millisecond)
	r.recovered(recovery)
	span := func(number int, after, until time.Time) {
		t.Helper()
		poll := take[shard.Poll](r)
		if len(poll.Seats) != 1 || poll.Seats[0] != r.seats[number] || !poll.After.Equal(after) || !poll.Until.Equal(until) {
			t.Errorf("of %v it asks for what is due from %s to %s", poll.Seats, poll.After, poll.Until)
		}
		r.polled(poll)
	}
	span(home, start.Add(time.Minute), r.now.Add(time.Minute))
	soon := r.now.Add(2 * time.Second)
	span(other, time.Time{}, soon) // at first no more than that
	r.wait(500 * time.Millisecond)
	span(other, soon, r.now.Add(time.Minute))
}

func TestAWakeDuringALoadLoadsAgain(t *testing.T) {
	r := begin(t)
	wake := shard.Woken{Wake: engine.Wake{Shard: home, Kind: engine.WakeJob, Key: "job"}}
	r.give(wake)
	load := take[shard.Load](r)
	r.give(wake)
	r.give(wake)
	r.empty()
	r.give(shard.Loaded{Seats: load.Seats, UIDs: load.UIDs, Failed: true})
	load = take[shard.Load](r)
	if load.Again != 1 {
		t.Errorf("again %d", load.Again)
	}
	r.loaded(load, job())
	load = take[shard.Load](r)
	r.empty()
	r.loaded(load, job())
	r.empty()
}

// asks returns commands that start runs of the job, by their ids.
func asks(ids ...string) []engine.Command {
	var commands []engine.Command
	for _, id := range ids {
		run := engine.Run{
			ID: engine.ManualRunID("job", id), Namespace: "default", JobUID: "job", Job: "job", Shard: home, Trigger: engine.TriggerManual,
			Status: engine.StatusScheduled, CreatedAt: start,
		}
		commands = append(commands, engine.Command{ID: id, Shard: home, Kind: engine.CommandStart, JobUID: "job", RunID: run.ID, Run: &run})
	}
	return commands
}

// read answers a LoadCommands.
func (r *rig) read(a shard.LoadCommands) {
	received := make([]core.CommandReceived, len(a.Commands))
	for i, command := range a.Commands {
		received[i] = core.CommandReceived{Command: command, Snapshot: job()}
	}
	r.give(shard.CommandsLoaded{Seat: a.Seat, Commands: a.Commands, Received: received})
}

func (r *rig) sweepCommands(ids ...string) {
	r.give(shard.Woken{Wake: engine.Wake{Shard: home, Kind: engine.WakeCommand}})
	r.swept(shard.Swept{Commands: asks(ids...)})
}

func idsOf(commands []engine.Command) string {
	text := ""
	for i := range commands {
		text += commands[i].ID
	}
	return text
}

func TestCommandsOfAJobAreActedUponInTheirOrder(t *testing.T) {
	r := begin(t)
	r.sweepCommands("b", "a")
	load := take[shard.LoadCommands](r)
	if got := idsOf(load.Commands); got != "ba" {
		t.Errorf("reads what %q are about", got)
	}
	r.sweepCommands("b", "a", "d", "c") // two come meanwhile: they would overtake
	not[shard.LoadCommands](r)
	r.read(load)
	commit := take[shard.Commit](r)
	done := commit.Commits[0].Batch.Done
	if len(done) != 2 || done[0].ID != "b" || done[1].ID != "a" {
		t.Errorf("acted upon %+v", done)
	}
	r.swept(shard.Swept{Commands: asks("b", "a", "d", "c")}) // which comes at once
	if got := idsOf(take[shard.LoadCommands](r).Commands); got != "dc" {
		t.Errorf("then reads what %q are about", got)
	}
}

func TestACommandIsActedUponOnceHoweverOftenItIsSwept(t *testing.T) {
	r := begin(t)
	r.sweepCommands("c")
	load := take[shard.LoadCommands](r)
	r.sweepCommands("c")
	r.empty()
	r.give(shard.CommandsLoaded{Seat: load.Seat, Commands: load.Commands, Failed: true})
	r.sweepCommands("c")
	r.read(take[shard.LoadCommands](r))
	commit := take[shard.Commit](r)
	r.swept(shard.Swept{Commands: asks("c")})
	r.empty()
	r.committed(commit)
	not[shard.Commit](r)
}

func TestTheWallClockGoingBackHoldsNothingUp(t *testing.T) {
	r := working(t)
	r.wait(100 * time.Millisecond)
	r.actions = nil
	r.now = r.now.Add(-time.Hour)
	r.give(shard.Clock{})
	if next := r.machine.Next(); next.Sub(r.now) > shard.DefaultConfig().SweepEvery {
		t.Errorf("it sleeps for %s", next.Sub(r.now))
	}
	r.wait(shard.DefaultConfig().SweepEvery)
	take[shard.Sweep](r)
}
