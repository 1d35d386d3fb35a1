package shard_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/spec"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// rig steps a machine by hand.
type rig struct {
	t       *testing.T
	now     time.Time
	machine *shard.Machine
	epoch   uint64
	actions []shard.Action // all that have not been taken
}

func newRig(t *testing.T) *rig { return newRigWith(t, shard.DefaultConfig()) }

func newRigWith(t *testing.T, config shard.Config) *rig {
	r := &rig{t: t, now: start}
	r.machine = shard.NewMachine(config, r.now, rand.New(rand.NewPCG(1, 1)))
	return r
}

// begin brings a machine to work, with nothing in the store.
func begin(t *testing.T) *rig { return beginWith(t, shard.DefaultConfig()) }

func beginWith(t *testing.T, config shard.Config) *rig {
	r := newRigWith(t, config)
	r.give(shard.Start{})
	recovery := take[shard.Recover](r)
	r.epoch = recovery.Epoch
	r.give(shard.Recovered{Epoch: r.epoch})
	take[shard.Listen](r)
	r.give(shard.Polled{Epoch: take[shard.Poll](r).Epoch})
	r.give(shard.Swept{Epoch: take[shard.Sweep](r).Epoch})
	r.empty()
	return r
}

func (r *rig) give(in shard.Input) { r.actions = append(r.actions, r.machine.Step(r.now, in)...) }

func (r *rig) wait(d time.Duration) {
	r.now = r.now.Add(d)
	r.give(shard.Clock{})
}

// take removes the first action of a kind; there must be one.
func take[A shard.Action](r *rig) A {
	r.t.Helper()
	for i, action := range r.actions {
		if a, ok := action.(A); ok {
			r.actions = slices.Delete(r.actions, i, i+1)
			return a
		}
	}
	var none A
	r.t.Fatalf("there is no %T among %s", none, r.names())
	return none
}

// not wants no action of a kind.
func not[A shard.Action](r *rig) {
	r.t.Helper()
	for _, action := range r.actions {
		if a, ok := action.(A); ok {
			r.t.Fatalf("there is a %T: %+v", a, a)
		}
	}
}

func (r *rig) names() string {
	var names []string
	for _, action := range r.actions {
		names = append(names, fmt.Sprintf("%T", action))
	}
	return fmt.Sprint(names)
}

func (r *rig) empty() {
	r.t.Helper()
	if len(r.actions) > 0 {
		r.t.Fatalf("there is more: %s", r.names())
	}
}

// job is one with a slot each ten seconds, planned for the first of them.
func job() engine.JobSnapshot {
	definition := spec.Job{Name: "job", Binary: "sha256:" + fmt.Sprintf("%064x", 1), Every: spec.Duration(10 * time.Second), Overlap: spec.OverlapQueue}
	definition.ApplyDefaults()
	return engine.JobSnapshot{
		UID: "job",
		Job: &engine.Job{
			UID: "job", Namespace: "default", Name: "job", Shard: 1, Spec: definition, Generation: 1, Revision: 1, CreatedAt: start, UpdatedAt: start,
		},
		Task: &engine.ScheduledTask{
			ID: "job", Shard: 1, Slot: start.Add(10 * time.Second), RunAt: start.Add(10 * time.Second), Generation: 1, Revision: 1,
			Namespace: "default", Job: "job",
		},
	}
}

func slotRun(seconds int) string {
	return engine.SlotRunID("job", start.Add(time.Duration(seconds)*time.Second))
}

// working has loaded the job, with a run that is executed.
func working(t *testing.T) *rig {
	r := begin(t)
	r.give(shard.Woken{Wake: engine.Wake{Shard: 1, Kind: engine.WakeJob, Key: "job"}})
	snapshot := job()
	snapshot.Task.Slot, snapshot.Task.RunAt = start.Add(20*time.Second), start.Add(20*time.Second)
	snapshot.Runs = []engine.Run{{
		ID: slotRun(10), Revision: 3, Namespace: "default", JobUID: "job", Job: "job", Shard: 1, Generation: 1, Trigger: engine.TriggerSchedule,
		Slot: start.Add(10 * time.Second), Status: engine.StatusRunning, Digest: "d", Attempt: 1,
		Attempts: []engine.Attempt{{N: 1, Status: engine.StatusRunning, ClaimedAt: start}},
	}}
	load := take[shard.Load](r)
	r.give(shard.Loaded{Epoch: load.Epoch, UIDs: load.UIDs, Jobs: engine.JobsLoaded{Jobs: []engine.JobSnapshot{snapshot}}})
	take[shard.Perform](r) // the running attempt is inspected
	r.empty()
	return r
}

// finished is the good end of a run's first attempt.
func finished(run string) engine.Result {
	return engine.Result{
		Kind: engine.ResultFinished, Run: run, Attempt: 1, Shard: 1, At: start,
		Finish: &engine.Finish{Status: engine.StatusSucceeded, StartedAt: start, FinishedAt: start},
	}
}

