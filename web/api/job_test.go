package api_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func TestJobIsCreatedOnce(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")

	created := s.ask("POST", "/api/v1/jobs", report).is(http.StatusCreated)
	job := into[wire.Job](created)
	if job.Name != "nightly-report" || job.Generation != 1 || job.Revision != 1 || !job.Pending ||
		job.Spec.Timezone != "Asia/Dhaka" || job.Schedule != "at 03:00, every day, Asia/Dhaka" {
		t.Errorf("created %+v", job)
	}
	if got := created.header.Get("Location"); got != "/api/v1/jobs/nightly-report" {
		t.Errorf("Location %q", got)
	}
	if got := created.header.Get("ETag"); got != `"1"` {
		t.Errorf("ETag %q", got)
	}
	if wakes := s.Queue.Wakes(); wakes[len(wakes)-1] != (engine.Wake{Shard: engine.ShardOf(job.UID), Kind: engine.WakeJob, Key: job.UID}) {
		t.Errorf("woken with %+v", wakes)
	}
	again := into[wire.Job](s.ask("POST", "/api/v1/jobs", report, "Idempotency-Key", "k").is(http.StatusOK))
	if again.UID != job.UID || again.Revision != 1 {
		t.Errorf("the same again gave %+v", again)
	}
	s.ask("POST", "/api/v1/jobs", strings.Replace(report, "0 3", "0 4", 1)).problem(http.StatusConflict, "job_exists", `"nightly-report"`)
}

func TestJobComesAsYAML(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	const one = "kind: Job\nname: a\nbinary: report\nevery: 90s\n"
	job := into[wire.Job](s.ask("POST", "/api/v1/jobs", one, "Content-Type", "application/yaml; charset=utf-8").is(http.StatusCreated))
	if job.Schedule != "every 1m30s" {
		t.Errorf("schedule %q", job.Schedule)
	}
	s.ask("POST", "/api/v1/jobs", one+"---\n"+strings.Replace(one, "name: a", "name: b", 1), "Content-Type", "text/yaml").
		problem(http.StatusUnprocessableEntity, "invalid_definition", "2 documents", "/api/v1/apply")
	s.ask("PUT", "/api/v1/jobs/c", one, "Content-Type", "application/yaml").
		problem(http.StatusUnprocessableEntity, "invalid_definition", `"c"`)
}

func TestJobIsReadAndListed(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	for i := range 5 {
		s.PutJob(t, fmt.Sprintf(`{"name":"job-%d","binary":"report","schedule":"@hourly"}`, i))
	}
	job := s.PutJob(t, report)
	slot := webtest.Start.Add(9 * time.Hour)
	s.Write(t, engine.Batch{Tasks: []engine.ScheduledTask{{
		ID: job.UID, Shard: job.Shard, Slot: slot, RunAt: slot, Generation: 1, Revision: 1, Namespace: "default", Job: job.Name,
	}}})

	one := into[wire.Job](s.ask("GET", "/api/v1/jobs/nightly-report", "").is(http.StatusOK))
	if !one.NextSlot.Equal(slot) || one.CreatedBy != "test" {
		t.Errorf("job %+v", one)
	}
	if same := s.ask("GET", "/api/v1/jobs/nightly-report", "", "If-None-Match", `"1"`).is(http.StatusNotModified); same.header.Get("ETag") != `"1"` || len(same.body) > 0 {
		t.Errorf("unchanged: %v %s", same.header, same.body)
	}
	s.ask("GET", "/api/v1/jobs/nothing", "").problem(http.StatusNotFound, "job_not_found", `"nothing"`)
	s.ask("GET", "/api/v1/jobs/a%2Fb", "").problem(http.StatusNotFound, "job_not_found")
	s.ask("GET", "/api/v1/jobs/"+strings.Repeat("x", 300), "").problem(http.StatusNotFound, "job_not_found")
	s.ask("GET", "/api/v1/jobs/nightly-report?namespace=other", "").problem(http.StatusNotFound, "job_not_found")
	at(t, s.ask("GET", "/api/v1/jobs?namespace=a/b", "").problem(http.StatusUnprocessableEntity, "invalid_request"), "query.namespace")

	var names []string
	for cursor := ""; ; {
		list := into[wire.List[wire.Job]](s.ask("GET", "/api/v1/jobs?limit=4&cursor="+cursor, "").is(http.StatusOK))
		for _, job := range list.Items {
			names = append(names, job.Name)
		}
		if cursor = list.Next; cursor == "" {
			break
		}
	}
	if fmt.Sprint(names) != "[job-0 job-1 job-2 job-3 job-4 nightly-report]" {
		t.Errorf("listed %v", names)
	}
	if list := into[wire.List[wire.Job]](s.ask("GET", "/api/v1/jobs?q=NIGHT", "")); len(list.Items) != 1 {
		t.Errorf("found %+v", list)
	}
	if empty := s.ask("GET", "/api/v1/jobs?namespace=empty", "").is(http.StatusOK); strings.TrimSpace(string(empty.body)) != `{"items":[],"next":""}` {
		t.Errorf("an empty list is %s", empty.body)
	}
	at(t, s.ask("GET", "/api/v1/jobs?limit=0", "").problem(http.StatusUnprocessableEntity, "invalid_request"), "query.limit")
	at(t, s.ask("GET", "/api/v1/jobs?label=%3Dred", "").problem(http.StatusUnprocessableEntity, "invalid_label"), "query.label")
	at(t, s.ask("GET", "/api/v1/jobs?cursor=x", "").problem(http.StatusUnprocessableEntity, "invalid_cursor", "cursor"), "query.cursor")
}

