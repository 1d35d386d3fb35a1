package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/memory"
	"github.com/tidewheel/tidewheel/store/storetest"
)

var sweepStart = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

// sweeping is a janitor over a store of its own.
func sweeping(t *testing.T, keep retention) (*janitor, *oldHistory) {
	history := &oldHistory{Store: memory.New(), letters: map[string]time.Time{}, stored: map[string]bool{}}
	j := newJanitor(history, history, newStoredBytes(history, testLog(t)), keep, alone, testLog(t), newMetrics())
	j.pause = 0
	j.now = func() time.Time { return sweepStart }
	return j, history
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// oneOff defines a job with a slot some time ago that the engine has acted upon.
func oneOff(t *testing.T, store *memory.Store, name string, ago time.Duration, change func(*engine.Job)) engine.Job {
	t.Helper()
	at := sweepStart.Add(-ago)
	job := engine.Job{
		UID: name, Namespace: "default", Name: name, Spec: spec.Job{Kind: spec.KindJob, Name: name, Binary: "report", At: &at},
		OneOff: true, Generation: 1, Revision: 1, CreatedAt: at, UpdatedAt: at,
	}
	if change != nil {
		change(&job)
	}
	must(t, store.Jobs().Create(t.Context(), job))
	return job
}

func ranAt(t *testing.T, store *memory.Store, job *engine.Job, finished time.Time) {
	t.Helper()
	run := engine.Run{
		ID: engine.SlotRunID(job.UID, *job.Spec.At), JobUID: job.UID, Namespace: job.Namespace, Job: job.Name, Revision: 1,
		Status: engine.StatusQueued, Trigger: engine.TriggerSchedule, Slot: *job.Spec.At, CreatedAt: *job.Spec.At,
	}
	if !finished.IsZero() {
		run.Status, run.FinishedAt = engine.StatusSucceeded, finished
	}
	must(t, storetest.Write(t.Context(), store, engine.Batch{Runs: []engine.Run{run}}))
}

func TestSweepRemovesOneOffJobsSomeTimeAfterTheyRan(t *testing.T) {
	j, history := sweeping(t, retention{OneOff: 7 * day})
	ran := func(name string, ended time.Time) {
		job := oneOff(t, history.Store, name, 10*day, nil)
		ranAt(t, history.Store, &job, ended)
	}
	ran("old", sweepStart.Add(-8*day))
	ran("young", sweepStart.Add(-6*day))
	ran("running", time.Time{})
	oneOff(t, history.Store, "missed", 10*day, nil)
	oneOff(t, history.Store, "to-come", -day, nil)
	oneOff(t, history.Store, "edited", 10*day, func(job *engine.Job) { job.Generation = 2 })
	oneOff(t, history.Store, "paused", 10*day, func(job *engine.Job) { job.Paused = true })
	oneOff(t, history.Store, "unseen", 10*day, func(job *engine.Job) { job.Pending = true })
	oneOff(t, history.Store, "users", 10*day, func(job *engine.Job) { job.OneOff = false })
	late := oneOff(t, history.Store, "late", 10*day, nil)
	err := storetest.Write(t.Context(), history, engine.Batch{Tasks: []engine.ScheduledTask{{
		ID: late.UID, Slot: *late.Spec.At, RunAt: *late.Spec.At, Revision: 1, Namespace: "default", Job: "late",
	}}})
	must(t, err)

	must(t, j.sweepDefinitions(t.Context()))
	jobs, _, err := history.Jobs().List(t.Context(), engine.DefinitionFilter{Limit: 100})
	must(t, err)
	var left []string
	for i := range jobs {
		left = append(left, jobs[i].Name)
	}
	if got, want := strings.Join(left, " "), "edited late paused running to-come unseen users young"; got != want {
		t.Errorf("%s are left, want %s", got, want)
	}
	// The engine clears what they leave behind.
	pending, err := history.PendingJobs(t.Context(), []int{0}, 100)
	must(t, err)
	deleted := map[string]string{}
	for i := range pending {
		if pending[i].Deleted {
			deleted[pending[i].Name] = pending[i].UpdatedBy
		}
	}
	if want := map[string]string{"old": sweeperName, "missed": sweeperName}; !maps.Equal(deleted, want) {
		t.Errorf("deleted are %v, want %v", deleted, want)
	}

	j.keep.OneOff = 0
	j.now = func() time.Time { return sweepStart.Add(1000 * day) }
	must(t, j.sweepDefinitions(t.Context()))
	if jobs, _, err := history.Jobs().List(t.Context(), engine.DefinitionFilter{Limit: 100}); err != nil || len(jobs) != 8 {
		t.Errorf("%d are left where they are kept for ever, %v", len(jobs), err)
	}
}

// What was changed since the sweep looked at it is not deleted.
func TestSweepKeepsOneOffJobsThatWereJustChanged(t *testing.T) {
	j, history := sweeping(t, retention{OneOff: 7 * day})
	seen := oneOff(t, history.Store, "late", 30*day, nil)
	changed := seen
	changed.Generation, changed.Revision = 2, 2
	must(t, history.Jobs().Replace(t.Context(), changed))
	if gone, err := j.removeOneOff(t.Context(), &seen); gone || err != nil {
		t.Errorf("a job that was edited meanwhile is deleted: %t, %v", gone, err)
	}
	if job, err := history.Jobs().Get(t.Context(), "default", "late"); err != nil || job.Deleted {
		t.Errorf("it is %+v, %v", job, err)
	}
}

// edited makes a job with versions that were written some days ago each, the last one present.
func edited(t *testing.T, store *memory.Store, name string, daysAgo ...int) engine.Job {
	t.Helper()
	job := engine.Job{UID: name, Namespace: "default", Name: name, Spec: spec.Job{Kind: spec.KindJob, Name: name, Binary: "report"}}
	for i, days := range daysAgo {
		job.Generation, job.Revision = int64(i+1), int64(i+1)
		job.UpdatedAt = sweepStart.Add(-time.Duration(days) * day)
		if i == 0 {
			must(t, store.Jobs().Create(t.Context(), job))
		} else {
			must(t, store.Jobs().Replace(t.Context(), job))
		}
	}
	return job
}

func TestSweepDropsVersionsWithoutKeptRuns(t *testing.T) {
	const keep = 100 * day
	versions := func(history *oldHistory, uid string) (kept []int64) {
		found, err := history.Jobs().Generations(t.Context(), uid, 0, 100)
		must(t, err)
		for i := range found {
			kept = append(kept, found[i].Generation)
		}
		return kept
	}
	j, history := sweeping(t, retention{History: 30 * day, Generations: keep})
	edited(t, history.Store, "a", 400, 300, 90, 10) // the second was in force until 90 days ago
	edited(t, history.Store, "b", 400, 300, 200)
	edited(t, history.Store, "c", 400)
	used := edited(t, history.Store, "d", 400, 300, 200)
	must(t, storetest.Write(t.Context(), history, engine.Batch{Runs: []engine.Run{{
		ID: "d-k1", JobUID: used.UID, Namespace: "default", Job: "d", Revision: 1, Status: engine.StatusQueued, Generation: 2, CreatedAt: sweepStart,
	}}}))
	edited(t, history.Store, "e", 400, 300, 200)
	must(t, storetest.Write(t.Context(), history, engine.Batch{Tasks: []engine.ScheduledTask{
		{ID: "e", Namespace: "default", Job: "e", Generation: 2, Revision: 1, RunAt: sweepStart},
	}}))
	must(t, j.sweepDefinitions(t.Context()))
	for uid, want := range map[string][]int64{"a": {4, 3, 2}, "b": {3}, "c": {1}, "d": {3, 2}, "e": {3, 2}} {
		if got := versions(history, uid); !slices.Equal(got, want) {
			t.Errorf("job %s has the versions %v, want %v", uid, got, want)
		}
	}

	for name, keep := range map[string]retention{
		"history for ever": {Generations: keep}, "versions for ever": {History: 30 * day}, "history for longer": {History: 500 * day, Generations: keep},
	} {
		j, history := sweeping(t, keep)
		edited(t, history.Store, "b", 400, 300, 200)
		must(t, j.sweepDefinitions(t.Context()))
		if got := versions(history, "b"); len(got) != 3 {
			t.Errorf("%s: %v are left", name, got)
		}
	}
}

func TestSweepKeepsTheVersionOfAnOpenWave(t *testing.T) {
	j, history := sweeping(t, retention{History: 30 * day, Generations: 30 * day})
	for _, uid := range []string{"open", "idle"} {
		dag := engine.DAG{UID: uid, Namespace: "default", Name: uid, Spec: spec.DAG{Kind: spec.KindDAG, Name: uid, Tasks: spec.Tasks{{Name: "t", Binary: "report"}}}}
		for i := range int64(3) {
			dag.Generation, dag.Revision, dag.UpdatedAt = i+1, i+1, sweepStart.Add(time.Duration(i-100)*day)
			if i == 0 {
				must(t, history.DAGs().Create(t.Context(), dag))
			} else {
				must(t, history.DAGs().Replace(t.Context(), dag))
			}
		}
	}
	err := storetest.Write(t.Context(), history, engine.Batch{Waves: []engine.Wave{{
		ID: engine.WaveID("open", 1), DAGUID: "open", DAG: "open", Namespace: "default", Epoch: 1, Revision: 1, Generation: 2, Status: engine.StatusRunning,
	}}})
	must(t, err)
	must(t, j.sweepDefinitions(t.Context()))
	for uid, want := range map[string]int{"open": 2, "idle": 1} {
		if versions, err := history.DAGs().Generations(t.Context(), uid, 0, 10); err != nil || len(versions) != want {
			t.Errorf("DAG %s has %d versions, %v, want %d", uid, len(versions), err, want)
		}
	}
}

func TestSweepKeepsProgramsThatSomethingRefersTo(t *testing.T) {
	digest := func(letter string) string { return strings.Repeat(letter, 64) }
	j, history := sweeping(t, retention{Binaries: 7 * day})
	for _, letter := range []string{"a", "b", "c", "d", "e", "f", "0", "9"} {
		history.stored[digest(letter)] = true
	}
	must(t, history.CreateBinary(t.Context(), engine.Binary{
		Namespace: "other", Name: "report", Revision: 1, Versions: []engine.BinaryVersion{{N: 1, SHA256: digest("a")}, {N: 2, SHA256: digest("b")}},
	}))
	job := engine.Job{UID: "job", Namespace: "default", Name: "job", Generation: 1, Revision: 1, Spec: spec.Job{Kind: spec.KindJob, Name: "job", Binary: "sha256:" + digest("c")}}
	must(t, history.Jobs().Create(t.Context(), job))
	dag := engine.DAG{UID: "dag", Namespace: "default", Name: "dag", Generation: 1, Revision: 1, Spec: spec.DAG{
		Kind: spec.KindDAG, Name: "dag", Defaults: spec.TaskDefaults{Binary: "sha256:" + digest("9")},
		Tasks: spec.Tasks{{Name: "t", Binary: "sha256:" + digest("d")}},
	}}
	must(t, history.DAGs().Create(t.Context(), dag))
	dag.Generation, dag.Revision = 2, 2
	dag.Spec.Tasks = spec.Tasks{{Name: "t", Binary: "report"}, {Name: "u", Binary: "sha256:" + digest("f")}} // an open wave may still be on the version before
	must(t, history.DAGs().Replace(t.Context(), dag))
	must(t, storetest.Write(t.Context(), history, engine.Batch{Runs: []engine.Run{{
		ID: "job-k1", JobUID: "job", Namespace: "default", Job: "job", Revision: 1, Status: engine.StatusQueued, Digest: digest("e"), CreatedAt: sweepStart,
	}}}))

	must(t, j.sweepBinaries(t.Context()))
	for _, letter := range []string{"a", "b", "c", "d", "e", "f", "9"} {
		if !history.stored[digest(letter)] {
			t.Errorf("%s… was removed, and something refers to it", letter)
		}
	}
	if len(history.stored) != 7 {
		t.Errorf("%d programs are left, want 7", len(history.stored))
	}
	if want := []time.Time{sweepStart.Add(-7 * day)}; !slices.Equal(history.before, want) {
		t.Errorf("it asked for what is before %v, want %v", history.before, want)
	}
	j.keep.Binaries = 0
	must(t, j.sweepBinaries(t.Context()))
	if len(history.before) > 1 {
		t.Error("it removed what is kept for ever")
	}
}

func TestDeadLettersAreDeletedWithTheirRuns(t *testing.T) {
	j, history := sweeping(t, retention{History: 30 * day})
	history.runs = []engine.Run{{ID: "a-s1", Status: engine.StatusDead}, {ID: "a-s2", Status: engine.StatusDead}}
	history.letters = map[string]time.Time{
		"a-s1":    sweepStart, // whatever its age
		"crashed": sweepStart.Add(-31 * day), "young": sweepStart.Add(-29 * day),
	}
	j.expireOld(t.Context())
	if left := slices.Sorted(maps.Keys(history.letters)); !slices.Equal(left, []string{"young"}) {
		t.Errorf("the dead letters of %v are left", left)
	}
}

func TestDeadLettersExpireByTheShorterRetention(t *testing.T) {
	for _, test := range []struct {
		keep retention
		left []string
	}{
		{retention{History: 30 * day}, []string{"a-8", "b-8"}},
		{retention{History: 30 * day, DeadLetters: 7 * day}, nil},
		{retention{History: 30 * day, DeadLetters: 90 * day}, []string{"a-8", "b-8"}},
		{retention{DeadLetters: 7 * day}, nil},
		{retention{}, []string{"a-31", "a-8", "b-8"}},
	} {
		j, history := sweeping(t, test.keep)
		history.letters = map[string]time.Time{
			"a-8": sweepStart.Add(-8 * day), "b-8": sweepStart.Add(-8 * day), "a-31": sweepStart.Add(-31 * day),
		}
		j.expireOld(t.Context())
		if left := slices.Sorted(maps.Keys(history.letters)); !slices.Equal(left, test.left) {
			t.Errorf("%+v leaves the dead letters of %v, want %v", test.keep, left, test.left)
		}
	}
}

func TestVersionsAreKeptAsLongAsHistory(t *testing.T) {
	for _, test := range []struct{ generations, history, versions time.Duration }{
		{365 * day, 30 * day, 365 * day}, {day, 30 * day, 30 * day}, {0, 30 * day, 0}, {day, 0, 0}, {0, 0, 0},
	} {
		keep := retention{Generations: test.generations}
		if versions := keep.versions(test.history); versions != test.versions {
			t.Errorf("with %v and a history of %v versions are kept for %v, want %v", test.generations, test.history, versions, test.versions)
		}
	}
}

func TestSweepEndsWhenItIsAnotherEnginesTurn(t *testing.T) {
	j, _ := sweeping(t, retention{})
	j.owns = func(int) bool { return false }
	pages := 0
	err := walk(t.Context(), j, func(string) ([]int, string, error) {
		if pages++; pages > 1 {
			return nil, "", nil
		}
		return nil, "more", nil
	}, func([]int) error { return nil })
	if !errors.Is(err, errNotMine) || pages != 1 {
		t.Errorf("it read %d pages, %v", pages, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	j.owns, j.pause = alone, time.Hour
	pages = 0
	err = walk(ctx, j, func(string) ([]int, string, error) {
		if pages++; pages > 1 {
			return nil, "", nil
		}
		return nil, "more", nil
	}, func([]int) error { return nil })
	if !errors.Is(err, context.Canceled) || pages != 1 {
		t.Errorf("after the end it read %d pages, %v", pages, err)
	}
}
