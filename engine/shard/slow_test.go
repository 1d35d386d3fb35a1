package shard_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/memory"
)

// slowStore takes its time for each document that is written.
type slowStore struct {
	*memory.Store
	rate    time.Duration // a second by the documents that it takes in one
	writes  atomic.Int64
	largest atomic.Int64 // runs that were written at one time
}

func (s *slowStore) Commit(ctx context.Context, commits []engine.ShardCommit) []error {
	n, runs := 0, 0
	for i := range commits {
		d := commits[i].Batch
		n += len(d.Waves) + len(d.Runs) + len(d.DeadLetters) + len(d.Slots) + len(d.DropLetters) + len(d.DropRuns) +
			len(d.Tasks) + len(d.DropTasks) + len(d.Handled) + len(d.HandledDAGs) + len(d.Done)
		runs += len(d.Runs)
	}
	select {
	case <-time.After(time.Duration(n) * s.rate):
	case <-ctx.Done(): // nothing is known
		return slices.Repeat([]error{context.Cause(ctx)}, len(commits))
	}
	s.writes.Add(int64(n))
	s.largest.Store(max(s.largest.Load(), int64(runs)))
	return s.Store.Commit(ctx, commits)
}

// slowly is a world whose store takes that many documents a second.
func slowly(t *testing.T, takes time.Duration, perSecond int) (*world, *slowStore) {
	w := newWorld(t, takes)
	slow := &slowStore{Store: w.store, rate: time.Second / time.Duration(perSecond)}
	w.engineStore, w.log = slow, slog.New(slog.DiscardHandler)
	return w, slow
}

// ended counts the runs that have ended well, and returns when the last of them did.
func (w *world) ended() (good int, last time.Time) {
	w.t.Helper()
	filter := engine.RunFilter{Limit: 1000}
	for {
		runs, next, err := w.store.Runs(w.t.Context(), filter)
		if err != nil {
			w.t.Fatal(err)
		}
		for i := range runs {
			if runs[i].Status == engine.StatusSucceeded {
				good++
				if runs[i].FinishedAt.After(last) {
					last = runs[i].FinishedAt
				}
			}
		}
		if next == "" {
			return good, last
		}
		filter.Cursor = next
	}
}

// handled lets time pass until the engine has acted upon all jobs.
func (w *world) handled() {
	w.t.Helper()
	all := make([]int, engine.Shards)
	for i := range all {
		all[i] = i
	}
	for range 1000 {
		pass(time.Second)
		pending, err := w.store.PendingJobs(w.t.Context(), all, 1)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(pending) == 0 {
			return
		}
	}
	w.t.Fatal("jobs are not acted upon")
}

// A store of 1,000 documents a second needs most of a minute for 20,000 runs. They start as they become durable, the first
// at once, and nothing is written again because it took long.
func TestTwentyThousandRunsAtOneInstantOnASlowStoreAllRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const jobs, rate = 20_000, 1000
		w, slow := slowly(t, 50*time.Millisecond, rate)
		instant := time.Now().Add(5 * time.Minute)
		for i := range jobs {
			w.create(fmt.Sprintf("job%d", i), func(j *spec.Job) { j.At = &instant })
		}
		_, stop := w.start()
		w.handled()
		before := slow.writes.Load()
		pass(time.Until(instant.Add(10 * time.Second)))
		if began := len(w.queue.begun()); began < 1000 {
			t.Errorf("10 s after their instant %d runs have begun", began)
		}
		pass(110 * time.Second)
		stop()
		w.queue.work.Wait()
		good, last := w.ended()
		if good != jobs {
			t.Errorf("two minutes after their instant %d of %d runs have succeeded", good, jobs)
		}
		each := float64(slow.writes.Load()-before) / jobs
		t.Logf("the last ended %s after the instant; %.2f documents written a run, %d runs in the largest commit", last.Sub(instant), each, slow.largest.Load())
		if each > 4 {
			t.Errorf("%.2f documents were written for each run", each)
		}
		if slow.largest.Load() >= 2*engine.CommitRuns {
			t.Errorf("%d runs were written at one time", slow.largest.Load())
		}
		if w.queue.asked > 0 {
			t.Errorf("the queue was asked %d times for attempts that wait for the store", w.queue.asked)
		}
		w.once()
	})
}

// What an outage has left is more than the store takes in a while: every slot that is caught up runs, and every other one is
// recorded.
func TestTheCatchUpOfAnOutageOnASlowStoreRunsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const jobs, slots, rate = 200, 60, 1000
		w, slow := slowly(t, 50*time.Millisecond, rate)
		for i := range jobs {
			w.create(fmt.Sprintf("job%d", i), func(j *spec.Job) {
				j.Every, j.Overlap = spec.Duration(time.Minute), spec.OverlapAllow
				j.CatchUp = spec.CatchUp{Policy: spec.CatchUpAll, Window: spec.Duration(24 * time.Hour)}
			})
		}
		_, stop := w.start()
		w.handled()
		stop()
		w.queue.work.Wait()
		began := len(w.queue.begun())
		pass(slots * time.Minute) // no engine runs
		_, stop = w.start()
		pass(2 * time.Minute)
		stop()
		w.queue.work.Wait()
		good, _ := w.ended()
		t.Logf("%d runs, %d documents", good, slow.writes.Load())
		if most := began + jobs*slots; good < most {
			t.Errorf("two minutes after an outage of %d slots %d of at least %d runs have succeeded", slots, good, most)
		}
		if slow.largest.Load() >= 2*engine.CommitRuns {
			t.Errorf("%d runs were written at one time", slow.largest.Load())
		}
		w.once()
	})
}

// Of a store that takes the documents of 300 runs a second 500 are asked for half a minute. The backlog grows and shrinks again,
// no slot is lost to it, and the engine says how far it is behind.
func TestMoreRunsThanTheStoreTakesAllRunLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perSecond, seconds, rate = 500, 30, 900 // a run is three documents
		w, _ := slowly(t, 50*time.Millisecond, rate)
		first := time.Now().Add(5 * time.Minute)
		for i := range perSecond * seconds {
			at := first.Add(time.Duration(i/perSecond) * time.Second)
			w.create(fmt.Sprintf("job%d", i), func(j *spec.Job) { j.At = &at })
		}
		runner, stop := w.start()
		w.handled()
		pass(time.Until(first.Add(seconds * time.Second)))
		if stats := runner.Stats(); stats.Unwritten < 1000 || time.Since(stats.Since) < 5*time.Second {
			t.Errorf("in the middle of it the engine says that %d jobs wait for the store, since %s", stats.Unwritten, time.Since(stats.Since))
		}
		pass(3 * time.Minute)
		if stats := runner.Stats(); stats.Unwritten > 0 {
			t.Errorf("at the end %d jobs wait for the store", stats.Unwritten)
		}
		stop()
		w.queue.work.Wait()
		good, last := w.ended()
		t.Logf("the last ended %s after the last instant", last.Sub(first.Add((seconds-1)*time.Second)))
		if good != perSecond*seconds {
			t.Errorf("%d of %d runs have succeeded", good, perSecond*seconds)
		}
		w.once()
	})
}

var _ shard.Store = (*slowStore)(nil)