func TestJobIsReplacedUnderItsTag(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	const path = "/api/v1/jobs/nightly-report"
	nameless := strings.Replace(report, `"name":"nightly-report",`, "", 1)

	s.ask("PUT", path, nameless).is(http.StatusCreated)
	s.ask("PUT", path, nameless).is(http.StatusOK)
	edited := s.ask("PUT", path+"?message=earlier", strings.Replace(nameless, "0 3", "0 2", 1), "If-Match", `"1"`).is(http.StatusOK)
	if job := into[wire.Job](edited); job.Generation != 2 || job.Message != "earlier" || edited.header.Get("ETag") != `"2"` {
		t.Errorf("edited to %+v", job)
	}
	s.ask("PUT", path, nameless, "If-Match", `"1"`).problem(http.StatusPreconditionFailed, "job_changed", "read it again")
	at(t, s.ask("PUT", path, nameless, "If-Match", `"new"`).problem(http.StatusUnprocessableEntity, "invalid_request"), "header.If-Match")
	s.ask("PUT", path, nameless, "If-None-Match", "*").problem(http.StatusConflict, "job_exists")
	s.ask("PUT", "/api/v1/jobs/other", report).problem(http.StatusUnprocessableEntity, "invalid_definition", `"other"`)
	s.ask("DELETE", path, "", "If-Match", `"1"`).problem(http.StatusPreconditionFailed, "job_changed")

	forms := into[wire.List[wire.Generation]](s.ask("GET", path+"/generations", "").is(http.StatusOK))
	if len(forms.Items) != 2 || forms.Items[0].Generation != 2 || forms.Items[1].Spec.Schedule[0] != "0 3 * * *" {
		t.Errorf("generations %+v", forms)
	}
	for n, cursor := int64(2), ""; n > 0; n-- {
		page := into[wire.List[wire.Generation]](s.ask("GET", path+"/generations?limit=1&cursor="+cursor, "").is(http.StatusOK))
		if len(page.Items) != 1 || page.Items[0].Generation != n || (page.Next == "") != (n == 1) {
			t.Errorf("a page of one, at generation %d: %+v", n, page)
		}
		cursor = page.Next
	}
	at(t, s.ask("GET", path+"/generations?cursor=nonsense", "").problem(http.StatusUnprocessableEntity, "invalid_cursor"), "query.cursor")
	if gone := s.ask("DELETE", path, "", "If-Match", `"2"`).is(http.StatusNoContent); len(gone.body) != 0 {
		t.Errorf("a deletion says %q", gone.body)
	}
	s.ask("DELETE", path, "").problem(http.StatusNotFound, "job_not_found")
	s.ask("GET", path+"/generations", "").problem(http.StatusNotFound, "job_not_found")
}

