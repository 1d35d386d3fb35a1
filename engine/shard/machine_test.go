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

func newRig(t *testing.T) *rig {
	r := &rig{t: t, now: start}
	r.machine = shard.NewMachine(shard.DefaultConfig(), r.now, rand.New(rand.NewPCG(1, 1)))
	return r
}

// begin brings a machine to work, with nothing in the store.
func begin(t *testing.T) *rig {
	r := newRig(t)
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

// prepared has a run of the slot of 10 s on its way into the store.
func prepared(t *testing.T) (*rig, shard.Commit) {
	r := begin(t)
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

// An engine that stood still while a write was under way may have lost its shards, and somebody else may have seen the run
// through: a write finds that out.
func TestWhatIsOutOfDateIsWrittenBeforeItIsPublished(t *testing.T) {
	r, commit := prepared(t)
	r.wait(200 * time.Millisecond)
	r.give(shard.Committed{Epoch: commit.Epoch})
	queued := take[shard.Commit](r)
	r.now = r.now.Add(6 * time.Second)
	r.give(shard.Committed{Epoch: queued.Epoch})
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

func TestAPollWaitsForWhatWasDecidedBefore(t *testing.T) {
	r := working(t)
	r.give(shard.Results{Epoch: r.epoch, Results: []engine.Result{finished(slotRun(10))}, Receipt: "receipt"})
	first := take[shard.Commit](r)
	r.now = r.now.Add(19800 * time.Millisecond) // the next slot is prepared, and the horizon is to move on soon
	r.give(shard.Clock{})
	r.give(shard.Swept{Epoch: take[shard.Sweep](r).Epoch})
	r.wait(300 * time.Millisecond)
	not[shard.Poll](r)
	r.give(shard.Committed{Epoch: first.Epoch})
	second := take[shard.Commit](r)
	not[shard.Poll](r)
	r.give(shard.Committed{Epoch: second.Epoch})
	poll := take[shard.Poll](r)
	if !poll.After.Equal(start.Add(time.Minute)) || !poll.Until.After(poll.After) {
		t.Errorf("polls from %s to %s", poll.After, poll.Until)
	}
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
