package service_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// fleet makes ten jobs: two of them in the tier heavy, one paused; job-3 and job-4 failed last, job-5 failed before it
// succeeded; job-6 waits for an executor; job-7 has never run.
func fleet(t *testing.T) *webtest.World {
	t.Helper()
	w := webtest.New(t)
	w.PutBinary(t, "report")
	var tasks []engine.ScheduledTask
	for i := range 10 {
		tier := "light"
		if i >= 8 {
			tier = "heavy"
		}
		job := w.PutJob(t, fmt.Sprintf(`{"name":"job-%d","binary":"report","every":"1h","tier":%q,"labels":{"team":"t%d","odd":""}}`, i, tier, i%2))
		slot := w.Now.Add(time.Duration(10-i) * time.Minute)
		tasks = append(tasks, engine.ScheduledTask{
			ID: job.UID, Shard: job.Shard, Slot: slot, RunAt: slot, Generation: 1, Revision: 1, Namespace: job.Namespace, Job: job.Name,
		})
		ends := []engine.Status{engine.StatusSucceeded, engine.StatusSucceeded}
		switch i {
		case 3:
			ends = []engine.Status{engine.StatusSucceeded, engine.StatusFailed}
		case 4:
			ends = []engine.Status{engine.StatusTimedOut, engine.StatusDead, engine.StatusCancelled}
		case 5:
			ends = []engine.Status{engine.StatusFailed, engine.StatusSucceeded}
		case 7:
			ends = nil
		}
		for n, end := range ends {
			run := w.Running(job, w.Now.Add(time.Duration(n-10)*time.Hour+time.Duration(i)*time.Minute))
			w.PutRun(t, run)
			w.PutRun(t, webtest.Ended(run, end, ""))
		}
		if i == 6 {
			run := w.Running(job, w.Now.Add(-2*time.Minute))
			run.Status, run.StartedAt, run.Attempts[0].StartedAt = engine.StatusQueued, time.Time{}, time.Time{}
			w.PutRun(t, run)
		}
	}
	w.Write(t, engine.Batch{Tasks: tasks})
	if _, err := w.Jobs.Pause(t.Context(), "default", "job-0", "mira", "too loud"); err != nil {
		t.Fatal(err)
	}
	return w
}

// names walks all pages of a list.
func names(t *testing.T, w *webtest.World, q service.ListQuery) string {
	t.Helper()
	q.Namespace = "default"
	var all []string
	for range 30 {
		page, err := w.Jobs.Page(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Entries) > q.Limit {
			t.Fatalf("%d entries for a limit of %d", len(page.Entries), q.Limit)
		}
		for _, entry := range page.Entries {
			all = append(all, strings.TrimPrefix(entry.Definition.Name, "job-"))
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return strings.Join(all, "")
		}
	}
	t.Fatalf("the pages of %+v never end: %v", q, all)
	return ""
}

func TestJobsAreNarrowedAndOrdered(t *testing.T) {
	w := fleet(t)
	for _, test := range []struct {
		query service.ListQuery
		want  string
	}{
		{service.ListQuery{}, "0123456789"},
		{service.ListQuery{Text: "B-3"}, "3"},
		{service.ListQuery{Label: "team=t1"}, "13579"},
		{service.ListQuery{Label: "odd"}, "0123456789"},
		{service.ListQuery{Label: "team=nobody"}, ""},
		{service.ListQuery{Tier: "heavy"}, "89"},
		{service.ListQuery{State: service.StatePaused}, "0"},
		{service.ListQuery{State: service.StateFailing}, "34"},
		{service.ListQuery{State: service.StateFailing, Label: "team=t0"}, "4"},
		{service.ListQuery{State: service.StateFailing, Order: service.ByLast}, "43"},
		{service.ListQuery{State: service.StateLate}, "6"},
		{service.ListQuery{Order: service.ByNext}, "9876543210"},
		{service.ListQuery{Order: service.ByNext, Label: "team=t1"}, "97531"},
		{service.ListQuery{Order: service.ByLast}, "649853210"},
		{service.ListQuery{Order: service.ByFailures}, "435"},
	} {
		for _, limit := range []int{1, 2, 3, 100} {
			test.query.Limit = limit
			if got := names(t, w, test.query); got != test.want {
				t.Errorf("%+v: %s, want %s", test.query, got, test.want)
			}
		}
	}
	for _, order := range []service.Order{service.ByName, service.ByNext, service.ByLast, service.ByFailures} {
		if _, err := w.Jobs.Page(t.Context(), service.ListQuery{Namespace: "default", Order: order, Cursor: "nonsense", Limit: 5}); !errors.Is(err, engine.ErrCursor) {
			t.Errorf("%s: %v", order, err)
		}
	}
}

