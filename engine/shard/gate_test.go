package shard_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/spec"
)

// gated is a machine with a window of 20 that knows two jobs whose runs may overlap, "job" of namespace default and another one.
type gated struct {
	*rig
	other string // uid of the other one
	asked map[string]int
}

func newGated(t *testing.T) *gated {
	config := shard.DefaultConfig()
	config.Window = 20
	other := uidIn(home, 1)[0]
	c := &gated{rig: beginWith(t, config, home), other: other, asked: map[string]int{}}
	for uid, namespace := range map[string]string{"job": "default", other: "other"} {
		c.know(overlapping(uid, namespace))
	}
	c.settle()
	c.empty()
	return c
}

func overlapping(uid, namespace string) core.JobSnapshot {
	s := jobOf(uid)
	s.Task = nil
	s.Job.Namespace = namespace
	s.Job.Spec.Every, s.Job.Spec.Overlap = 0, spec.OverlapAllow
	return s
}

// start triggers some runs of a job, and returns their ids.
func (c *gated) start(uid string, n int) (ids []string) {
	return c.startOf(overlapping(uid, map[bool]string{true: "default", false: "other"}[uid == "job"]), n)
}

// startOf does the same for the job of a snapshot.
func (c *gated) startOf(snapshot core.JobSnapshot, n int) (ids []string) {
	uid, namespace := snapshot.UID, snapshot.Job.Namespace
	var received []core.CommandReceived
	var commands []engine.Command
	for range n {
		c.asked[uid]++
		id := fmt.Sprintf("%s-k%d", uid, c.asked[uid])
		run := engine.Run{
			ID: id, Namespace: namespace, JobUID: uid, Job: uid, Shard: home, Trigger: engine.TriggerManual, Status: engine.StatusScheduled, CreatedAt: c.now,
		}
		command := engine.Command{ID: engine.StartCommand(id), Shard: home, Kind: engine.CommandStart, JobUID: uid, RunID: id, Run: &run, At: c.now}
		ids, commands = append(ids, id), append(commands, command)
		received = append(received, core.CommandReceived{Command: command, Snapshot: snapshot})
	}
	c.give(shard.Woken{Wake: engine.Wake{Shard: home, Kind: engine.WakeCommand}})
	c.swept(shard.Swept{Commands: commands})
	load := take[shard.LoadCommands](c.rig)
	c.give(shard.CommandsLoaded{Seat: load.Seat, Commands: load.Commands, Received: received})
	if has[shard.Sweep](c.rig) { // others may have come meanwhile
		c.swept(shard.Swept{})
	}
	c.written()
	return ids
}

// written has all that was decided written, in the time that it takes.
func (c *gated) written() {
	for range 3 {
		c.settle()
		c.wait(20 * time.Millisecond)
	}
	c.settle()
}

// held counts the runs that the gate holds.
func (c *gated) held() (n int) {
	for _, of := range c.machine.Held() {
		n += of.Runs
	}
	return n
}

// claims has executors claim attempts, in this order.
func (c *gated) claims(runs ...string) {
	var results []engine.Result
	for _, run := range runs {
		results = append(results, engine.Result{Kind: engine.ResultStarted, Run: run, Attempt: 1, Shard: home, Executor: "x", Token: 1, At: c.now})
	}
	c.results(c.seats[home], "claims", results...)
}

func TestNamespaceFillsTheQueueUpToItsWindow(t *testing.T) {
	c := newGated(t)
	runs := c.start("job", 1000)
	if got := published(c.rig); !slices.Equal(got, runs[:20]) {
		t.Fatalf("%d tasks were published at first: %v", len(got), got)
	}
	if held := c.held(); held != 980 {
		t.Errorf("%d runs are held", held)
	}
	other := c.start(c.other, 1)
	if got := published(c.rig); len(got) != 21 || got[20] != other[0] {
		t.Fatalf("the run of another namespace does not follow: %v", got)
	}
	c.claims(runs[0], runs[1], other[0])
	if got := published(c.rig); len(got) != 23 || !slices.Equal(got[21:], runs[20:22]) {
		t.Fatalf("two were claimed, and %v follow", got[21:])
	}
}

