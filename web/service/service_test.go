package service_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// refused checks that an error is one that a user can act on, of a kind and with a code.
func refused(t *testing.T, err error, kind service.Kind, code string) *service.Error {
	t.Helper()
	known, ok := errors.AsType[*service.Error](err)
	if !ok || known.Kind != kind || known.Code != code || known.Detail == "" {
		t.Errorf("%v (%T), want %s %s", err, err, kind, code)
		return &service.Error{}
	}
	return known
}

// both does something many times at once.
func both(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

func definition(t *testing.T, text string) *spec.Job {
	t.Helper()
	job, problems := spec.DecodeJob("", []byte(text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return job
}

func TestSameCreationAtOnceIsOneJob(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	one := definition(t, `{"name":"a","binary":"report","schedule":"@hourly"}`)
	var mu sync.Mutex
	uids, made := map[string]bool{}, 0
	both(20, func(int) {
		job, change, err := w.Jobs.Save(t.Context(), "default", one, service.Save{})
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			t.Error(err)
		}
		uids[job.UID] = true
		if change == service.Created {
			made++
		}
	})
	if len(uids) != 1 || made != 1 {
		t.Errorf("%d jobs, created %d times", len(uids), made)
	}
}

func TestEditsUnderOneRevisionLeaveOneWinner(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	job := w.PutJob(t, `{"name":"a","binary":"report","every":"100s"}`)
	var mu sync.Mutex
	won := 0
	both(10, func(i int) {
		edited := definition(t, fmt.Sprintf(`{"name":"a","binary":"report","every":"%ds"}`, 200+i))
		_, _, err := w.Jobs.Save(t.Context(), "default", edited, service.Save{IfRevision: job.Revision})
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			won++
			return
		}
		refused(t, err, service.KindConflict, "job_changed")
	})
	if won != 1 {
		t.Errorf("%d edits of one revision won", won)
	}
	refused(t, w.Jobs.Delete(t.Context(), "default", "a", "", job.Revision), service.KindConflict, "job_changed")
	if err := w.Jobs.Delete(t.Context(), "default", "a", "", job.Revision+1); err != nil {
		t.Error(err)
	}
	_, _, err := w.Jobs.Save(t.Context(), "default", definition(t, `{"name":"a","binary":"report"}`), service.Save{IfRevision: 2})
	refused(t, err, service.KindNotFound, "job_not_found")
}

func TestPausesAndEditsAtOnceAllCount(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	w.PutJob(t, `{"name":"a","binary":"report","every":"100s"}`)
	both(8, func(i int) {
		var err error
		if i%2 == 0 {
			_, err = w.Jobs.Pause(t.Context(), "default", "a", "p", "")
		} else {
			_, _, err = w.Jobs.Save(t.Context(), "default", definition(t, fmt.Sprintf(`{"name":"a","binary":"report","every":"%ds"}`, 200+i)), service.Save{})
		}
		if err != nil && !strings.Contains(err.Error(), "changed by another user") {
			t.Error(err)
		}
	})
	job, err := w.Jobs.Get(t.Context(), "default", "a")
	if err != nil || !job.Paused || job.PausedBy != "p" || time.Duration(job.Spec.Every) < 200*time.Second {
		t.Errorf("%+v, %v", job, err)
	}
}

func TestUploadsAtOnceAreVersionsInARow(t *testing.T) {
	w := webtest.New(t)
	both(10, func(i int) {
		if _, _, err := w.UploadTo(t, "report", fmt.Sprintf("#!/bin/sh\nexit %d\n", i)); err != nil {
			t.Error(err)
		}
	})
	binary, err := w.Binary(t.Context(), "default", "report")
	if err != nil || len(binary.Versions) != 10 || binary.Versions[9].N != 10 {
		t.Errorf("%+v, %v", binary, err)
	}
}

func TestOneOffAtOnceIsOneJob(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	var mu sync.Mutex
	runs, refusals := map[string]int{}, 0
	both(10, func(i int) {
		_, run, _, err := w.CreateOneOff(t.Context(), "default", service.OneOff{
			Binary: "report", Key: "k", At: webtest.Start.Add(time.Duration(i%2+1) * time.Minute),
		})
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			runs[run]++
			return
		}
		refusals++
		refused(t, err, service.KindInvalid, "key_reused")
	})
	if len(runs) != 1 || refusals != 5 {
		t.Errorf("one key made the runs %v, and was refused %d times: half of the requests were the same", runs, refusals)
	}
	for _, binary := range []string{"sha256:" + strings.Repeat("a", 64), strings.Repeat("x", 128) + "@" + strings.Repeat("y", 128), "@@@", "ü"} {
		_, _, _, err := w.CreateOneOff(t.Context(), "default", service.OneOff{Binary: binary})
		var known *service.Error
		if !errors.As(err, &known) || len(known.Fields) != 1 || known.Fields[0].Location != "body.job_type" {
			t.Errorf("%q: %v", binary, err) // only the binary is wrong, never the name that is made of it
		}
	}
}