func TestResultsAreAcknowledgedOnlyWhenTheirEffectIsDurable(t *testing.T) {
	r := working(t)
	r.give(shard.Results{Epoch: r.epoch, Results: []engine.Result{finished(slotRun(10))}, Receipt: "receipt"})
	commit := take[shard.Commit](r)
	r.empty()
	r.give(shard.Committed{Epoch: commit.Epoch, Failed: true})
	r.empty()
	r.wait(time.Second)
	again := take[shard.Commit](r)
	if again.Batch != commit.Batch {
		t.Error("another batch was written after the failure")
	}
	not[shard.Acknowledge](r)
	r.give(shard.Committed{Epoch: commit.Epoch})
	if got := take[shard.Acknowledge](r).Receipt; got != "receipt" {
		t.Errorf("acknowledged %v", got)
	}
}

func TestResultsThatComeDuringACommitWaitForTheNext(t *testing.T) {
	r := working(t)
	r.give(shard.Results{Epoch: r.epoch, Results: []engine.Result{{
		Kind: engine.ResultProgress, Run: slotRun(10), Attempt: 1, Shard: 1, At: start, Progress: &engine.Progress{Fraction: 0.5},
	}}, Receipt: "first"})
	commit := take[shard.Commit](r)
	r.give(shard.Results{Epoch: r.epoch, Results: []engine.Result{finished(slotRun(10))}, Receipt: "second"})
	not[shard.Commit](r)
	r.give(shard.Committed{Epoch: commit.Epoch})
	if got := take[shard.Acknowledge](r).Receipt; got != "first" {
		t.Errorf("acknowledged %v", got)
	}
	not[shard.Acknowledge](r)
	r.give(shard.Committed{Epoch: take[shard.Commit](r).Epoch})
	if got := take[shard.Acknowledge](r).Receipt; got != "second" {
		t.Errorf("acknowledged %v", got)
	}
}

// crowd has loaded the job with that many runs that are executed.
func crowd(t *testing.T, runs int) *rig {
	r := begin(t)
	r.give(shard.Woken{Wake: engine.Wake{Shard: 1, Kind: engine.WakeJob, Key: "job"}})
	snapshot := job()
	snapshot.Task.Slot, snapshot.Task.RunAt = start.Add(time.Hour), start.Add(time.Hour)
	for i := range runs {
		snapshot.Runs = append(snapshot.Runs, engine.Run{
			ID: fmt.Sprintf("job-k%d", i), Revision: 3, Namespace: "default", JobUID: "job", Job: "job", Shard: 1, Generation: 1,
			Trigger: engine.TriggerManual, Status: engine.StatusRunning, Digest: "d", Attempt: 1,
			Attempts: []engine.Attempt{{N: 1, Status: engine.StatusRunning, ClaimedAt: start}},
		})
	}
	load := take[shard.Load](r)
	r.give(shard.Loaded{Epoch: load.Epoch, UIDs: load.UIDs, Jobs: engine.JobsLoaded{Jobs: []engine.JobSnapshot{snapshot}}})
	r.actions = nil // the running attempts are inspected
	return r
}

// ends gives the ends of some of the crowd's runs.
func ends(from, to int) []engine.Result {
	var all []engine.Result
	for i := from; i < to; i++ {
		all = append(all, finished(fmt.Sprintf("job-k%d", i)))
	}
	return all
}

func TestAfterALargeCommitTheNextOneGathersForAMoment(t *testing.T) {
	r := crowd(t, 30)
	r.give(shard.Results{Epoch: r.epoch, Results: ends(0, 20), Receipt: "first"})
	r.give(shard.Committed{Epoch: take[shard.Commit](r).Epoch})
	take[shard.Acknowledge](r)
	for i := 20; i < 30; i++ {
		r.give(shard.Results{Epoch: r.epoch, Results: ends(i, i+1), Receipt: i})
	}
	r.empty()
	next := r.machine.Next()
	if wait := next.Sub(r.now); wait <= 0 || wait > 10*time.Millisecond {
		t.Fatalf("the machine wants to be woken after %v", wait)
	}
	r.wait(next.Sub(r.now))
	commit := take[shard.Commit](r)
	if n := len(commit.Batch.Runs); n != 10 {
		t.Errorf("%d runs were written together, want 10", n)
	}
	not[shard.Acknowledge](r)
	r.give(shard.Committed{Epoch: commit.Epoch})
	for i := 20; i < 30; i++ {
		if got := take[shard.Acknowledge](r).Receipt; got != i {
			t.Errorf("acknowledged %v, want %d", got, i)
		}
	}
}

