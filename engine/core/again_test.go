package core_test

import (
	"slices"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
)

// What an engine finds in the store when it begins.

// TestWhatMayHaveBeenPublishedIsMarked: an engine that crashed may have published what it had prepared. The executor that
// receives the copy must not take an old claim that is missing for one that never was.
func TestWhatMayHaveBeenPublishedIsMarked(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "every=60s"})
	published := func() *engine.Task {
		t.Helper()
		effects := b.core.Step(b.now, core.Tick{})
		for ready := b.core.Ready(); ready != nil; ready = b.core.Ready() {
			b.write(ready.Batch)
			effects = append(effects, ready.After...)
			b.core.Committed(ready)
		}
		for _, effect := range effects {
			if publish, ok := effect.(core.Publish); ok {
				return publish.Task
			}
		}
		t.Fatalf("nothing is published: %v", effects)
		return nil
	}
	b.do([]string{"at", "59.75s"})
	b.now = b.seconds("60s")
	if task := published(); task.Again {
		t.Errorf("attempt %d of run %s was never published before", task.Attempt, b.runName(task.Run))
	}
	b.do([]string{"started", "60s/1"})
	b.do([]string{"finished", "60s/1", "0"})
	b.do([]string{"at", "119.75s"})
	b.do([]string{"crash"})
	b.load()
	b.now = b.seconds("120s")
	if task := published(); !task.Again {
		t.Errorf("attempt %d of run %s may have been published before", task.Attempt, b.runName(task.Run))
	}
}

// TestWaitingRunEndsWithItsDeletedJobAfterARestart: a waiting run stands behind one which the deletion of the job ends. It does not go
// because nothing is in its way any more.
func TestWaitingRunEndsWithItsDeletedJobAfterARestart(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "every=60s", "overlap=queue", "tries=2"})
	for _, line := range [][]string{{"at", "60s"}, {"started", "60s/1"}, {"at", "120s"}, {"finished", "60s/1", "1"}, {"quietly", "delete"}} {
		b.do(line)
	}
	b.out = nil
	b.do([]string{"restart", "120.5s"})
	if !slices.Contains(b.out, "run 120s cancelled waiting: cancelled by the deletion of its job") ||
		slices.Contains(b.out, "run 120s queued #1") {
		t.Errorf("the waiting run does not end with its job: %q", b.out)
	}
}

// TestNoSlotOfAFixedDelayComesAgain: an edit finds a run under way that had ended long before and is retried manually. That
// is cancelled while it waits, and its end is that of its last attempt: what followed it has run.
func TestNoSlotOfAFixedDelayComesAgain(t *testing.T) {
	b := newBench(t)
	for _, line := range [][]string{
		{"define", "after=3s", "overlap=queue"}, {"at", "3s"}, {"started", "3s/1"}, {"at", "5s"}, {"finished", "3s/1", "1"},
		{"at", "8s"}, {"started", "8s/1"}, {"at", "9s"}, {"finished", "8s/1", "0"},
		{"run", "other"}, {"started", "other/1"}, {"retry", "3s"},
		{"at", "10s"}, {"define", "after=3s", "overlap=queue", "tries=2"}, {"at", "11s"},
	} {
		b.do(line)
	}
	b.out = nil
	b.do([]string{"cancel", "3s"})
	if want := "next slot 13s"; !slices.Contains(b.out, want) {
		t.Errorf("got %q, want %s: the edit and its delay", b.out, want)
	}
}

// TestAFixedDelayRepeatsNoSlotOfAnEarlierVersion: the clock went back behind slots that are in the ledger, and an edit makes a fixed
// delay of the schedule while a run is under way. Those slots may be of the version before, or of one before that.
func TestAFixedDelayRepeatsNoSlotOfAnEarlierVersion(t *testing.T) {
	for _, edits := range []int{0, 1} {
		b := newBench(t)
		for _, line := range [][]string{{"define", "every=1s", "overlap=skip"}, {"at", "1s"}, {"started", "1s/1"}, {"at", "6s"}} {
			b.do(line)
		}
		for range edits {
			b.do([]string{"define", "every=13s", "overlap=skip"})
		}
		b.now = b.seconds("2s")
		b.do([]string{"define", "after=1s", "overlap=skip"})
		b.out = nil
		b.do([]string{"finished", "1s/1", "0"})
		if want := "next slot 7s"; !slices.Contains(b.out, want) {
			t.Errorf("%d edits between: got %q, want %s: those up to 6s have been skipped", edits, b.out, want)
		}
	}
}

// TestALaterSlotDoesNotGoBeforeOneThatWaitsForNews: an engine that has just taken over lets a slot wait until it has heard of the
// run before. That ends, and the next slot comes before the first is looked at again.
func TestALaterSlotDoesNotGoBeforeOneThatWaitsForNews(t *testing.T) {
	b := newBench(t)
	for _, line := range [][]string{
		{"define", "every=2s", "overlap=skip"}, {"at", "1.75s"}, {"at", "2s"}, {"started", "2s/1"},
		{"restart", "5.95s"}, {"finished", "2s/1", "0"}, {"at", "6s"},
	} {
		b.do(line)
	}
	if slices.Contains(b.out, "now publish 6s/1") {
		t.Errorf("the slot of 6s goes before that of 4s: %q", b.out)
	}
	b.do([]string{"at", "6.2s"})
	if !slices.Contains(b.out, "now publish 4s/1") {
		t.Errorf("the slot of 4s does not go: %q", b.out)
	}
}

