package shard_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/spec"
)

// A slow store would hide slots until they are long past.
func TestAPollDoesNotWaitForTheStore(t *testing.T) {
	r := working(t)
	r.give(shard.Results{Epoch: r.epoch, Results: []engine.Result{finished(slotRun(10))}, Receipt: "receipt"})
	take[shard.Commit](r) // which is never answered
	r.wait(20100 * time.Millisecond)
	poll := take[shard.Poll](r)
	if !poll.After.Equal(start.Add(time.Minute)) || !poll.Until.After(poll.After) {
		t.Errorf("polls from %s to %s", poll.After, poll.Until)
	}
	r.give(shard.Polled{Epoch: poll.Epoch})
	not[shard.Poll](r)
}

// A slow store says for long that a job waits: to read and write it with each sweep would make it slower still.
func TestWhatHasBeenActedUponIsNotReadAgain(t *testing.T) {
	r := begin(t)
	r.wait(time.Second)
	r.give(shard.Swept{Epoch: take[shard.Sweep](r).Epoch, Pending: []string{"job"}})
	load := take[shard.Load](r)
	snapshot := job()
	snapshot.Job.Pending = true
	r.give(shard.Loaded{Epoch: load.Epoch, UIDs: load.UIDs, Jobs: engine.JobsLoaded{Jobs: []engine.JobSnapshot{snapshot}}})
	commit := take[shard.Commit](r)
	for range 3 { // while it is written what was planned, and then that it is handled
		r.wait(time.Second)
		r.give(shard.Swept{Epoch: take[shard.Sweep](r).Epoch, Pending: []string{"job"}})
		not[shard.Load](r)
		if len(commit.Batch.Handled) == 0 {
			r.give(shard.Committed{Epoch: commit.Epoch})
			commit = take[shard.Commit](r)
		}
	}
	if len(commit.Batch.Handled) != 1 {
		t.Fatalf("%+v is handled", commit.Batch.Handled)
	}
	r.give(shard.Committed{Epoch: commit.Epoch})
	r.wait(time.Second)
	r.give(shard.Swept{Epoch: take[shard.Sweep](r).Epoch, Pending: []string{"job"}}) // it was edited meanwhile
	take[shard.Load](r)
}

func TestAFailedPollCoversTheSameSpanAgain(t *testing.T) {
	r := newRig(t)
	r.give(shard.Start{})
	r.give(shard.Recovered{Epoch: take[shard.Recover](r).Epoch})
	first := take[shard.Poll](r)
	r.give(shard.Polled{Epoch: first.Epoch, Failed: true})
	not[shard.Poll](r)
	r.wait(time.Second)
	again := take[shard.Poll](r)
	if !again.After.Equal(first.After) || again.Until.Before(first.Until) {
		t.Errorf("polled from %s to %s, and then from %s to %s", first.After, first.Until, again.After, again.Until)
	}
}

func TestAWakeDuringALoadLoadsAgain(t *testing.T) {
	r := begin(t)
	wake := shard.Woken{Wake: engine.Wake{Shard: 1, Kind: engine.WakeJob, Key: "job"}}
	r.give(wake)
	load := take[shard.Load](r)
	r.give(wake)
	r.give(wake)
	r.empty()
	r.give(shard.Loaded{Epoch: load.Epoch, UIDs: load.UIDs, Failed: true})
	load = take[shard.Load](r)
	if load.Again != 1 {
		t.Errorf("again %d", load.Again)
	}
	r.give(shard.Loaded{Epoch: load.Epoch, UIDs: load.UIDs, Jobs: engine.JobsLoaded{Jobs: []engine.JobSnapshot{job()}}})
	load = take[shard.Load](r)
	r.empty()
	r.give(shard.Loaded{Epoch: load.Epoch, UIDs: load.UIDs, Jobs: engine.JobsLoaded{Jobs: []engine.JobSnapshot{job()}}})
	r.empty()
}

func TestWhatWasAskedForIsClearedOnceItIsDurable(t *testing.T) {
	r := begin(t)
	r.give(shard.Woken{Wake: engine.Wake{Shard: 1, Kind: engine.WakeJob, Key: "job"}})
	snapshot := job()
	snapshot.Job.Pending, snapshot.Task = true, nil
	load := take[shard.Load](r)
	r.give(shard.Loaded{Epoch: load.Epoch, UIDs: load.UIDs, Jobs: engine.JobsLoaded{Jobs: []engine.JobSnapshot{snapshot}}})
	commit := take[shard.Commit](r)
	if len(commit.Batch.Tasks) != 1 || len(commit.Batch.Handled) != 0 {
		t.Fatalf("the first batch: %+v", commit.Batch)
	}
	r.give(shard.Committed{Epoch: commit.Epoch})
	if clearing := take[shard.Commit](r); len(clearing.Batch.Handled) != 1 {
		t.Fatalf("the second batch: %+v", clearing.Batch)
	}
}

