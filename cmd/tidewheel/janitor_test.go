package main

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/blob"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/memory"
)

// oldHistory is a store with some runs and ledger entries to expire, a few at a time.
type oldHistory struct {
	mu            sync.Mutex // the janitor has two loops
	*memory.Store            // with whatever the methods below do not answer
	runs          []engine.Run
	waves         int
	slots         int
	effects       int
	deleted       []string
	dropped       []string // runs whose artifacts were deleted
	before        []time.Time
	shards        []int                // whose runs were asked for
	letters       map[string]time.Time // dead ones, by their runs
	stored        map[string]bool      // programs by their digests
	found         []map[string]int64   // bytes in S3 of runs
	took          time.Duration        // each look for runs
	written       time.Time            // what is in S3
}

func (h *oldHistory) ExpireRuns(_ context.Context, shards []int, what engine.Expiry, limit int) (expired engine.ExpiredRuns, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.before = append(h.before, what.Before)
	<-time.After(h.took)
	n := min(limit, 2, len(h.runs))
	h.shards = append(h.shards, shards...)
	expired.Count, expired.Beside = n, h.runs[:n]
	for i := range expired.Beside {
		expired.Upto = expired.Beside[i].FinishedAt
	}
	h.runs = h.runs[n:]
	return expired, nil
}

func (h *oldHistory) ExpireWaves(_ context.Context, what engine.Expiry, limit int) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.before = append(h.before, what.Before)
	n := min(limit, 7, h.waves)
	h.waves -= n
	return n, nil
}

func (h *oldHistory) ExpireSlots(_ context.Context, what engine.Expiry, limit int) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.before = append(h.before, what.Before)
	n := min(limit, h.slots)
	h.slots -= n
	return n, nil
}

func (h *oldHistory) ExpireEffects(_ context.Context, before time.Time, limit int) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.before = append(h.before, before)
	n := min(limit, h.effects)
	h.effects -= n
	return n, nil
}

func (h *oldHistory) DeleteLogs(_ context.Context, run string) (int64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deleted = append(h.deleted, run)
	return 100, nil
}

func (h *oldHistory) DeleteArtifacts(_ context.Context, run string) (int64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropped = append(h.dropped, run)
	return 1000, nil
}

// RunBytes reports what is in found.
func (h *oldHistory) RunBytes(_ context.Context, each func(map[string]int64) error) error {
	for _, bytes := range h.found {
		if err := each(bytes); err != nil {
			return err
		}
	}
	return nil
}

// SweepRuns holds, last written when the test says, the outputs of a-s1 and gone-s1, and the artifacts of a-s1 and lost-s1.
func (h *oldHistory) SweepRuns(ctx context.Context, folder blob.Folder, unwanted blob.Unwanted) (swept int, err error) {
	runs, removed := []string{"a-s1", "gone-s1"}, &h.deleted
	if folder == blob.Artifacts {
		runs, removed = []string{"a-s1", "lost-s1"}, &h.dropped
	}
	going, err := unwanted(ctx, runs)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, run := range runs {
		if before, goes := going[run]; err == nil && goes && h.written.Before(before) {
			*removed = append(*removed, run)
			swept++
		}
	}
	return swept, err
}

// SweepBinaries removes at once what is unused.
func (h *oldHistory) SweepBinaries(ctx context.Context, before time.Time, used usedBinaries) (removed []string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.before = append(h.before, before)
	digests := slices.Sorted(maps.Keys(h.stored))
	h.mu.Unlock() // it asks for runs
	inUse, err := used(ctx, digests)
	h.mu.Lock()
	for digest := range h.stored {
		if err == nil && !inUse[digest] {
			delete(h.stored, digest)
			removed = append(removed, digest)
		}
	}
	return removed, err
}

func (h *oldHistory) DeleteDeadLetter(_ context.Context, run string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, there := h.letters[run]; !there {
		return engine.ErrNotFound
	}
	delete(h.letters, run)
	return nil
}

func (h *oldHistory) ExpireDeadLetters(_ context.Context, what engine.Expiry, limit int) (deleted int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for run, at := range h.letters {
		if at.Before(what.Before) && deleted < limit {
			delete(h.letters, run)
			deleted++
		}
	}
	return deleted, nil
}