func TestJobIsPausedAndResumed(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	s.PutJob(t, report)
	const path = "/api/v1/jobs/nightly-report"
	if job := into[wire.Job](s.ask("POST", path+"/pause", "").is(http.StatusOK)); !job.Paused || job.Revision != 2 {
		t.Errorf("paused %+v", job)
	}
	if job := into[wire.Job](s.ask("POST", path+"/pause", "").is(http.StatusOK)); job.Revision != 2 {
		t.Errorf("paused twice %+v", job)
	}
	if job := into[wire.Job](s.ask("POST", path+"/resume", "").is(http.StatusOK)); job.Paused || job.Revision != 3 {
		t.Errorf("resumed %+v", job)
	}
	s.ask("POST", "/api/v1/jobs/nothing/pause", "").problem(http.StatusNotFound, "job_not_found")
	s.ask("POST", "/api/v1/jobs/nothing/resume", "").problem(http.StatusNotFound, "job_not_found")
}

func TestBadDefinitionsAreExplained(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report", "stable")
	if _, _, err := s.UploadTo(t, "plain", "no shebang"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		body     string
		location string
		words    []string
	}{
		"unknown key":       {`{"name":"a","binary":"report","shedule":"@daily"}`, "body.shedule", []string{"shedule", "schedule"}},
		"repeated key":      {`{"name":"a","name":"b","binary":"report"}`, "body.name", []string{"name"}},
		"bad cron":          {`{"name":"a","binary":"report","schedule":"61 * * * *"}`, "body.schedule", []string{"61"}},
		"unknown zone":      {`{"name":"a","binary":"report","schedule":"@daily","timezone":"Europe/Atlantis"}`, "body.timezone", []string{"Europe/Atlantis"}},
		"never fires":       {`{"name":"a","binary":"report","schedule":"0 0 30 2 *"}`, "body.schedule", []string{"never"}},
		"name with a slash": {`{"name":"a/b","binary":"report"}`, "body.name", []string{"'/'"}},
		"name too long":     {`{"name":"` + strings.Repeat("x", 300) + `","binary":"report"}`, "body.name", []string{"300 characters", "128"}},
		"no binary":         {`{"name":"a"}`, "body.binary", []string{"binary"}},
		"missing binary":    {`{"name":"a","binary":"absent"}`, "body.binary", []string{`"absent"`, "tidewheel binary push absent FILE"}},
		"missing version":   {`{"name":"a","binary":"report@7"}`, "body.binary", []string{"no version 7"}},
		"missing alias":     {`{"name":"a","binary":"report@blue"}`, "body.binary", []string{`no alias "blue"`, "stable (version 1)"}},
		"missing digest":    {`{"name":"a","binary":"sha256:` + strings.Repeat("0", 64) + `"}`, "body.binary", []string{"sha256"}},
		"no interpreter":    {`{"name":"a","binary":"plain"}`, "body.interpreter", []string{"interpreter"}},
		"a secret":          {`{"name":"a","binary":"report","secrets":{"P":"db"}}`, "body.secrets.P", []string{`"db"`}},
		"at in the past":    {`{"name":"a","binary":"report","at":"2026-11-20T11:00:00Z"}`, "body.at", []string{"has passed"}},
		"wrong type":        {`{"name":"a","binary":"report","timeout":5}`, "body.timeout", []string{"timeout"}},
		"no JSON":           {`{"name":`, "body", nil},
		"nothing":           {``, "body", nil},
	} {
		t.Run(name, func(t *testing.T) {
			answer := s.ask("POST", "/api/v1/jobs", c.body)
			answer.is(http.StatusUnprocessableEntity)
			problem := into[wire.Problem](answer)
			for _, word := range c.words {
				if !strings.Contains(problem.Detail, word) {
					t.Errorf("detail %q does not say %q", problem.Detail, word)
				}
			}
			at(t, problem, c.location)
		})
	}
	if list := into[wire.List[wire.Job]](s.ask("GET", "/api/v1/jobs", "")); len(list.Items) != 0 {
		t.Errorf("something was kept: %+v", list.Items)
	}
	many := s.ask("POST", "/api/v1/jobs", `{"name":"a/b","binary":"report","schedule":"61 * * * *","timezone":"X/Y"}`).
		problem(http.StatusUnprocessableEntity, "invalid_definition", "3 problems")
	for _, location := range []string{"body.name", "body.schedule", "body.timezone"} {
		at(t, many, location)
	}
	s.ask("POST", "/api/v1/jobs", `{"name":"`+strings.Repeat("x", 5<<20)+`"}`).problem(http.StatusRequestEntityTooLarge, "body_too_large", "4MiB")
}