func TestHealthCountsWhatEnded(t *testing.T) {
	w := fleet(t)
	page, err := w.Jobs.Page(t.Context(), service.ListQuery{Namespace: "default", Limit: 10, Health: true})
	if err != nil {
		t.Fatal(err)
	}
	type health struct{ runs, ended, good, failures int }
	want := []health{{2, 2, 2, 0}, {2, 2, 2, 0}, {2, 2, 2, 0}, {2, 2, 1, 1}, {3, 2, 0, 2}, {2, 2, 1, 0}, {3, 2, 2, 0}, {}, {2, 2, 2, 0}, {2, 2, 2, 0}}
	for i, entry := range page.Entries {
		h := entry.Health
		if got := (health{len(h.Marks), h.Ended, h.Succeeded, h.Failures}); got != want[i] {
			t.Errorf("%s: %+v, want %+v", entry.Definition.Name, got, want[i])
		}
		if late := h.Late > 0; late != (i == 6) {
			t.Errorf("%s is late by %s", entry.Definition.Name, h.Late)
		}
		if entry.Next.IsZero() != entry.Definition.Paused {
			t.Errorf("%s fires next at %s", entry.Definition.Name, entry.Next)
		}
	}
}

func TestStatisticsAreSpreads(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	job := w.PutJob(t, `{"name":"a","binary":"report","every":"1m"}`)
	for i := range 20 {
		run := w.Running(job, w.Now.Add(-time.Duration(i+1)*time.Minute))
		w.PutRun(t, run)
		run = webtest.Ended(run, engine.StatusSucceeded, "")
		run.FinishedAt = run.StartedAt.Add(time.Duration(i+1) * time.Second)
		w.PutRun(t, run)
	}
	got, err := w.Statistics(t.Context(), "default", "a")
	if err != nil {
		t.Fatal(err)
	}
	if want := (service.Spread{Count: 20, P50: 10 * time.Second, P95: 19 * time.Second, Max: 20 * time.Second}); got.Duration != want {
		t.Errorf("durations %+v, want %+v", got.Duration, want)
	}
	if want := (service.Spread{Count: 20, P50: 5 * time.Millisecond, P95: 5 * time.Millisecond, Max: 5 * time.Millisecond}); got.Lag != want {
		t.Errorf("lags %+v, want %+v", got.Lag, want)
	}
	if got.Ended != 20 || got.Succeeded != 20 || len(got.Marks) != 20 {
		t.Errorf("%d of %d, %d marks", got.Succeeded, got.Ended, len(got.Marks))
	}
}

func TestGenerationIsRestoredAsANewOne(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	w.PutJob(t, `{"name":"a","binary":"report","every":"1m"}`)
	w.PutJob(t, `{"name":"a","binary":"report","every":"2m","description":"slower"}`)
	difference, err := w.Jobs.Difference(t.Context(), "default", "a", 1, 2)
	if err != nil || !strings.Contains(difference, "-every: 1m") || !strings.Contains(difference, "+every: 2m") {
		t.Errorf("%v: %s", err, difference)
	}
	job, change, err := w.Jobs.Restore(t.Context(), "default", "a", 1, "joris", "")
	if err != nil || change != service.Changed || job.Generation != 3 || time.Duration(job.Spec.Every) != time.Minute || job.Message != "restored generation 1" || job.UpdatedBy != "joris" {
		t.Errorf("%s %v: %+v", change, err, job)
	}
	if _, change, err := w.Jobs.Restore(t.Context(), "default", "a", 3, "joris", ""); err != nil || change != service.Unchanged {
		t.Errorf("restoring what is there: %s %v", change, err)
	}
	_, _, err = w.Jobs.Restore(t.Context(), "default", "a", 9, "joris", "")
	refused(t, err, service.KindNotFound, "generation_not_found")
}

