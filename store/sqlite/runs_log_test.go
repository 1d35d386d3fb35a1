package sqlite

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/storetest"
)

// model is what the store should hold, kept as simply as can be.
type model map[string]engine.Run

func (m model) active() (runs []engine.Run) {
	for _, run := range m {
		if !run.Status.Terminal() {
			runs = append(runs, run)
		}
	}
	slices.SortFunc(runs, func(a, b engine.Run) int { return strings.Compare(a.ID, b.ID) })
	return runs
}

func (m model) history() (ids []string) {
	var runs []engine.Run
	for _, run := range m {
		runs = append(runs, run)
	}
	slices.SortFunc(runs, func(a, b engine.Run) int {
		return key{always(a.CreatedAt), a.ID}.newer(key{always(b.CreatedAt), b.ID})
	})
	for _, run := range runs {
		ids = append(ids, fmt.Sprint(run.ID, " ", run.Revision, " ", run.Status))
	}
	return ids
}

// step changes a run at random, in any way that a run may change, and adds the write to a batch.
func (m model) step(random *rand.Rand, batch *engine.Batch) {
	run := testRun(random.IntN(300))
	if slices.ContainsFunc(batch.Runs, func(other engine.Run) bool { return other.ID == run.ID }) || slices.Contains(batch.DropRuns, run.ID) {
		return
	}
	stored, there := m[run.ID]
	switch {
	case !there:
		stored = run
	case stored.Status == engine.StatusScheduled && random.IntN(4) == 0:
		batch.DropRuns = append(batch.DropRuns, stored.ID)
		delete(m, run.ID)
		return
	default:
		stored.Revision++
		stored.FinishedAt = time.Time{}
		stored.Status = []engine.Status{engine.StatusScheduled, engine.StatusQueued, engine.StatusRunning, engine.StatusRetrying, engine.StatusSucceeded,
			engine.StatusFailed}[random.IntN(6)]
		if stored.Status.Terminal() {
			stored.FinishedAt = testStart.Add(time.Hour)
		}
	}
	m[run.ID] = stored
	batch.Runs = append(batch.Runs, stored)
}