func TestNextSlotsAreListed(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	s.PutJob(t, `{"name":"a","binary":"report","schedule":"30 2 * * *","timezone":"Europe/Berlin"}`)
	next := into[wire.Preview](s.ask("GET", "/api/v1/jobs/a/next?count=2&after=2027-03-27T12:00:00%2B01:00", "").is(http.StatusOK))
	if len(next.Items) != 2 || next.Items[0].Slot.Format(time.RFC3339) != "2027-03-28T01:00:00Z" ||
		!strings.Contains(next.Items[0].Note, "02:30 does not exist") || next.Items[0].Local.Format(time.RFC3339) != "2027-03-28T03:00:00+02:00" {
		t.Errorf("next %+v", next)
	}
	if now := into[wire.Preview](s.ask("GET", "/api/v1/jobs/a/next", "")); len(now.Items) != 10 || !now.Items[0].Slot.After(webtest.Start) {
		t.Errorf("next from now %+v", now)
	}
	at(t, s.ask("GET", "/api/v1/jobs/a/next?after=soon", "").problem(http.StatusUnprocessableEntity, "invalid_request", "soon"), "query.after")
	s.ask("GET", "/api/v1/jobs/b/next", "").problem(http.StatusNotFound, "job_not_found")

	const preview = "/api/v1/schedule/preview"
	shown := into[wire.Preview](s.ask("POST", preview, `{"schedule":["0 3 * * *"],"timezone":"Asia/Dhaka","count":3,"start":"2026-01-01T00:00:00Z"}`).is(http.StatusOK))
	if len(shown.Items) != 3 || shown.Description != "at 03:00, every day, Asia/Dhaka" || shown.Items[0].Slot.Hour() != 21 {
		t.Errorf("preview %+v", shown)
	}
	if one := into[wire.Preview](s.ask("POST", preview, `{"schedule":"0 3 * * *","timezone":"Asia/Dhaka","count":3,"start":"2026-01-01T00:00:00Z"}`).is(http.StatusOK)); !reflect.DeepEqual(one, shown) {
		t.Errorf("a schedule that is no list: %+v", one)
	}
	at(t, s.ask("POST", preview, `{"schedule":5}`).problem(http.StatusUnprocessableEntity, "invalid_request"), "body.schedule")
	s.ask("POST", preview, `{"schedule":["0 0 30 2 *"]}`).problem(http.StatusUnprocessableEntity, "invalid_schedule", "never")
	s.ask("POST", preview, `{"schedule":["@daily"],"timezone":"Mars/Base"}`).problem(http.StatusUnprocessableEntity, "invalid_schedule", "Mars/Base")
	at(t, s.ask("POST", preview, `{"cron":"@daily"}`).problem(http.StatusUnprocessableEntity, "invalid_request"), "body.cron")
	s.ask("POST", preview, `{`).problem(http.StatusBadRequest, "invalid_request", "not JSON")
}

