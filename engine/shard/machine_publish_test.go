package shard_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// prepared has a run of the slot of 10 s on its way into the store.
func prepared(t *testing.T) (*rig, shard.Commit) {
	r := begin(t)
	r.know(job())
	r.wait(9900 * time.Millisecond)
	return r, take[shard.Commit](r)
}

func published(r *rig) []string {
	var runs []string
	for _, action := range r.actions {
		if perform, ok := action.(shard.Perform); ok {
			if publish, ok := perform.Effect.(core.Publish); ok {
				runs = append(runs, publish.Task.Run)
			}
		}
	}
	return runs
}

func TestATaskIsPublishedAtItsSlotWhenItsRunIsDurable(t *testing.T) {
	r, commit := prepared(t)
	r.committed(commit)
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
	r.committed(commit)
	r.settle()
	if got := published(r); len(got) != 1 {
		t.Fatalf("%v were published", got)
	}
}

// What is committed under the present term is published, however long the store took: nothing is written again for that.
func TestASlowWriteIsPublishedAndNotRepeated(t *testing.T) {
	r, commit := prepared(t)
	r.wait(time.Minute)
	r.committed(commit)
	not[shard.Leave](r)
	r.settle()
	if got := published(r); !slices.Contains(got, slotRun(10)) {
		t.Errorf("%v were published", got)
	}
}

// A queue that has dropped a task reports it: otherwise no engine may check its run for minutes.
func TestATaskThatHasGoneFromTheQueueIsPublishedAgain(t *testing.T) {
	r, commit := prepared(t)
	r.committed(commit)
	r.wait(100 * time.Millisecond)
	r.settle()
	if got := published(r); len(got) != 1 {
		t.Fatalf("%v were published", got)
	}
	r.stand(5 * time.Minute) // the looks of the core are far between by now
	r.settle()
	for _, attempt := range []int{7, 1} { // of the first nothing is known
		r.actions = nil
		r.give(shard.Woken{Wake: engine.Wake{Shard: home, Kind: engine.WakeTask, Key: slotRun(10), Attempt: attempt}})
		r.settle()
		revokes := slices.ContainsFunc(r.actions, func(action shard.Action) bool {
			perform, ok := action.(shard.Perform)
			if !ok {
				return false
			}
			revoke, ok := perform.Effect.(core.Revoke)
			return ok && revoke.Run == slotRun(10) && revoke.Attempt == 1
		})
		if revokes != (attempt == 1) {
			t.Errorf("attempt %d is taken back: %v", attempt, revokes)
		}
	}
	r.give(shard.Answered{Seat: r.seats[home], Event: core.AttemptRevoked{Run: slotRun(10), Attempt: 1, Revoked: true}})
	r.settle()
	if got := published(r); len(got) != 1 || got[0] != slotRun(10) {
		t.Errorf("%v were published again", got)
	}
}
