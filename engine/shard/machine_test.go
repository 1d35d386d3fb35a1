package shard_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/spec"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// home is the shard of the job that most tests are about.
var home = engine.ShardOf("job")

// rig steps a machine in a test.
type rig struct {
	t       *testing.T
	now     time.Time
	machine *shard.Machine
	seats   map[int]shard.Seat // the latest that recovered, by shard
	actions []shard.Action     // all that have not been taken
}

func newRig(t *testing.T, config shard.Config) *rig {
	r := &rig{t: t, now: start, seats: map[int]shard.Seat{}}
	r.machine = shard.NewMachine(config, r.now, rand.New(rand.NewPCG(1, 1)))
	return r
}

// begin brings a machine to work, with nothing in the store.
func begin(t *testing.T) *rig { return beginWith(t, shard.DefaultConfig(), home) }

func beginWith(t *testing.T, config shard.Config, shards ...int) *rig {
	const soon = 500 * time.Millisecond // what comes soon is polled first
	r := newRig(t, config)
	r.now = start.Add(-soon)
	r.give(shard.Owned{Shards: shards})
	r.recovered(take[shard.Recover](r))
	r.polled(take[shard.Poll](r))
	r.swept(shard.Swept{})
	r.wait(soon)
	r.polled(take[shard.Poll](r))
	r.empty()
	return r
}

func (r *rig) give(in shard.Input) { r.actions = append(r.actions, r.machine.Step(r.now, in)...) }

// wait lets time pass, and wakes the machine when it wants that, as a runner does.
func (r *rig) wait(d time.Duration) {
	for end := r.now.Add(d); r.now.Before(end); {
		next := r.machine.Next()
		if !next.After(r.now) {
			next = r.now.Add(time.Millisecond)
		}
		if r.now = next; next.After(end) {
			r.now = end
		}
		r.give(shard.Clock{})
	}
}

// stand lets time pass while the engine is suspended.
func (r *rig) stand(d time.Duration) {
	r.now = r.now.Add(d)
	r.give(shard.Clock{})
}

// recovered answers a Recover with the first term of each shard, and nothing that has not ended.
func (r *rig) recovered(a shard.Recover) {
	terms := make([]engine.Term, len(a.Seats))
	for i, seat := range a.Seats {
		r.seats[seat.Shard], terms[i] = seat, engine.Term{Number: 1}
	}
	r.give(shard.Recovered{Seats: a.Seats, Terms: terms})
	for range a.Seats {
		take[shard.Listen](r)
	}
}

func (r *rig) polled(a shard.Poll) { r.give(shard.Polled{Seats: a.Seats}) }

func (r *rig) swept(in shard.Swept) {
	take[shard.Sweep](r)
	r.give(in)
}

// loaded answers a Load with these jobs.
func (r *rig) loaded(a shard.Load, jobs ...core.JobSnapshot) {
	r.give(shard.Loaded{Seats: a.Seats, UIDs: a.UIDs, Jobs: core.JobsLoaded{Jobs: jobs}})
}

// know has the machine load a job.
func (r *rig) know(job core.JobSnapshot) {
	r.give(shard.Woken{Wake: engine.Wake{Shard: engine.ShardOf(job.UID), Kind: engine.WakeJob, Key: job.UID}})
	r.loaded(take[shard.Load](r), job)
}

// committed answers a Commit: with these errors for the first of its commits, and success for the others.
func (r *rig) committed(a shard.Commit, errs ...error) {
	r.give(shard.Committed{Seats: a.Seats, Errors: append(errs, make([]error, len(a.Seats)-len(errs))...)})
}

// settle has all that is to be written written.
func (r *rig) settle() {
	for has[shard.Commit](r) {
		r.committed(take[shard.Commit](r))
	}
}

// results brings a shard's results.
func (r *rig) results(seat shard.Seat, receipt any, results ...engine.Result) {
	r.give(shard.Results{Seat: seat, Results: results, Receipt: receipt})
}