// Of a namespace whose tasks hardly leave the queue fewer wait there, so that a run of another one waits for less.
func TestWindowFollowsWhatExecutorsTake(t *testing.T) {
	c := newGated(t)
	runs := c.start("job", 1000)
	c.wait(3 * time.Second) // nothing is claimed
	c.claims(runs[:4]...)
	if got := published(c.rig); len(got) != 20 {
		t.Fatalf("16 wait in the queue, and %v follow", got[20:])
	}
	c.claims(runs[4])
	if got := published(c.rig); len(got) != 21 || got[20] != runs[20] {
		t.Fatalf("15 wait in the queue, and %v follow", got[20:])
	}
	c.wait(900 * time.Millisecond)
	c.claims(runs[5:21]...)
	c.wait(time.Second)
	if got := published(c.rig); len(got) < 38 {
		t.Errorf("the window did not grow with what executors take: only %d were published", len(got))
	}
}

func TestHeldRunIsNotLookedForInTheQueue(t *testing.T) {
	c := newGated(t)
	runs := c.start("job", 30)
	c.actions = nil
	c.wait(time.Minute)
	asked := 0
	for _, action := range c.actions {
		if perform, ok := action.(shard.Perform); ok {
			if inspect, ok := perform.Effect.(core.Inspect); ok {
				if asked++; slices.Contains(runs[20:], inspect.Run) {
					t.Fatalf("held run %s is looked for", inspect.Run)
				}
			}
		}
	}
	if asked == 0 {
		t.Error("no run is looked for")
	}
}

func TestHeldRunThatIsCancelledIsNotPublished(t *testing.T) {
	c := newGated(t)
	runs := c.start("job", 30)
	cancel := engine.Command{ID: "cancel", Shard: home, Kind: engine.CommandCancel, JobUID: "job", RunID: runs[20], By: "ann", At: c.now}
	c.give(shard.Woken{Wake: engine.Wake{Shard: home, Kind: engine.WakeCommand}})
	c.swept(shard.Swept{Commands: []engine.Command{cancel}})
	load := take[shard.LoadCommands](c.rig)
	c.give(shard.CommandsLoaded{Seat: load.Seat, Commands: load.Commands, Received: []core.CommandReceived{{Command: cancel, Snapshot: overlapping("job", "default")}}})
	c.written()
	c.claims(runs[:2]...) // before the queue has answered that the attempt is taken back
	c.give(shard.Answered{Seat: c.seats[home], Event: core.AttemptRevoked{Run: runs[20], Attempt: 1, Revoked: true}})
	if got := published(c.rig); !slices.Equal(got[20:], runs[21:23]) {
		t.Errorf("%v follow", got[20:])
	}
	if held := c.held(); held != 7 {
		t.Errorf("%d runs are held", held)
	}
}

// What an engine holds of a shard that it has lost is the new owner's to publish.
func TestHeldRunsAreForgottenWithTheirShard(t *testing.T) {
	c := newGated(t)
	runs := c.start("job", 30)
	seat := c.seats[home]
	c.give(shard.Owned{})
	c.results(seat, "late", engine.Result{Kind: engine.ResultStarted, Run: runs[0], Attempt: 1, Shard: home, Executor: "x", Token: 1, At: c.now})
	if got := published(c.rig); len(got) != 20 || c.held() != 0 {
		t.Errorf("%v follow, and %d are held", got[20:], c.held())
	}
}

// adopt has the machine find so many runs that the owner before has published, and that wait in the queue.
func (c *gated) adopt(n int) core.JobSnapshot {
	taken := overlapping(uidIn(home, 2)[1], "default")
	for i := range n {
		taken.Runs = append(taken.Runs, engine.Run{
			ID: fmt.Sprintf("%s-k%d", taken.UID, i), Revision: 2, Namespace: "default", JobUID: taken.UID, Job: taken.UID, Shard: home, Generation: 1,
			Trigger: engine.TriggerManual, Status: engine.StatusQueued, QueuedAt: start, Digest: "d", Tier: taken.Job.Spec.Tier, Class: taken.Job.Spec.Class,
			Attempt: 1, Attempts: []engine.Attempt{{N: 1, Status: engine.StatusQueued, QueuedAt: start}},
		})
	}
	c.know(taken)
	c.inspect(taken, engine.AttemptState{Waits: true})
	return taken
}