func TestWhatTheCoreDoesNotBelieveIsReadAnew(t *testing.T) {
	definition := spec.DAG{Name: "etl", Tasks: []spec.Task{{Name: "a", Binary: "tool"}, {Name: "b", Binary: "tool", Needs: []string{"a"}}}}
	definition.ApplyDefaults()
	dag := engine.DAG{UID: "dag", Namespace: "default", Name: "etl", Shard: 1, Spec: definition, Generation: 1, Revision: 1, CreatedAt: start, UpdatedAt: start}
	wave := engine.Wave{ID: "dag-w1", Revision: 1, Namespace: "default", DAGUID: "dag", DAG: "etl", Shard: 1, Epoch: 1, Generation: 1, Trigger: engine.TriggerManual, Status: engine.StatusRunning}
	run := func(task string) engine.Run {
		return engine.Run{
			ID: "dag-w1-" + task, Revision: 2, Namespace: "default", JobUID: "dag", DAG: "etl", Wave: "dag-w1", Task: task, Shard: 1, Epoch: 1,
			Generation: 1, Status: engine.StatusRunning, Attempt: 1, Attempts: []engine.Attempt{{N: 1, Status: engine.StatusRunning}}, Digest: "d",
		}
	}
	r := begin(t)
	give := func(runs ...engine.Run) {
		r.give(shard.Woken{Wake: engine.Wake{Shard: 1, Kind: engine.WakeDAG, Key: "dag"}})
		load := take[shard.Load](r)
		snapshot := engine.DAGSnapshot{UID: "dag", DAG: &dag, Waves: []engine.Wave{wave}, LastEpoch: 1, Runs: runs}
		r.give(shard.Loaded{Epoch: load.Epoch, UIDs: load.UIDs, Jobs: engine.JobsLoaded{DAGs: []engine.DAGSnapshot{snapshot}}})
	}
	give(run("a"))
	give(run("a"))
	not[shard.Reset](r)
	give(run("a"), run("b")) // another owner has begun it
	take[shard.Reset](r)
	if r.machine.Running() || r.machine.Stats().DAGs != 0 {
		t.Error("it goes on with what it knew")
	}
	// It may not help. Then everything else goes on, and it is tried again now and then.
	again := func() {
		r.wait(time.Second)
		r.epoch = take[shard.Recover](r).Epoch
		r.give(shard.Recovered{Epoch: r.epoch})
		r.actions = nil
		give(run("a"))
		give(run("a"), run("b"))
	}
	again()
	not[shard.Reset](r)
	r.wait(10 * time.Second)
	r.actions = nil
	give(run("a"), run("b"))
	take[shard.Reset](r)
	again()
	not[shard.Reset](r)
}

func TestACommandIsActedUponOnceHoweverOftenItIsSwept(t *testing.T) {
	r := begin(t)
	command := engine.Command{ID: "c", Shard: 1, Kind: engine.CommandCancel, JobUID: "job", RunID: slotRun(10)}
	swept := func() {
		r.give(shard.Woken{Wake: engine.Wake{Shard: 1, Kind: engine.WakeCommand}})
		r.give(shard.Swept{Epoch: take[shard.Sweep](r).Epoch, Commands: []engine.Command{command}})
	}
	swept()
	load := take[shard.LoadCommand](r)
	swept()
	r.empty()
	r.give(shard.CommandLoaded{Epoch: load.Epoch, Command: command, Failed: true})
	swept()
	load = take[shard.LoadCommand](r)
	r.give(shard.CommandLoaded{Epoch: load.Epoch, Command: command})
	commit := take[shard.Commit](r)
	if !slices.Equal(commit.Batch.Commands, []string{"c"}) {
		t.Fatalf("the batch: %+v", commit.Batch)
	}
	swept()
	r.empty()
	r.give(shard.Committed{Epoch: commit.Epoch})
	r.empty()
}

func TestARunThatTheMachineDoesNotKnowIsLoaded(t *testing.T) {
	r := working(t)
	// Sweeps stay unanswered here: what they are for must not bring the run.
	for tries := 0; tries < 20 && !slices.ContainsFunc(r.actions, func(a shard.Action) bool { _, is := a.(shard.Reconcile); return is }); tries++ {
		r.wait(10 * time.Second)
		for slices.ContainsFunc(r.actions, func(a shard.Action) bool { _, is := a.(shard.Commit); return is }) {
			r.give(shard.Committed{Epoch: take[shard.Commit](r).Epoch})
		}
	}
	r.actions = slices.DeleteFunc(r.actions, func(a shard.Action) bool { _, is := a.(shard.Reconcile); return !is })
	reconcile := take[shard.Reconcile](r)
	known := shard.ActiveRun{ID: slotRun(10), JobUID: "job", Revision: 3}
	r.give(shard.Reconciled{Epoch: reconcile.Epoch, Runs: []shard.ActiveRun{known}})
	not[shard.Load](r)
	orphan := shard.ActiveRun{ID: "job-korphan", JobUID: "job", Revision: 1}
	r.give(shard.Reconciled{Epoch: reconcile.Epoch, Runs: []shard.ActiveRun{known, orphan}})
	if load := take[shard.Load](r); !slices.Equal(load.UIDs, []string{"job"}) {
		t.Errorf("loads %v", load.UIDs)
	}
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

// What a former owner has done is found: a wave that it left open, a slot that it planned behind this one's horizon.
func TestWhatNobodyGoesOnWithIsLoaded(t *testing.T) {
	r := begin(t)
	for range 100 {
		r.wait(time.Second)
		for i := range r.actions {
			switch action := r.actions[i].(type) {
			case shard.Reconcile:
				if want := r.now.Add(-2 * time.Second); !action.Until.Equal(want) {
					t.Errorf("asks for what was due until %s, want %s", action.Until, want)
				}
				r.actions = nil
				r.give(shard.Reconciled{Epoch: r.epoch, Waves: []shard.OpenWave{{ID: "dag-w1", DAGUID: "dag"}}, Overdue: []string{"job", "dag"}})
				if got := take[shard.Load](r).UIDs; !slices.Equal(got, []string{"dag", "job"}) {
					t.Errorf("loads %v", got)
				}
				return
			case shard.Sweep:
				defer r.give(shard.Swept{Epoch: action.Epoch})
			case shard.Poll:
				defer r.give(shard.Polled{Epoch: action.Epoch})
			}
		}
	}
	t.Error("it never compared")
}
