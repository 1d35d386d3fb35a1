package service_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// die puts a run that used up its tries, with its dead letter.
func die(t *testing.T, w *webtest.World, run engine.Run, at time.Time) engine.DeadLetter {
	t.Helper()
	letter := engine.DeadLetter{
		RunID: run.ID, Namespace: run.Namespace, JobUID: run.JobUID, Job: run.Label(), Error: "exit 1; failed 3 of 3 attempts", Attempts: 3, At: at,
	}
	w.Write(t, engine.Batch{DeadLetters: []engine.DeadLetter{letter}})
	return letter
}

// dead puts a dead run of a job.
func dead(t *testing.T, w *webtest.World, job engine.Job, at time.Time) engine.DeadLetter {
	t.Helper()
	run := w.Running(job, at)
	w.PutRun(t, run)
	w.PutRun(t, webtest.Ended(run, engine.StatusDead, "no\n"))
	return die(t, w, run, at)
}

// deadWave puts a wave that failed, for these tasks died.
func deadWave(t *testing.T, w *webtest.World, d engine.DAG, epoch int64, at time.Time, tasks ...string) engine.Wave {
	t.Helper()
	wave := w.OpenWave(d, epoch, at)
	w.PutWave(t, wave)
	wave = webtest.EndWave(wave, engine.StatusFailed)
	w.PutWave(t, wave)
	for _, task := range tasks {
		run := w.TaskRun(wave, task, engine.StatusDead)
		w.PutRun(t, run)
		die(t, w, run, at)
	}
	return wave
}

func ids(letters []engine.DeadLetter) (all []string) {
	for i := range letters {
		all = append(all, letters[i].RunID)
	}
	return all
}

func TestDeadLettersAreFilteredAndPaged(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	one, other := w.PutJob(t, `{"name":"one","binary":"report"}`), w.PutJob(t, `{"name":"one-more","binary":"report"}`)
	d := w.PutDAG(t, diamond)
	var all, ofOne []string
	for i := range 12 { // the newest last, so that the list turns them round
		at := webtest.Start.Add(time.Duration(i-100) * time.Minute)
		job := map[bool]engine.Job{true: one, false: other}[i%3 == 0]
		letter := dead(t, w, job, at)
		all = append([]string{letter.RunID}, all...)
		if i%3 == 0 {
			ofOne = append([]string{letter.RunID}, ofOne...)
		}
	}
	deadWave(t, w, d, 1, webtest.Start.Add(-time.Minute), "orders", "rates")
	read := func(filter service.DeadLetterFilter) (got []string) {
		t.Helper()
		filter.Namespace = "default"
		for {
			letters, next, err := w.DeadLetters(t.Context(), filter)
			if err != nil || len(letters) > filter.Limit {
				t.Fatalf("%d letters of at most %d, %v", len(letters), filter.Limit, err)
			}
			got = append(got, ids(letters)...)
			if filter.Cursor = next; next == "" {
				return got
			}
		}
	}
	for _, limit := range []int{1, 2, 3, 100} {
		if got := read(service.DeadLetterFilter{Job: "one", Limit: limit}); !slices.Equal(got, ofOne) {
			t.Errorf("of one by %d: %v, want %v", limit, got, ofOne)
		}
		if got := read(service.DeadLetterFilter{Until: webtest.Start.Add(-95 * time.Minute), Limit: limit}); !slices.Equal(got, all[6:]) {
			t.Errorf("until then by %d: %v, want %v", limit, got, all[6:])
		}
		if got := read(service.DeadLetterFilter{Limit: limit}); len(got) != 14 {
			t.Errorf("all by %d: %d of 14", limit, len(got))
		}
	}
	for job, want := range map[string]int{"etl": 2, "etl/orders": 1, "etl/ord": 0, "on": 0, "one": 4} {
		sum, err := w.SumDeadLetters(t.Context(), service.DeadLetterFilter{Namespace: "default", Job: job})
		if err != nil || len(sum.Letters) != want || sum.More {
			t.Errorf("of %s: %d, %v; want %d", job, len(sum.Letters), err, want)
		}
	}
	sum, err := w.SumDeadLetters(t.Context(), service.DeadLetterFilter{Namespace: "default"})
	if err != nil || len(sum.Of) != 4 || sum.Of[0] != (service.DeadLettersOf{Job: "one-more", Count: 8}) || !sum.Oldest.Equal(webtest.Start.Add(-100*time.Minute)) {
		t.Errorf("in all: %+v since %s, %v", sum.Of, sum.Oldest, err)
	}
	if letter, err := w.DeadLetter(t.Context(), engine.DefaultNamespace, ofOne[0]); err != nil || letter.Job != "one" || letter.Attempts != 3 {
		t.Errorf("%+v, %v", letter, err)
	}
	_, err = w.DeadLetter(t.Context(), engine.DefaultNamespace, "nothing")
	refused(t, err, service.KindNotFound, "dead_letter_not_found")
}