// inspect says of each run of a job what the queue knows of its first attempt.
func (c *gated) inspect(of core.JobSnapshot, state engine.AttemptState) {
	for i := range of.Runs {
		c.give(shard.Answered{Seat: c.seats[home], Event: core.AttemptInspected{Run: of.Runs[i].ID, Attempt: 1, State: state}})
	}
}

// Tasks that the owner before has published are in the queue, and take room there once they are found.
func TestTasksOfAFormerOwnerCount(t *testing.T) {
	c := newGated(t)
	taken := c.adopt(19)
	runs := c.start("job", 5)
	if got := published(c.rig); !slices.Equal(got, runs[:1]) {
		t.Fatalf("beside 19 tasks %v were published", got)
	}
	c.claims(taken.Runs[0].ID, taken.Runs[1].ID)
	if got := published(c.rig); !slices.Equal(got, runs[:3]) {
		t.Errorf("beside 17 tasks %v were published", got)
	}
}

// They may be more than the window lets in. What the queue loses of them comes back as far as there is room.
func TestTasksOfAFormerOwnerThatTheQueueLosesWaitForRoom(t *testing.T) {
	c := newGated(t)
	runs := c.start("job", 18)
	taken := c.adopt(5)
	c.wait(time.Minute)
	c.inspect(taken, engine.AttemptState{})
	c.written()
	if got := published(c.rig); len(got) != 20 || c.held() != 3 {
		t.Fatalf("%d tasks were published, and %d are held", len(got), c.held())
	}
	c.claims(runs[:3]...)
	if got := published(c.rig); len(got) != 23 || c.held() != 0 {
		t.Errorf("with room %d tasks were published, and %d are held", len(got), c.held())
	}
}

// ends has executors report that attempts have succeeded.
func (c *gated) ends(runs ...string) {
	var results []engine.Result
	for _, run := range runs {
		finish := &engine.Finish{Status: engine.StatusSucceeded}
		results = append(results, engine.Result{Kind: engine.ResultFinished, Run: run, Attempt: 1, Shard: home, Executor: "x", Token: 1, At: c.now, Finish: finish})
	}
	c.results(c.seats[home], "ends", results...)
	c.written()
}

func TestNamespaceKeepsToItsBound(t *testing.T) {
	c := newGated(t)
	c.give(shard.Bounded{Running: map[string]int{"default": 5}})
	runs := c.start("job", 30)
	other := c.start(c.other, 3)
	if got := published(c.rig); !slices.Equal(got, slices.Concat(runs[:5], other)) {
		t.Fatalf("%v were published", got)
	}
	c.claims(runs[0], runs[1])
	if got := published(c.rig); len(got) != 8 {
		t.Fatalf("5 are under way, and %v follow", got[8:])
	}
	if got, want := c.machine.Counts()["default"], (engine.RunCount{Waiting: 28, Running: 2}); got != want {
		t.Errorf("counted are %+v", got)
	}
	c.ends(runs[0], runs[1])
	if got := published(c.rig); len(got) != 10 || !slices.Equal(got[8:], runs[5:7]) {
		t.Fatalf("two have ended, and %v follow", got[8:])
	}
	c.give(shard.Bounded{})
	if got := published(c.rig); len(got) < 20 {
		t.Errorf("without a bound only %d were published", len(got))
	}
}

// A namespace at its bound lets its tiers go in turn: none waits until another has nothing left.
func TestTiersOfABoundedNamespaceTakeTurns(t *testing.T) {
	c := newGated(t)
	heavy := overlapping(c.other, "default")
	heavy.Job.Spec.Tier = spec.TierHeavy
	heavy.Job.Revision, heavy.Job.Generation = 2, 2
	c.know(heavy)
	c.give(shard.Bounded{Running: map[string]int{"default": 2}})
	first := c.start("job", 10)
	second := c.startOf(heavy, 10)
	c.ends(first[0])
	c.ends(first[1])
	if got := published(c.rig); !slices.Equal(got, []string{first[0], first[1], first[2], second[0]}) {
		t.Errorf("%v were published", got)
	}
}