func (h *oldHistory) SweepUploads(context.Context, time.Duration) (int, error) { return 0, nil }

func (h *oldHistory) RunsByID(_ context.Context, ids []string) ([]engine.Run, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []engine.Run
	for i := range h.runs {
		if slices.Contains(ids, h.runs[i].ID) {
			found = append(found, h.runs[i])
		}
	}
	return found, nil
}

func TestJanitorRemovesOutputsThatACrashLeft(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name    string
		keep    retention
		written time.Time
		removed bool
	}{
		{"as old as the history that is kept", retention{History: time.Hour}, now.Add(-time.Hour - time.Second), true},
		{"younger", retention{History: time.Hour}, now.Add(-time.Hour), false},
		{"without a retention", retention{}, time.Time{}, false},
	} {
		history := &oldHistory{Store: memory.New(), runs: []engine.Run{{ID: "a-s1"}}, written: test.written}
		j := newJanitor(history, history, newStoredBytes(history, testLog(t)), test.keep, alone, testLog(t), newMetrics())
		j.now, j.pause, j.breath = func() time.Time { return now }, 0, noBreath
		if err := j.sweepOutput(t.Context()); err != nil {
			t.Fatal(err)
		}
		var outputs, artifacts []string
		if test.removed {
			outputs, artifacts = []string{"gone-s1"}, []string{"lost-s1"}
		}
		if !slices.Equal(history.deleted, outputs) || !slices.Equal(history.dropped, artifacts) {
			t.Errorf("%s: it removed outputs of %v and artifacts of %v, want those of %v and %v", test.name, history.deleted, history.dropped, outputs, artifacts)
		}
	}
}

func alone(int) bool { return true }

// Of several engines one removes what is old, and another takes over from it.
func TestJanitorRemovesRecordsThatExpired(t *testing.T) {
	history := &oldHistory{Store: memory.New()}
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for key, expires := range map[string]time.Time{"old": now.Add(-time.Second), "young": now.Add(time.Second), "lasting": {}} {
		if err := history.InsertRecord(t.Context(), engine.Record{Kind: "session", Key: key, Revision: 1, ExpiresAt: expires}); err != nil {
			t.Fatal(err)
		}
	}
	for _, turn := range []bool{false, true} {
		owns := func(int) bool { return turn }
		j := newJanitor(history, history, newStoredBytes(history, testLog(t)), retention{}, owns, testLog(t), newMetrics())
		j.now = func() time.Time { return now }
		j.expireOld(t.Context())
		left, err := history.Records(t.Context(), engine.RecordFilter{Kind: "session", Limit: 10})
		if err != nil || len(left) != map[bool]int{false: 3, true: 2}[turn] {
			t.Errorf("where it is its turn (%v): %d are left, %v", turn, len(left), err)
		}
	}
}

func TestJanitorWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		history := &oldHistory{Store: memory.New(), waves: 1}
		var turn atomic.Bool
		owns := func(int) bool { return turn.Load() }
		j := newJanitor(history, history, newStoredBytes(history, testLog(t)), retention{History: time.Hour}, owns, testLog(t), newMetrics())
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { j.run(ctx) })
		<-time.After(janitorFirst + time.Second)
		synctest.Wait()
		if len(history.before) > 0 {
			t.Error("it did not wait")
		}
		turn.Store(true)
		<-time.After(janitorEvery)
		synctest.Wait()
		if history.waves > 0 {
			t.Error("it did not take over")
		}
		cancel()
		running.Wait()
	})
}