func TestAfterASmallCommitTheNextOneBeginsAtOnce(t *testing.T) {
	r := crowd(t, 6)
	for i := range 6 {
		r.give(shard.Results{Epoch: r.epoch, Results: ends(i, i+1), Receipt: i})
		r.give(shard.Committed{Epoch: take[shard.Commit](r).Epoch})
		take[shard.Acknowledge](r)
	}
}

func TestResultsThatChangeNothingAreAcknowledgedAtOnce(t *testing.T) {
	r := begin(t)
	r.give(shard.Results{Epoch: r.epoch, Results: []engine.Result{finished("job-gone")}, Receipt: "receipt"})
	not[shard.Acknowledge](r) // somebody else may have made the run
	read := take[shard.ReadStrange](r)
	r.give(shard.StrangeRead{Epoch: read.Epoch, Results: read.Results})
	take[shard.Acknowledge](r)
	r.empty()
}

func TestResultsOfARunThatSomebodyElseHasMadeAreNotAcknowledged(t *testing.T) {
	r := begin(t)
	r.give(shard.Results{Epoch: r.epoch, Results: []engine.Result{finished("job-s1")}, Receipt: "first"})
	r.give(shard.Results{Epoch: r.epoch, Results: []engine.Result{finished("job-s2")}, Receipt: "second"})
	first, second := take[shard.ReadStrange](r), take[shard.ReadStrange](r)
	if !slices.Equal(first.IDs(), []string{"job-s1"}) || !slices.Equal(second.IDs(), []string{"job-s2"}) {
		t.Errorf("asked about %v and %v", first.IDs(), second.IDs())
	}
	r.give(shard.StrangeRead{Epoch: second.Epoch, Results: second.Results, Runs: []engine.Run{{ID: "job-s2", Attempt: 1, Status: engine.StatusSucceeded}}})
	not[shard.Acknowledge](r) // it would be of the first, too
	r.give(shard.StrangeRead{Epoch: first.Epoch, Results: first.Results, Failed: true})
	first = take[shard.ReadStrange](r)
	r.give(shard.StrangeRead{Epoch: first.Epoch, Results: first.Results, Runs: []engine.Run{{ID: "job-s1", Attempt: 1, Status: engine.StatusRunning}}})
	take[shard.Reset](r)
	not[shard.Acknowledge](r)
}

// Whoever wrote that a run is dead may have died before its letter: the news of that end has not been acknowledged, and
// is not before the letter is durable.
func TestTheLetterOfARunThatIsFoundDeadIsWritten(t *testing.T) {
	r := begin(t)
	r.give(shard.Results{Epoch: r.epoch, Results: []engine.Result{finished("job-s1"), finished("job-s2")}, Receipt: "receipt"})
	read := take[shard.ReadStrange](r)
	r.give(shard.StrangeRead{Epoch: read.Epoch, Results: read.Results, Runs: []engine.Run{
		{ID: "job-s1", JobUID: "job", Attempt: 1, Status: engine.StatusDead, Reason: "exit 1"},
		{ID: "job-s2", JobUID: "job", Attempt: 2, Status: engine.StatusDead, Reason: "exit 1"}, // this is not its last attempt
	}})
	commit := take[shard.Commit](r)
	not[shard.Acknowledge](r)
	if letters := commit.Batch.DeadLetters; len(letters) != 1 || letters[0].RunID != "job-s1" || letters[0].Error != "exit 1" {
		t.Errorf("the letters are %+v", letters)
	}
	r.give(shard.Committed{Epoch: commit.Epoch})
	take[shard.Acknowledge](r)
}

func TestAFailedCommitIsTriedAgainLaterEachTime(t *testing.T) {
	r := working(t)
	r.give(shard.Results{Epoch: r.epoch, Results: []engine.Result{finished(slotRun(10))}, Receipt: "receipt"})
	batch := take[shard.Commit](r).Batch
	last := time.Duration(0)
	for range 8 {
		r.give(shard.Committed{Epoch: r.epoch, Failed: true})
		not[shard.Commit](r)
		began := r.now
		for tries := 0; ; tries++ {
			next := r.machine.Next()
			if tries > 50 || next.IsZero() {
				t.Fatal("it is not tried again")
			}
			r.wait(next.Sub(r.now))
			if slices.ContainsFunc(r.actions, func(a shard.Action) bool { _, is := a.(shard.Commit); return is }) {
				break
			}
			r.actions = slices.DeleteFunc(r.actions, func(a shard.Action) bool {
				if sweep, is := a.(shard.Sweep); is {
					defer r.give(shard.Swept{Epoch: sweep.Epoch})
					return true
				}
				return false
			})
		}
		if again := take[shard.Commit](r); again.Batch != batch {
			t.Fatal("another batch is written")
		}
		waited := r.now.Sub(began)
		if waited < last && waited < shard.DefaultConfig().RetryMax {
			t.Errorf("waited %s after %s", waited, last)
		}
		if waited > shard.DefaultConfig().RetryMax {
			t.Errorf("waited %s", waited)
		}
		last = waited
	}
}