func has[A shard.Action](r *rig) bool {
	return slices.ContainsFunc(r.actions, func(action shard.Action) bool { _, is := action.(A); return is })
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
func job() core.JobSnapshot { return jobOf("job") }

func jobOf(uid string) core.JobSnapshot {
	definition := spec.Job{Name: uid, Binary: "sha256:" + fmt.Sprintf("%064x", 1), Every: spec.Duration(10 * time.Second), Overlap: spec.OverlapQueue}
	definition.ApplyDefaults()
	number := engine.ShardOf(uid)
	return core.JobSnapshot{
		UID: uid,
		Job: &engine.Job{
			UID: uid, Namespace: "default", Name: uid, Shard: number, Spec: definition, Generation: 1, Revision: 1, CreatedAt: start, UpdatedAt: start,
		},
		Task: &engine.ScheduledTask{
			ID: uid, Shard: number, Slot: start.Add(10 * time.Second), RunAt: start.Add(10 * time.Second), Generation: 1, Revision: 1,
			Namespace: "default", Job: uid,
		},
	}
}

// uidIn returns the uids of some jobs of a shard.
func uidIn(number, jobs int) (uids []string) {
	for i := 0; len(uids) < jobs; i++ {
		if uid := fmt.Sprintf("job%d", i); engine.ShardOf(uid) == number {
			uids = append(uids, uid)
		}
	}
	return uids
}

func slotRun(seconds int) string {
	return engine.SlotRunID("job", start.Add(time.Duration(seconds)*time.Second))
}

// runningRun is a run of the job that is executed.
func runningRun(id string) engine.Run {
	return engine.Run{
		ID: id, Revision: 3, Namespace: "default", JobUID: "job", Job: "job", Shard: home, Generation: 1, Trigger: engine.TriggerManual,
		Status: engine.StatusRunning, Digest: "d", Attempt: 1, Attempts: []engine.Attempt{{N: 1, Status: engine.StatusRunning, ClaimedAt: start}},
	}
}

// working has loaded the job, with a run that is executed.
func working(t *testing.T) *rig {
	r := begin(t)
	snapshot := job()
	snapshot.Task.Slot, snapshot.Task.RunAt = start.Add(20*time.Second), start.Add(20*time.Second)
	snapshot.Runs = []engine.Run{runningRun(slotRun(10))}
	snapshot.Runs[0].Trigger, snapshot.Runs[0].Slot = engine.TriggerSchedule, start.Add(10*time.Second)
	r.know(snapshot)
	take[shard.Perform](r) // the running attempt is inspected
	r.empty()
	return r
}

// finished is the good end of a run's first attempt.
func finished(run string) engine.Result {
	return engine.Result{
		Kind: engine.ResultFinished, Run: run, Attempt: 1, Shard: home, At: start,
		Finish: &engine.Finish{Status: engine.StatusSucceeded, StartedAt: start, FinishedAt: start},
	}
}

func TestResultsAreAcknowledgedOnlyWhenTheirEffectIsDurable(t *testing.T) {
	r := working(t)
	r.results(r.seats[home], "receipt", finished(slotRun(10)))
	commit := take[shard.Commit](r)
	r.empty()
	r.committed(commit, errUnknown)
	r.empty()
	r.wait(50 * time.Millisecond)
	r.committed(take[shard.Commit](r))
	if got := take[shard.Acknowledge](r).Receipt; got != "receipt" {
		t.Errorf("acknowledged %v", got)
	}
}

func TestResultsThatComeDuringACommitWaitForTheNext(t *testing.T) {
	r := working(t)
	r.results(r.seats[home], "first", engine.Result{
		Kind: engine.ResultProgress, Run: slotRun(10), Attempt: 1, Shard: home, At: start, Progress: &engine.Progress{Fraction: 0.5},
	})
	commit := take[shard.Commit](r)
	r.results(r.seats[home], "second", finished(slotRun(10)))
	not[shard.Commit](r)
	r.committed(commit)
	if got := take[shard.Acknowledge](r).Receipt; got != "first" {
		t.Errorf("acknowledged %v", got)
	}
	not[shard.Acknowledge](r)
	r.committed(take[shard.Commit](r))
	if got := take[shard.Acknowledge](r).Receipt; got != "second" {
		t.Errorf("acknowledged %v", got)
	}
}

// crowd has loaded the job with that many runs that are executed.
func crowd(t *testing.T, runs int) *rig {
	r := begin(t)
	snapshot := job()
	snapshot.Task.Slot, snapshot.Task.RunAt = start.Add(time.Hour), start.Add(time.Hour)
	for i := range runs {
		snapshot.Runs = append(snapshot.Runs, runningRun(fmt.Sprintf("job-k%d", i)))
	}
	r.know(snapshot)
	r.actions = nil // the running attempts are inspected
	return r
}

// ends returns the ends of some of the crowd's runs.
func ends(from, to int) []engine.Result {
	var all []engine.Result
	for i := from; i < to; i++ {
		all = append(all, finished(fmt.Sprintf("job-k%d", i)))
	}
	return all
}

func TestAfterALargeCommitTheNextOneGathersForAMoment(t *testing.T) {
	r := crowd(t, 30)
	r.results(r.seats[home], "first", ends(0, 20)...)
	r.committed(take[shard.Commit](r))
	take[shard.Acknowledge](r)
	for i := 20; i < 30; i++ {
		r.results(r.seats[home], i, ends(i, i+1)...)
	}
	r.empty()
	next := r.machine.Next()
	if wait := next.Sub(r.now); wait <= 0 || wait > 10*time.Millisecond {
		t.Fatalf("the machine wants to be woken after %v", wait)
	}
	r.wait(next.Sub(r.now))
	commit := take[shard.Commit](r)
	if n := len(commit.Commits[0].Batch.Runs); n != 10 {
		t.Errorf("%d runs were written together, want 10", n)
	}
	not[shard.Acknowledge](r)
	r.committed(commit)
	for i := 20; i < 30; i++ {
		if got := take[shard.Acknowledge](r).Receipt; got != i {
			t.Errorf("acknowledged %v, want %d", got, i)
		}
	}
}

func TestAfterASmallCommitTheNextOneBeginsAtOnce(t *testing.T) {
	r := crowd(t, 6)
	for i := range 6 {
		r.results(r.seats[home], i, ends(i, i+1)...)
		r.committed(take[shard.Commit](r))
		take[shard.Acknowledge](r)
	}
}

func TestResultsThatChangeNothingAreAcknowledgedAtOnce(t *testing.T) {
	r := begin(t)
	r.results(r.seats[home], "receipt", finished("job-gone"))
	take[shard.Acknowledge](r)
	r.empty()
}