func check(t *testing.T, store *Store, want model) {
	t.Helper()
	runs, err := store.ActiveRuns(t.Context(), []int{0}, "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.active(), runs); diff != "" {
		t.Fatalf("active runs (-want +got):\n%s", diff)
	}
	runs, _, err = store.Runs(t.Context(), engine.RunFilter{Namespace: "default", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, run := range runs {
		got = append(got, fmt.Sprint(run.ID, " ", run.Revision, " ", run.Status))
	}
	if diff := cmp.Diff(want.history(), got); diff != "" {
		t.Fatalf("history (-want +got):\n%s", diff)
	}
}

// Whatever becomes of runs, the log gives it again, and keeps little more than what is of use.
func TestLogGivesWhatIsActiveAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	random := rand.New(rand.NewPCG(1, 2))
	want := model{}
	const slack = 20_000
	for range 8 {
		store, err := Open(t.Context(), path, Config{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
		if err != nil {
			t.Fatal(err)
		}
		check(t, store, want)
		store.writer.log.slack = slack
		for range 100 {
			batch := &engine.Batch{}
			for range 1 + random.IntN(20) {
				want.step(random, batch)
			}
			if err := storetest.Write(t.Context(), store, *batch); err != nil {
				t.Fatal(err)
			}
		}
		check(t, store, want)
		live := 0
		for _, run := range want.active() {
			live += len(encodeRun(nil, &run))
		}
		if size := store.number(t, "SELECT sum(length(doc)) FROM runs_log"); size > int64(2*live+2*slack) {
			t.Errorf("the log has %d bytes, of which %d are of use", size, live)
		}
		if log := store.writer.log; log.live != live || int64(log.size) != store.number(t, "SELECT sum(length(doc)) FROM runs_log") {
			t.Errorf("the writer counts %d bytes, %d of them of use", log.size, log.live)
		}
		if err := store.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	if len(want.active()) < 50 {
		t.Errorf("only %d active runs in the end", len(want.active()))
	}
}

func TestOldFileKeepsItsRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	conn := oldFile(t, path, 1)
	want := model{}
	for n := range 20 {
		run := testRun(n)
		want[run.ID] = run
		if _, err := conn.exec(`INSERT INTO runs_active (id, revision, namespace, job_uid, job, shard, status, tier, "by", reason, created_at, doc)
			VALUES (?, 1, 'default', ?, 'report', 0, 1, 'light', '', '', ?, ?)`, run.ID, run.JobUID, always(run.CreatedAt), encodeRunSchema10(&run)); err != nil {
			t.Fatal(err)
		}
	}
	for n := 20; n < 40; n++ {
		run := testRun(n)
		run.Status, run.FinishedAt = engine.StatusFailed, run.CreatedAt.Add(time.Second)
		want[run.ID] = run
		if _, err := conn.exec(`INSERT INTO runs_history (id, revision, namespace, job_uid, job, status, tier, "by", reason, created_at, finished_at, doc)
			VALUES (?, 1, 'default', ?, 'report', 6, 'light', '', '', ?, ?, ?)`,
			run.ID, run.JobUID, always(run.CreatedAt), always(run.FinishedAt), encodeRunSchema10(&run)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.exec("INSERT INTO run_namespaces (namespace) VALUES ('default')"); err != nil {
		t.Fatal(err)
	}
	if err := conn.close(); err != nil {
		t.Fatal(err)
	}
	store, err := Open(t.Context(), path, Config{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	check(t, store, want)
	if run, err := store.Run(t.Context(), testRun(30).ID); err != nil || run.Status != engine.StatusFailed {
		t.Errorf("a run that has ended: %+v, %v", run, err)
	}
	if err := store.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
}

func TestAResumedRunIsListedOnceAndDoesNotExpire(t *testing.T) {
	store, _ := openStore(t)
	run := testRun(1)
	commit := func() {
		t.Helper()
		if err := storetest.Write(t.Context(), store, engine.Batch{Runs: []engine.Run{run}}); err != nil {
			t.Fatal(err)
		}
	}
	run.Status, run.FinishedAt = engine.StatusFailed, testStart.Add(time.Minute)
	commit()
	run.Revision, run.Status, run.FinishedAt = 2, engine.StatusQueued, time.Time{}
	commit()
	for _, test := range []struct {
		filter engine.RunFilter
		want   int
	}{
		{engine.RunFilter{}, 1}, {engine.RunFilter{Statuses: []engine.Status{engine.StatusFailed}}, 0},
		{engine.RunFilter{Statuses: []engine.Status{engine.StatusQueued}}, 1}, {engine.RunFilter{Job: "report"}, 1},
	} {
		test.filter.Limit = 10
		runs, _, err := store.Runs(t.Context(), test.filter)
		if err != nil || len(runs) != test.want || len(runs) == 1 && runs[0].Revision != 2 {
			t.Errorf("%+v gives %+v, %v", test.filter, runs, err)
		}
	}
	expire := func(want int) {
		t.Helper()
		if some, err := store.ExpireRuns(t.Context(), []int{run.Shard}, engine.Expiry{Before: testStart.Add(time.Hour)}, 10); err != nil || some.Count != want {
			t.Errorf("%d runs have expired, not %d (%v)", some.Count, want, err)
		}
	}
	expire(0)
	run.Revision, run.Status, run.FinishedAt = 3, engine.StatusSucceeded, testStart.Add(2*time.Minute)
	commit()
	check(t, store, model{run.ID: run})
	expire(1)
	check(t, store, model{})
}

func TestSortedRunsAreInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	active := newActiveRuns()
	want := map[string]bool{}
	for range 20_000 {
		run := &runWrite{id: fmt.Sprintf("%04d", random.IntN(3000)), status: engine.StatusQueued}
		run.createdAt = int64(run.id[3]) // many at each instant
		if want[run.id] {
			active.remove(active.byID[run.id].run)
			delete(want, run.id)
		} else {
			active.put(run, nil)
			want[run.id] = true
		}
	}
	var ascending, descending []string
	active.newest.ascend(&runWrite{createdAt: -1}, func(run *runWrite) bool {
		ascending = append(ascending, run.id)
		return true
	})
	active.newest.descend(&runWrite{createdAt: 1000}, func(run *runWrite) bool {
		descending = append(descending, run.id)
		return true
	})
	if len(ascending) != len(want) || len(active.byID) != len(want) {
		t.Fatalf("%d and %d of %d runs", len(ascending), len(active.byID), len(want))
	}
	if !slices.IsSortedFunc(ascending, func(a, b string) int { return strings.Compare(a[3:]+a, b[3:]+b) }) {
		t.Error("they are not in order")
	}
	slices.Reverse(descending)
	if !slices.Equal(ascending, descending) {
		t.Error("backwards it is not the same")
	}
}