func TestHindrancesSayWhyNothingRuns(t *testing.T) {
	for name, test := range map[string]struct {
		definition string
		prepare    func(t *testing.T, w *webtest.World)
		want       string // codes, those that stop it with a !
	}{
		"nothing":          {`"every":"1m"`, nil, ""},
		"manual":           {`"timeout":"1m"`, nil, "manual"},
		"not active yet":   {`"every":"1m","active":{"from":"2027-01-01T00:00:00Z"}`, nil, "not_active_yet!"},
		"active no more":   {`"every":"1m","active":{"until":"2026-11-20T12:01:30Z"}`, func(_ *testing.T, w *webtest.World) { w.Now = w.Now.Add(2 * time.Minute) }, "active_time_over! engine_behind!"},
		"excluded for now": {`"schedule":"0 3 * * *","exclude":["* * 21 11 *"]`, nil, "excluded"},
		"paused": {`"every":"1m"`, func(t *testing.T, w *webtest.World) {
			if _, err := w.Jobs.Pause(t.Context(), "default", "a", "mira", "too loud"); err != nil {
				t.Fatal(err)
			}
		}, "paused!"},
		"no executor":  {`"every":"1m"`, func(_ *testing.T, w *webtest.World) { w.Queue.SetExecutors() }, "no_executor!"},
		"another tier": {`"every":"1m","tier":"heavy"`, nil, "no_executor!"},
		"no queue":     {`"every":"1m"`, func(_ *testing.T, w *webtest.World) { w.Queue.Fail(errors.New("no route")) }, "queue_unreachable!"},
		"busy": {`"every":"1m"`, func(_ *testing.T, w *webtest.World) {
			w.Queue.SetExecutors(engine.Presence{ID: "one", Tiers: tiers("light"), Slots: 1, Running: make([]engine.RunningAttempt, 1)})
		}, "executors_busy"},
		"no program": {`"every":"1m"`, func(t *testing.T, w *webtest.World) {
			binary, err := w.Binary(t.Context(), "default", "report")
			if err == nil {
				err = w.Store.DeleteBinary(t.Context(), "default", "report", binary.Revision)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, "binary_not_found!"},
		"the engine is behind": {`"every":"1m"`, func(_ *testing.T, w *webtest.World) { w.Now = w.Now.Add(time.Minute) }, "engine_behind!"},
		"its last slot was skipped": {`"every":"1m"`, func(t *testing.T, w *webtest.World) {
			job, err := w.Jobs.Get(t.Context(), "default", "a")
			if err != nil {
				t.Fatal(err)
			}
			at := w.Now.Add(-time.Minute)
			w.Write(t, engine.Batch{Slots: []engine.SlotRange{{
				ID: engine.SlotRangeID(job.UID, at), JobUID: job.UID, Namespace: "default", Job: "a", From: at, To: at, Count: 1,
				Outcome: engine.OutcomeSkipped, Reason: engine.ReasonOverlap,
			}}})
		}, "last_skipped"},
	} {
		t.Run(name, func(t *testing.T) {
			w := webtest.New(t)
			w.PutBinary(t, "report")
			w.Queue.SetExecutors(engine.Presence{ID: "one", Tiers: tiers("light"), Slots: 4})
			if !strings.Contains(test.definition, "tier") {
				test.definition += `,"tier":"light"`
			}
			w.PutJob(t, `{"name":"a","binary":"report",`+test.definition+`}`)
			if test.prepare != nil {
				test.prepare(t, w)
			}
			job, err := w.Jobs.Get(t.Context(), "default", "a")
			if err != nil {
				t.Fatal(err)
			}
			found, err := w.Hindrances(t.Context(), &job)
			if err != nil {
				t.Fatal(err)
			}
			var codes []string
			for _, h := range found {
				if h.Stops {
					h.Code += "!"
				}
				if !strings.HasSuffix(h.Words, ".") && !strings.HasSuffix(h.Words, "?") {
					t.Errorf("%q is no sentence", h.Words)
				}
				codes = append(codes, h.Code)
			}
			slices.Sort(codes)
			if got := strings.Join(codes, " "); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}
