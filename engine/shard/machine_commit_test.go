package shard_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// errUnknown is a commit of which nothing is known.
var errUnknown = errors.New("the answer was lost")

func TestACommitWithAnUnknownOutcomeIsRepeatedUnchanged(t *testing.T) {
	r := working(t)
	r.results(r.seats[home], "receipt", finished(slotRun(10)))
	first := take[shard.Commit](r).Commits[0]
	if first.Term != 1 || first.Position != 1 {
		t.Errorf("the first commit has term %d and position %d", first.Term, first.Position)
	}
	last := time.Duration(0)
	for range 8 {
		r.give(shard.Committed{Seats: []shard.Seat{r.seats[home]}, Errors: []error{errUnknown}})
		not[shard.Commit](r)
		began := r.now
		for tries := 0; !has[shard.Commit](r); tries++ {
			if tries > 50 {
				t.Fatal("it is not tried again")
			}
			r.wait(r.machine.Next().Sub(r.now))
			if has[shard.Sweep](r) {
				r.swept(shard.Swept{})
			}
		}
		if again := take[shard.Commit](r).Commits[0]; again != first {
			t.Fatalf("%+v is written after %+v", again, first)
		}
		most, waited := shard.DefaultConfig().RetryMax, r.now.Sub(began)
		if waited > most || waited < last && waited < most {
			t.Errorf("waited %s after %s", waited, last)
		}
		last = waited
	}
	not[shard.Acknowledge](r)
	r.give(shard.Committed{Seats: []shard.Seat{r.seats[home]}, Errors: []error{nil}})
	take[shard.Acknowledge](r)
	r.wait(20 * time.Second)
	if next := take[shard.Commit](r).Commits[0]; next.Position != 2 {
		t.Errorf("the next commit has position %d", next.Position)
	}
}

// A store that takes no more than some runs at a time is given not many more, and every shard has its turn.
func TestShardsTakeTurnsWhereAllOfItIsTooMuch(t *testing.T) {
	const jobs, most = 12, 10
	config := shard.DefaultConfig()
	config.Core.CommitRuns, config.Core.Lead = most, 0
	shards := []int{1, 2, 3}
	r := beginWith(t, config, shards...)
	for _, number := range shards {
		for _, uid := range uidIn(number, jobs) {
			r.know(jobOf(uid))
		}
	}
	r.wait(10 * time.Second) // the slots of all of them come
	var turns []int
	written := map[string]bool{}
	for range 4 {
		commit, runs := take[shard.Commit](r), 0
		for _, c := range commit.Commits {
			for i := range c.Batch.Runs {
				written[c.Batch.Runs[i].ID] = true
			}
			runs += len(c.Batch.Runs)
		}
		if runs >= 2*most {
			t.Errorf("a commit holds %d runs", runs)
		}
		turns = append(turns, commit.Commits[0].Shard)
		r.committed(commit)
		r.wait(10 * time.Millisecond)
	}
	not[shard.Commit](r)
	if len(written) != jobs*len(shards) || !slices.Equal(turns, []int{1, 2, 3, 1}) {
		t.Errorf("%d runs were written, and the turns were %v", len(written), turns)
	}
}

func TestACommitThatChecksFindsAFenceWithoutWork(t *testing.T) {
	for every, checks := range map[time.Duration]bool{0: false, 5 * time.Second: true} {
		config := shard.DefaultConfig()
		config.CheckEvery = every
		r := beginWith(t, config, home) // who began half a second ago
		r.wait(4500*time.Millisecond - time.Millisecond)
		not[shard.Commit](r)
		r.wait(time.Millisecond)
		if has[shard.Commit](r) != checks {
			t.Fatalf("with a check every %s there is a commit: %v", every, !checks)
		}
		if !checks {
			continue
		}
		commit := take[shard.Commit](r)
		if !commit.Commits[0].Batch.Empty() {
			t.Errorf("it writes %+v", commit.Commits[0].Batch)
		}
		r.committed(commit, engine.ErrFenced)
		if leave := take[shard.Leave](r); leave.Shard != home || leave.Why == "" {
			t.Errorf("%+v", leave)
		}
	}
}

// The engine says how far it is behind, whatever is being written.
func TestACommitThatChecksHidesNoBacklog(t *testing.T) {
	config := shard.DefaultConfig()
	config.CheckEvery = 9500 * time.Millisecond
	r := beginWith(t, config, home)
	r.know(job())
	r.wait(9500 * time.Millisecond)
	take[shard.Commit](r) // that checks, and is under way
	r.wait(time.Second)   // the slot comes
	if stats := r.machine.Stats(); stats.Unwritten == 0 || stats.Since.IsZero() {
		t.Errorf("%d jobs wait for the store since %s", stats.Unwritten, stats.Since)
	}
}

// Where shards move, news that changes nothing may be of runs that the next owner of the shard has created: it is left to that owner.
func TestNewsIsAcknowledgedOnlyWhileTheShardIsSurelyThisEngines(t *testing.T) {
	for _, answer := range []error{nil, engine.ErrFenced} {
		config := shard.DefaultConfig()
		config.CheckEvery = 5 * time.Second
		r := beginWith(t, config, home)
		r.results(r.seats[home], "receipt", finished(slotRun(10)))
		not[shard.Acknowledge](r)
		r.committed(take[shard.Commit](r), answer)
		if has[shard.Acknowledge](r) != (answer == nil) {
			t.Errorf("after a commit that was answered by %v, the news is acknowledged: %v", answer, answer != nil)
		}
	}
}