// An engine that cannot be woken looks by itself: the request is done all the same.
func TestLostWakeIsNoFault(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	w.Queue.Fail(errors.New("no queue"))
	job := w.PutJob(t, `{"name":"a","binary":"report"}`)
	run, _, err := w.StartRun(t.Context(), "default", "a", service.Start{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	commands, err := w.Store.Commands(t.Context(), []int{job.Shard}, 10)
	if err != nil || len(commands) != 1 || commands[0].RunID != run.ID {
		t.Errorf("left %v, %v", commands, err)
	}
	refused(t, w.Ready(t.Context()), service.KindUnavailable, "unavailable")
}

// briefError is long, and has a short form of itself.
type briefError struct{}

func (briefError) Error() string { return strings.Repeat("topology ", 100) }
func (briefError) Brief() string { return "nothing listens at db1:27017" }

func TestUnavailableDependencyIsReportedInOneSentence(t *testing.T) {
	long := strings.Repeat("server selection ", 40)
	for _, test := range []struct {
		err  error
		want string
	}{
		{errors.New("connection refused"), "connection refused"},
		{fmt.Errorf("%s: %w", long, syscall.ECONNREFUSED), "connection refused"},
		{fmt.Errorf("%w: %s: %w", engine.ErrConflict, long, syscall.ECONNREFUSED), "connection refused"},
		{errors.New(long), strings.TrimSpace(long[:120])},
		{fmt.Errorf("ping: %w", briefError{}), "nothing listens at db1:27017"},
	} {
		w := webtest.New(t)
		w.Store.Fail(test.err)
		err := w.Ready(t.Context())
		refused(t, err, service.KindUnavailable, "unavailable")
		if text := err.Error(); !strings.HasPrefix(text, "the store does not answer: "+test.want) || len(text) > 220 ||
			!strings.HasSuffix(text, "; the server tries again by itself") {
			t.Errorf("%.40s… is reported as %q", test.err, text)
		}
		if !errors.Is(err, test.err) {
			t.Errorf("%.40s… is lost", test.err)
		}
	}
}

func TestApplyReportsWhereItStopped(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	documents, problems := spec.Decode("x.yaml", []byte("kind: Job\nname: a\nbinary: report\n---\nkind: Job\nname: b\nbinary: report\nat: 2020-01-01T00:00:00Z\n"))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	applied, err := w.ApplyDocuments(t.Context(), "default", documents, service.Apply{})
	refused(t, err, service.KindInvalid, "at_in_the_past")
	if len(applied) != 1 || !strings.Contains(err.Error(), `job "b"`) || !strings.Contains(err.Error(), "1 of 2") {
		t.Errorf("%+v, %v", applied, err)
	}
}

func TestSecretsAreRefusedInOrder(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	for range 20 {
		err := w.Jobs.Check(t.Context(), "default", definition(t, `{"name":"a","binary":"report","secrets":{"A":"one","B":"two","C":"three"}}`))
		if err == nil || !strings.Contains(err.Error(), `"one"`) {
			t.Fatal(err)
		}
	}
}

func TestLogIsReadInPieces(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	run := w.Running(w.PutJob(t, `{"name":"a","binary":"report"}`), webtest.Start)
	w.PutRun(t, run)
	for name, text := range map[string]string{"lines": "one\ntwo\nthree\nfour", "one line": strings.Repeat("x", 50), "nothing": ""} {
		w.Blobs.SetLog(run.ID, webtest.TextLog(text))
		stored, err := w.OpenLog(t.Context(), engine.DefaultNamespace, run.ID, 1)
		if err != nil {
			t.Fatal(err)
		}
		ended := webtest.Ended(run, engine.StatusSucceeded, text)
		inWorld := webtest.New(t)
		inWorld.PutBinary(t, "report")
		inWorld.PutRun(t, run)
		inWorld.PutRun(t, ended)
		inline, err := inWorld.OpenLog(t.Context(), engine.DefaultNamespace, run.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		if stored.Complete || !inline.Complete || stored.Size != inline.Size || stored.Lines != inline.Lines {
			t.Errorf("%s: %+v and %+v", name, stored, inline)
		}
		for n := range int64(7) {
			a, errA := stored.LastLines(t.Context(), n)
			b, errB := inline.LastLines(t.Context(), n)
			if a != b || errA != nil || errB != nil {
				t.Errorf("%s: the last %d lines begin at %d (%v) and %d (%v)", name, n, a, errA, b, errB)
			}
			linesA, errA := stored.ReadLines(t.Context(), n, 2)
			linesB, errB := inline.ReadLines(t.Context(), n, 2)
			if fmt.Sprint(linesA) != fmt.Sprint(linesB) || errA != nil || errB != nil {
				t.Errorf("%s: lines from %d are %v (%v) and %v (%v)", name, n, linesA, errA, linesB, errB)
			}
			var part strings.Builder
			if _, err := inline.CopyRange(t.Context(), &part, n, 3); err != nil || part.String() != text[min(n, int64(len(text))):min(n+3, int64(len(text)))] {
				t.Errorf("%s: 3 bytes from %d are %q, %v", name, n, part.String(), err)
			}
		}
	}
}

func TestFollowerThatFailsEndsAlone(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	run := w.Running(w.PutJob(t, `{"name":"a","binary":"report"}`), webtest.Start)
	w.PutRun(t, run)
	broken := errors.New("the reader is gone")
	followed := make(chan error, 1)
	go func() {
		followed <- w.FollowLog(t.Context(), engine.DefaultNamespace, run.ID, 1, 0, func(service.LogPiece) error { return broken })
	}()
	<-w.Queue.Watching
	if err := w.Queue.Say(t.Context(), engine.LogFrame{Run: run.ID, Attempt: 1, Data: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if err := <-followed; !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestWatchersShareOneLook(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	job := w.PutJob(t, `{"name":"a","binary":"report"}`)
	ctx, stop := context.WithCancel(t.Context())
	heard := [2]chan service.Hint{make(chan service.Hint, 100), make(chan service.Hint, 100)}
	ended := make(chan error, 3)
	for i := range heard {
		go func() {
			ended <- w.Watch(ctx, func(hint service.Hint) error { heard[i] <- hint; return nil })
		}()
	}
	enough := errors.New("enough")
	go func() { ended <- w.Watch(ctx, func(service.Hint) error { return enough }) }()

	// After each look something is new, so that a watcher that joined late gets the next hint.
	known := map[string]bool{}
	for first, second, failed := false, false, false; !first || !second || !failed; {
		var hint service.Hint
		select {
		case hint = <-heard[0]:
			first = true
		case hint = <-heard[1]:
			second = true
		case err := <-ended:
			if failed = true; !errors.Is(err, enough) {
				t.Errorf("a watcher that fails ends with %v", err)
			}
			continue
		case <-w.Queue.Looks():
			run := w.Running(job, webtest.Start.Add(time.Duration(len(known))*time.Minute))
			known[run.ID] = true
			w.PutRun(t, run)
			continue
		}
		if hint.Kind != service.HintRun || hint.Namespace != "default" || !known[hint.ID] || hint.Job != "a" || hint.Status != engine.StatusRunning {
			t.Errorf("heard %+v", hint)
		}
	}
	stop()
	for range heard {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	}
}

func TestUpcomingAndNextSlots(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	var jobs []engine.Job
	var decision engine.Batch
	for i := range 3 {
		job := w.PutJob(t, fmt.Sprintf(`{"name":"job-%d","binary":"report","schedule":"@hourly"}`, i))
		slot := webtest.Start.Add(time.Duration(3-i) * time.Hour)
		task := engine.ScheduledTask{ID: job.UID, Shard: job.Shard, Slot: slot, RunAt: slot, Generation: 1, Revision: 1, Namespace: "default", Job: job.Name}
		if i == 2 {
			task.RunAt = engine.Parked
		}
		jobs, decision.Tasks = append(jobs, job), append(decision.Tasks, task)
	}
	w.Write(t, decision)
	tasks, err := w.Upcoming(t.Context(), "default", 10)
	if err != nil || len(tasks) != 2 || tasks[0].Job != "job-1" {
		t.Errorf("upcoming %+v, %v", tasks, err)
	}
	jobs[0].Paused = true
	next, err := w.Jobs.NextSlots(t.Context(), jobs...)
	if err != nil || len(next) != 1 || !next[jobs[1].UID].Equal(webtest.Start.Add(2*time.Hour)) {
		t.Errorf("next %v, %v", next, err)
	}
}

func TestLedgerOfCaughtUpSlots(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	job := w.PutJob(t, `{"name":"a","binary":"report","schedule":"* * * * *"}`)
	late := w.Running(job, webtest.Start.Add(-time.Hour))
	late.Trigger, late.CreatedAt = engine.TriggerCatchUp, webtest.Start
	w.PutRun(t, late)
	w.PutRun(t, w.Running(job, webtest.Start.Add(-time.Minute)))
	planned := w.Running(job, webtest.Start.Add(time.Minute))
	planned.Status = engine.StatusScheduled
	w.PutRun(t, planned)
	w.Write(t, engine.Batch{Slots: []engine.SlotRange{{
		ID: engine.SlotRangeID(job.UID, webtest.Start.Add(-59*time.Minute)), JobUID: job.UID, Namespace: "default", Job: "a",
		From: webtest.Start.Add(-59 * time.Minute), To: webtest.Start.Add(-2 * time.Minute), Count: 58, Outcome: engine.OutcomeMissed, Reason: engine.ReasonOutage,
	}}})
	entries, next, err := w.Jobs.LedgerPage(t.Context(), "default", "a", "", webtest.Start.Add(-2*time.Hour), time.Time{}, "", 10)
	var rows []string
	for _, e := range entries {
		rows = append(rows, fmt.Sprintf("%s %s %s %d", e.From.Format("15:04"), e.Outcome, e.Reason, e.Count))
	}
	want := "[11:59 fired schedule 1 11:01 missed outage 58 11:00 fired catch_up 1]" // what is only planned has not become anything yet
	if fmt.Sprint(rows) != want || next != "" || err != nil {
		t.Errorf("%v, %v, %v; want %s", rows, next, err, want)
	}
}