func TestReplayTwiceIsReplayOnce(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	job := w.PutJob(t, `{"name":"one","binary":"report"}`)
	letter := dead(t, w, job, webtest.Start.Add(-time.Hour))
	for range 2 {
		if _, err := w.ReplayDeadLetter(t.Context(), engine.DefaultNamespace, letter.RunID, "ann"); err != nil {
			t.Fatal(err)
		}
	}
	if left := commands(t, w, job.Shard); len(left) != 1 || left[0].Kind != engine.CommandRetry || left[0].By != "ann" {
		t.Errorf("left for the engine: %+v", left)
	}
	run, err := w.Run(t.Context(), engine.DefaultNamespace, letter.RunID)
	if err != nil {
		t.Fatal(err)
	}
	run.Revision, run.Status = run.Revision+1, engine.StatusQueued // the engine has acted on it
	w.PutRun(t, run)
	if again, err := w.ReplayDeadLetter(t.Context(), engine.DefaultNamespace, letter.RunID, "ann"); err != nil || again.Status != engine.StatusQueued {
		t.Errorf("replayed while it is: %s, %v", again.Status, err)
	}
	if left := commands(t, w, job.Shard); len(left) != 1 {
		t.Errorf("left for the engine: %+v", left)
	}
	run.Revision, run.Status = run.Revision+1, engine.StatusSucceeded
	w.PutRun(t, run)
	_, err = w.ReplayDeadLetter(t.Context(), engine.DefaultNamespace, letter.RunID, "ann")
	refused(t, err, service.KindNotFound, "dead_letter_not_found")
}

// A run of a deleted job cannot be retried: the engine has no definition to do it by. To say that it is asked for
// would be a lie.
func TestRunOfDeletedJobIsNotTriedAgain(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	job := w.PutJob(t, `{"name":"one","binary":"report"}`)
	letter := dead(t, w, job, webtest.Start.Add(-time.Hour))
	if err := w.Jobs.Delete(t.Context(), "default", "one", "ann", 0); err != nil {
		t.Fatal(err)
	}
	_, err := w.RetryRun(t.Context(), engine.DefaultNamespace, letter.RunID, "ann")
	refused(t, err, service.KindConflict, "job_deleted")
	w.PutJob(t, `{"name":"one","binary":"report"}`) // of the same name, and another
	_, err = w.ReplayDeadLetter(t.Context(), engine.DefaultNamespace, letter.RunID, "ann")
	refused(t, err, service.KindConflict, "job_deleted")
}