// Each engine removes the runs of its own shards, and one of them the rest.
func TestJanitorRemovesRunsOfItsOwnShards(t *testing.T) {
	for _, test := range []struct {
		owned, waves int
		apart        bool
	}{{0, 0, false}, {9, 1, false}, {9, 1, true}} {
		history := &oldHistory{Store: memory.New(), waves: 1, runs: []engine.Run{{ID: "a-s1"}}}
		owns := func(shard int) bool { return shard%10 == test.owned }
		j := newJanitor(history, history, newStoredBytes(history, testLog(t)), retention{History: time.Hour}, owns, testLog(t), newMetrics())
		j.pause, j.apart = 0, test.apart
		if err := j.expire(t.Context(), &ageClass{age: time.Hour}); err != nil {
			t.Fatal(err)
		}
		var want []int
		for shard := test.owned; shard < engine.Shards; shard += 10 {
			want = append(want, shard)
		}
		asked := slices.Compact(slices.Sorted(slices.Values(history.shards)))
		if !slices.Equal(asked, want) || len(history.runs) > 0 {
			t.Errorf("it removes runs of the shards %v and leaves %d, want those of %v", asked, len(history.runs), want)
		}
		if history.waves != test.waves {
			t.Errorf("the owner of shard %d leaves %d waves, want %d", test.owned, history.waves, test.waves)
		}
	}
}

func TestJanitorRemovesHistoryWithItsOutput(t *testing.T) {
	small, large := &engine.Output{Size: 3}, &engine.Output{Size: 9 << 20, Chunks: 3}
	history := &oldHistory{Store: memory.New(), waves: 20, slots: 1200, effects: 700, runs: []engine.Run{
		{ID: "a-s1", Attempts: []engine.Attempt{{N: 1, Output: small}}},
		{ID: "a-s2", Namespace: "finance", Attempts: []engine.Attempt{{N: 1, Output: small}, {N: 2, Output: large}}},
		{ID: "a-s3", Namespace: "finance", Attempts: []engine.Attempt{{N: 1}}}, // lost: it may have stored output
		{ID: "a-s4", Namespace: "finance", Artifacts: []engine.Artifact{{Name: "a"}}},
	}}
	j := newJanitor(history, history, newStoredBytes(history, testLog(t)), retention{History: time.Hour}, alone, testLog(t), newMetrics())
	j.pause = 0
	before := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	j.now = func() time.Time { return before.Add(time.Hour) }
	j.expireOld(t.Context())
	if want := []string{"a-s2", "a-s3"}; !slices.Equal(history.deleted, want) {
		t.Errorf("outputs removed: %v, want %v", history.deleted, want)
	}
	if want := []string{"a-s4"}; !slices.Equal(history.dropped, want) {
		t.Errorf("artifacts removed: %v, want %v", history.dropped, want)
	}
	if freed := j.stored.unwritten["finance"]; freed != -1200 {
		t.Errorf("%d bytes count as removed, want those of two outputs and the artifacts of a run", -freed)
	}
	if len(history.runs) > 0 || history.waves > 0 || history.slots > 0 || history.effects > 0 {
		t.Errorf("%d runs, %d waves, %d entries and %d effects are left", len(history.runs), history.waves, history.slots, history.effects)
	}
	for _, at := range history.before {
		if !at.Equal(before) {
			t.Errorf("asked for what is before %s, want %s", at, before)
		}
	}
}

// Removal takes a tenth of the time, and half of it once it is far behind.
func TestJanitorLeavesMostOfTheTimeToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const took = 40 * time.Millisecond
		before := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
		for _, test := range []struct {
			end  time.Time // of the runs that are removed
			want time.Duration
		}{{before.Add(-5 * time.Minute), 10 * took}, {before.Add(-7 * time.Minute), 2 * took}} {
			history := &oldHistory{Store: memory.New(), took: took}
			for range 20 { // ten batches
				history.runs = append(history.runs, engine.Run{ID: "a-s1", FinishedAt: test.end})
			}
			began := time.Now()
			j := newJanitor(history, history, newStoredBytes(history, testLog(t)), retention{History: time.Hour}, alone, testLog(t), newMetrics())
			j.now = func() time.Time { return before.Add(time.Hour) }
			if err := j.expire(t.Context(), &ageClass{age: time.Hour}); err != nil {
				t.Fatal(err)
			}
			if spent := (time.Since(began) - took) / 10; spent != test.want { // the last look finds nothing
				t.Errorf("runs that ended %v before: a batch of %v and the pause after it take %v, want %v", before.Sub(test.end), took, spent, test.want)
			}
		}
	})
}