func TestLedgerListsEverySlot(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	job := s.PutJob(t, `{"name":"a","binary":"report","schedule":"* * * * *"}`)
	var want []string
	var decision engine.Batch
	for i := range 20 {
		slot := webtest.Start.Add(time.Duration(i) * time.Minute)
		if i%4 == 3 {
			decision.Slots = append(decision.Slots, engine.SlotRange{
				ID: engine.SlotRangeID(job.UID, slot), JobUID: job.UID, Namespace: "default", Job: "a",
				From: slot, To: slot, Count: 1, Outcome: engine.OutcomeSkipped, Reason: engine.ReasonOverlap,
			})
			want = append([]string{slot.Format("15:04") + " skipped overlap"}, want...)
			continue
		}
		decision.Runs = append(decision.Runs, s.Running(job, slot))
		want = append([]string{slot.Format("15:04") + " fired schedule"}, want...)
	}
	s.Write(t, decision)
	for _, limit := range []int{1, 2, 3, 7, 100} {
		var got []string
		for cursor := ""; ; {
			list := into[wire.List[wire.LedgerEntry]](s.ask("GET", fmt.Sprintf("/api/v1/jobs/a/slots?limit=%d&cursor=%s", limit, cursor), "").is(http.StatusOK))
			if len(list.Items) > limit {
				t.Fatalf("a page of %d holds %d", limit, len(list.Items))
			}
			for _, e := range list.Items {
				got = append(got, e.From.Format("15:04")+" "+e.Outcome+" "+e.Reason)
			}
			if cursor = list.Next; cursor == "" {
				break
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("by pages of %d: %v, want %v", limit, got, want)
		}
	}
	since := into[wire.List[wire.LedgerEntry]](s.ask("GET", "/api/v1/jobs/a/slots?since="+webtest.Start.Add(10*time.Minute).Format(time.RFC3339), ""))
	if len(since.Items) != 10 || since.Next != "" {
		t.Errorf("since the tenth: %d entries, next %q", len(since.Items), since.Next)
	}
	s.ask("GET", "/api/v1/jobs/a/slots?cursor=x", "").problem(http.StatusUnprocessableEntity, "invalid_cursor")
	s.ask("GET", "/api/v1/jobs/b/slots", "").problem(http.StatusNotFound, "job_not_found")
}

func TestBackfillReportsItsPlan(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	job := s.PutJob(t, `{"name":"a","binary":"report","schedule":"@hourly"}`)
	s.PutJob(t, `{"name":"by-hand","binary":"report"}`)
	s.PutRun(t, s.Running(job, webtest.Start.Add(-2*time.Hour)))
	const path = "/api/v1/jobs/a/backfill"
	const span = `"from":"2026-11-20T09:00:00Z","to":"2026-11-20T12:00:00Z"`

	plan := into[wire.Backfill](s.ask("POST", path, `{`+span+`,"dry_run":true}`).is(http.StatusOK))
	if len(plan.Items) != 3 || plan.New != 2 || plan.Items[1].Status != "running" || !plan.DryRun {
		t.Errorf("plan %+v", plan)
	}
	if commands, err := s.Store.Commands(t.Context(), []int{job.Shard}, 10); err != nil || len(commands) != 0 {
		t.Errorf("a dry run left %v, %v", commands, err)
	}
	for range 2 {
		if done := into[wire.Backfill](s.ask("POST", path, `{`+span+`}`).is(http.StatusAccepted)); done.New != 2 {
			t.Errorf("backfill %+v", done)
		}
	}
	if commands, err := s.Store.Commands(t.Context(), []int{job.Shard}, 10); err != nil || len(commands) != 1 || commands[0].Kind != engine.CommandBackfill {
		t.Errorf("left %v, %v", commands, err)
	}
	at(t, s.ask("POST", path, `{"from":"2026-11-20T09:00:00Z","to":"2026-11-20T08:00:00Z"}`).problem(http.StatusUnprocessableEntity, "range_empty"), "body.to")
	at(t, s.ask("POST", path, `{"from":"2027-11-20T09:00:00Z","to":"2027-11-21T08:00:00Z"}`).problem(http.StatusUnprocessableEntity, "range_in_future"), "body.from")
	at(t, s.ask("POST", path, `{"from":"1990-11-20T09:00:00Z","to":"2026-11-20T08:00:00Z"}`).problem(http.StatusUnprocessableEntity, "range_too_large"), "body.to")
	at(t, s.ask("POST", path, `{"from":"yesterday","to":"2026-11-20T08:00:00Z"}`).problem(http.StatusUnprocessableEntity, "invalid_request"), "body.from")
	s.ask("POST", path, ``).problem(http.StatusBadRequest, "invalid_request", "body")
	s.ask("POST", "/api/v1/jobs/by-hand/backfill", `{`+span+`}`).problem(http.StatusConflict, "no_slots", "run it manually")
	s.ask("POST", "/api/v1/jobs/nothing/backfill", `{`+span+`}`).problem(http.StatusNotFound, "job_not_found")
}