// TestARunThatMayHaveBeenPublishedIsSupervisedUnderBothLocks: an engine that lost its shard publishes a run as it prepared it. The
// next owner has seen an edit meanwhile, by which runs may overlap, or may not any more: the executor holds the lock of before.
func TestARunThatMayHaveBeenPublishedIsSupervisedUnderBothLocks(t *testing.T) {
	for _, policies := range [][2]string{{"queue", "allow"}, {"allow", "queue"}} {
		b := newBench(t)
		b.do([]string{"define", "every=60s", "overlap=" + policies[0]})
		b.do([]string{"at", "59.75s"})
		b.do([]string{"quietly", "define", "every=60s", "overlap=" + policies[1]})
		b.do([]string{"restart", "59.8s"})
		b.do([]string{"at", "60s"})
		b.do([]string{"started", "60s/1"})
		b.now = b.seconds("80s")
		locks := map[string]bool{}
		for _, effect := range b.core.Step(b.now, core.Tick{}) {
			if inspect, ok := effect.(core.Inspect); ok {
				for _, lock := range inspect.Locks {
					locks[lock] = true
				}
			}
		}
		if !locks[benchUID] || !locks[b.runID("60s")] || len(locks) != 2 {
			t.Errorf("from overlap %s to %s, the locks that are looked for are %v", policies[0], policies[1], locks)
		}
	}
}

// TestARetryOfAnEndThatWasRetriedAlreadyIsNotActedOn: two users retry the same end. The second command was read together with the run
// before the first was acted on, and comes after the run has ended once more.
func TestARetryOfAnEndThatWasRetriedAlreadyIsNotActedOn(t *testing.T) {
	b := newBench(t)
	for _, line := range [][]string{{"define"}, {"run", "a"}, {"started", "a/1"}, {"finished", "a/1", "64"}} {
		b.do(line)
	}
	seen, err := b.store.Run(t.Context(), b.runID("a"))
	if err != nil {
		t.Fatal(err)
	}
	b.core.Hold(benchUID) // the second command is being read
	for _, line := range [][]string{{"retry", "a"}, {"started", "a/2"}, {"finished", "a/2", "64"}} {
		b.do(line)
	}
	b.out = nil
	command := engine.Command{ID: "second", Kind: engine.CommandRetry, JobUID: benchUID, RunID: seen.ID, Shard: benchShard, By: "bob",
		Revision: seen.Revision}
	b.step(core.CommandReceived{Command: command, Run: &seen})
	if !slices.Equal(b.out, []string{"command done second"}) {
		t.Errorf("the run begins once more: %q", b.out)
	}
}

// TestARunThatAnotherEnginePreparedIsPublishedAfterTheCommit: an engine that has lost its shard and does not know it reads what the new
// owner has prepared. The new owner may give the run up, so the engine publishes the run only with a commit, which is refused.
func TestARunThatAnotherEnginePreparedIsPublishedAfterTheCommit(t *testing.T) {
	b := newBench(t)
	for _, line := range [][]string{{"define", "every=60s"}, {"at", "59.75s"}, {"restart", "59.8s"}, {"at", "60s"}} {
		b.do(line)
	}
	if slices.Contains(b.out, "now publish 60s/1") || !slices.Contains(b.out, "then publish 60s/1") {
		t.Errorf("what another engine has prepared led to %q", b.out)
	}
}

// TestARetryWaitsForARunThatMayHaveBeenPublished: an engine has published a run at its slot and lost its shard before it could write that.
// The clock goes back behind the slot, and the next owner is asked to try an earlier run again.
func TestARetryWaitsForARunThatMayHaveBeenPublished(t *testing.T) {
	b := newBench(t)
	for _, line := range [][]string{
		{"define", "every=60s", "overlap=skip"}, {"at", "60s"}, {"started", "60s/1"}, {"finished", "60s/1", "1"}, {"at", "119.75s"}, {"crash"},
	} {
		b.do(line)
	}
	b.now = b.seconds("110s")
	b.load()
	b.out = nil
	b.do([]string{"retry", "60s"})
	if slices.Contains(b.out, "then publish 60s/2") || !slices.Contains(b.out, "run 60s retrying #1 waiting") {
		t.Errorf("the retry led to %q", b.out)
	}
	b.do([]string{"run", "other"})
	b.do([]string{"cancel", "other"})
	if slices.Contains(b.out, "then publish 60s/2") {
		t.Errorf("it goes as another run that waited has ended: %q", b.out)
	}
	for _, line := range [][]string{{"started", "120s/1"}, {"finished", "120s/1", "0"}} {
		b.do(line)
	}
	if !slices.Contains(b.out, "then publish 60s/2") {
		t.Errorf("after the end of the run it does not go: %q", b.out)
	}
}

// TestAMomentThatHasARunDoesNotComeAgain: a job ran once at a moment, was given another one, and is given the first again.
func TestAMomentThatHasARunDoesNotComeAgain(t *testing.T) {
	b := newBench(t)
	for _, line := range [][]string{
		{"define", "at=5s"}, {"at", "5s"}, {"started", "5s/1"}, {"finished", "5s/1", "0"}, {"at", "8s"},
		{"define", "at=60s"}, {"at", "9s"},
	} {
		b.do(line)
	}
	b.out = nil
	b.do([]string{"define", "at=5s"})
	if slices.Contains(b.out, "then publish 5s/1") || !slices.Contains(b.out, "next slot never") {
		t.Errorf("the moment comes again: %q", b.out)
	}
}