func TestReplayReportsTheDeadLettersItRefuses(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	job, gone := w.PutJob(t, `{"name":"one","binary":"report"}`), w.PutJob(t, `{"name":"gone","binary":"report"}`)
	d := w.PutDAG(t, diamond)
	first := dead(t, w, job, webtest.Start.Add(-3*time.Hour))
	lost := dead(t, w, gone, webtest.Start.Add(-2*time.Hour))
	if err := w.Jobs.Delete(t.Context(), "default", "gone", "ann", 0); err != nil {
		t.Fatal(err)
	}
	ended := deadWave(t, w, d, 1, webtest.Start.Add(-2*time.Hour), "orders", "rates") // one wave, two dead tasks
	open := w.OpenWave(d, 2, webtest.Start.Add(-time.Hour))
	w.PutWave(t, open)
	early := w.TaskRun(open, "rates", engine.StatusDead)
	w.PutRun(t, early)
	die(t, w, early, webtest.Start.Add(-time.Hour))
	late := dead(t, w, job, webtest.Start.Add(time.Second)) // after it was asked

	handled, err := w.ReplayDeadLetters(t.Context(), service.DeadLetterFilter{Namespace: "default", Until: webtest.Start}, "ann")
	if err != nil || handled.Next != "" {
		t.Fatal(handled, err)
	}
	slices.Sort(handled.Done)
	want := []string{engine.TaskRunID(ended.ID, "orders"), engine.TaskRunID(ended.ID, "rates"), first.RunID}
	slices.Sort(want)
	if !slices.Equal(handled.Done, want) {
		t.Errorf("replayed %v, want %v", handled.Done, want)
	}
	if len(handled.Refused) != 2 || handled.Refused[0].Letter.RunID != early.ID || handled.Refused[0].Code != "wave_open" ||
		handled.Refused[1].Letter.RunID != lost.RunID || handled.Refused[1].Code != "job_deleted" {
		t.Errorf("refused %+v", handled.Refused)
	}
	var kinds []string
	for shard := range engine.Shards {
		for _, command := range commands(t, w, shard) {
			kinds = append(kinds, fmt.Sprintf("%s %s", command.Kind, command.RunID))
		}
	}
	slices.Sort(kinds)
	wantKinds := []string{fmt.Sprintf("%s %s", engine.CommandResumeWave, ended.ID), fmt.Sprintf("%s %s", engine.CommandRetry, first.RunID)}
	slices.Sort(wantKinds)
	if !slices.Equal(kinds, wantKinds) {
		t.Errorf("left for the engine %v, want %v", kinds, wantKinds)
	}

	purged, err := w.PurgeDeadLetters(t.Context(), service.DeadLetterFilter{Namespace: "default", Until: webtest.Start})
	if err != nil || len(purged.Done) != 5 || len(purged.Refused) != 0 {
		t.Errorf("purged %+v, %v", purged, err)
	}
	if again, err := w.PurgeDeadLetters(t.Context(), service.DeadLetterFilter{Namespace: "default", Until: webtest.Start}); err != nil || len(again.Done) != 0 {
		t.Errorf("purged again %+v, %v", again, err)
	}
	rest, _, err := w.DeadLetters(t.Context(), service.DeadLetterFilter{Namespace: "default", Limit: 10})
	if err != nil || len(rest) != 1 || rest[0].RunID != late.RunID {
		t.Errorf("left are %v, %v", ids(rest), err)
	}
	if _, err := w.Run(t.Context(), engine.DefaultNamespace, first.RunID); err != nil {
		t.Errorf("the run is gone with its letter: %v", err)
	}
}

// The answer reports that there is more than one request takes, and its cursor leads on.
func TestManyAreTakenAThousandAtATime(t *testing.T) {
	w := webtest.New(t)
	var decision engine.Batch
	for i := range service.DeadLettersAtOnce + 5 {
		at := webtest.Start.Add(-time.Duration(i) * time.Second)
		decision.DeadLetters = append(decision.DeadLetters, engine.DeadLetter{RunID: fmt.Sprintf("job-s%04d", i), Namespace: "default", JobUID: "job", Job: "one", At: at})
	}
	w.Write(t, decision)
	filter := service.DeadLetterFilter{Namespace: "default", Job: "one"}
	if sum, err := w.SumDeadLetters(t.Context(), filter); err != nil || len(sum.Letters) != service.DeadLettersAtOnce || !sum.More {
		t.Errorf("%d, more %t, %v", len(sum.Letters), sum.More, err)
	}
	for _, want := range []int{service.DeadLettersAtOnce, 5} {
		handled, err := w.PurgeDeadLetters(t.Context(), filter)
		if err != nil || len(handled.Done) != want || (handled.Next == "") != (want == 5) {
			t.Fatalf("purged %d, next %q, %v; want %d", len(handled.Done), handled.Next, err, want)
		}
		filter.Cursor = handled.Next
	}
}
