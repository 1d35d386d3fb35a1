package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// history puts a job and three runs of it into the store: succeeded, dead, running.
func history(s *site) (job engine.Job, runs []engine.Run) {
	s.PutBinary(s.t, "report", "stable")
	job = s.PutJob(s.t, report)
	for i, status := range []engine.Status{engine.StatusSucceeded, engine.StatusDead, engine.StatusRunning} {
		run := s.Running(job, webtest.Start.Add(time.Duration(i-3)*time.Hour))
		s.PutRun(s.t, run)
		if status != engine.StatusRunning {
			run = webtest.Ended(run, status, "first\nsecond\nthird\n")
			s.PutRun(s.t, run)
		}
		runs = append(runs, run)
	}
	dead := engine.DeadLetter{RunID: runs[1].ID, Namespace: "default", JobUID: job.UID, Job: job.Name, Error: "exit code 1", Attempts: 1, At: runs[1].FinishedAt}
	s.Write(s.t, engine.Batch{DeadLetters: []engine.DeadLetter{dead}})
	return job, runs
}

// acceptedReason is why a run or a wave has not begun that is only a command as yet.
const acceptedReason = "accepted, waiting for the engine"

func TestRunIsStartedManually(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	job := s.PutJob(t, report)
	const path = "/api/v1/jobs/nightly-report/run"

	first := s.ask("POST", path, `{"payload":{"shops":[3]},"args":{"LEVEL":"debug"}}`, "Idempotency-Key", "order-1").is(http.StatusCreated)
	run := into[wire.Run](first)
	if run.Trigger != engine.TriggerManual || string(run.Payload) != `{"shops":[3]}` || run.Args["LEVEL"] != "debug" || run.Status != engine.StatusScheduled {
		t.Errorf("started %+v", run)
	}
	if got := first.header.Get("Location"); got != "/api/v1/runs/"+run.ID {
		t.Errorf("Location %q", got)
	}
	read := into[wire.Run](s.ask("GET", "/api/v1/runs/"+run.ID, "").is(http.StatusOK))
	if read.Status != engine.StatusScheduled || read.Reason != acceptedReason || string(read.Payload) != `{"shops":[3]}` || read.JobUID != job.UID {
		t.Errorf("before the engine has acted: %+v", read)
	}
	again := into[wire.Run](s.ask("POST", path, `{"args":{"LEVEL":"debug"}, "payload": {"shops": [3]}}`, "Idempotency-Key", "order-1").is(http.StatusOK))
	if again.ID != run.ID || string(again.Payload) != `{"shops":[3]}` {
		t.Errorf("asked again: %+v", again)
	}
	if other := into[wire.Run](s.ask("POST", path, "").is(http.StatusCreated)); other.ID == run.ID {
		t.Error("without a key a second run is the first")
	}
	later := into[wire.Run](s.ask("POST", path, `{"at":"2026-11-21T00:00:00Z"}`).is(http.StatusCreated))
	if later.NotBefore.Format(time.RFC3339) != "2026-11-21T00:00:00Z" {
		t.Errorf("for later: %+v", later)
	}
	s.ask("GET", "/api/v1/runs/"+run.ID+"/logs", "").is(http.StatusOK)
	s.ask("GET", "/api/v1/runs/"+run.ID+"/effects", "").is(http.StatusOK)
	s.ask("POST", "/api/v1/runs/"+run.ID+"/retry", "").problem(http.StatusConflict, "run_not_ended")
	s.ask("POST", "/api/v1/runs/"+run.ID+"/cancel", "").is(http.StatusAccepted)
	commands, err := s.Store.Commands(t.Context(), []int{job.Shard}, 10)
	if err != nil || len(commands) != 4 || commands[0].Kind != engine.CommandStart || commands[3].Kind != engine.CommandCancel {
		t.Errorf("left for the engine: %v, %v", commands, err)
	}
	s.Act(t)
	if made := into[wire.Run](s.ask("GET", "/api/v1/runs/"+run.ID, "").is(http.StatusOK)); made.Reason != "" || made.Revision != 1 {
		t.Errorf("once the engine has made it: %+v", made)
	}
	s.ask("POST", path, `{"payload":{"shops":[3]},"args":{"LEVEL":"debug"}}`, "Idempotency-Key", "order-1").is(http.StatusOK)
	s.ask("POST", path, `{}`, "Idempotency-Key", "order-1").problem(http.StatusUnprocessableEntity, "key_reused")

	s.ask("POST", path, `{"payload":nope}`).problem(http.StatusBadRequest, "invalid_request", "not JSON")
	at(t, s.ask("POST", path, `{"payloads":1}`).problem(http.StatusUnprocessableEntity, "invalid_request"), "body.payloads")
	at(t, s.ask("POST", path, `{"args":{"TIDEWHEEL_JOB":"x"}}`).problem(http.StatusUnprocessableEntity, "invalid_argument", "TIDEWHEEL_"), "body.args")
	at(t, s.ask("POST", path, `{"payload":"`+strings.Repeat("x", 2<<20)+`"}`).problem(http.StatusUnprocessableEntity, "payload_too_large"), "body.payload")
	s.ask("POST", path, `"`+strings.Repeat("x", 5<<20)+`"`).problem(http.StatusRequestEntityTooLarge, "body_too_large")
	s.ask("POST", "/api/v1/jobs/nothing/run", "").problem(http.StatusNotFound, "job_not_found")
}

// A key that comes with another body would give its caller a run that it has not asked for.
func TestKeyIsForOneRequest(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report", "stable")
	s.PutJob(t, report)
	const later = "2026-11-21T00:00:00Z"
	for path, test := range map[string]struct {
		first string
		other map[string]string // the body, by what is different
	}{
		"/api/v1/jobs/nightly-report/run": {
			`{"payload":{"b":[1,2],"a":12345678901234567890},"args":{"LEVEL":"debug"},"at":"` + later + `"}`,
			map[string]string{
				"payload": `{"payload":{"b":[2,1],"a":12345678901234567890},"args":{"LEVEL":"debug"},"at":"` + later + `"}`,
				"args":    `{"payload":{"a":12345678901234567890,"b":[1,2]},"args":{"LEVEL":"info"},"at":"` + later + `"}`,
				"at":      `{"payload":{"a":12345678901234567890,"b":[1,2]},"args":{"LEVEL":"debug"}}`,
			},
		},
		"/v1/jobs": {
			`{"job_type":"report","payload":null,"schedule_time":"` + later + `","retries":1}`,
			map[string]string{
				"payload":       `{"job_type":"report","payload":0,"schedule_time":"` + later + `","retries":1}`,
				"retries":       `{"job_type":"report","payload":null,"schedule_time":"` + later + `"}`,
				"schedule_time": `{"job_type":"report","payload":null,"retries":1}`,
			},
		},
	} {
		s.ask("POST", path, test.first, "Idempotency-Key", "k").is(http.StatusCreated)
		s.ask("POST", path, test.first, "Idempotency-Key", "k").is(http.StatusOK)
		for part, body := range test.other {
			refused := s.ask("POST", path, body, "Idempotency-Key", "k").problem(http.StatusUnprocessableEntity, "key_reused", part, "new key")
			at(t, refused, "header.Idempotency-Key")
			s.ask("POST", path, body, "Idempotency-Key", "k-"+part).is(http.StatusCreated)
		}
	}
	now := `{"job_type":"report"}`
	s.ask("POST", "/v1/jobs", now, "Idempotency-Key", "now").is(http.StatusCreated)
	s.ask("POST", "/v1/jobs", now, "Idempotency-Key", "now").is(http.StatusOK)
	s.ask("POST", "/v1/jobs", `{"job_type":"report","schedule_time":"`+later+`"}`, "Idempotency-Key", "now").problem(http.StatusUnprocessableEntity, "key_reused")
}

func TestProgramRunsOnce(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report", "stable")
	for _, path := range []string{"/v1/jobs", "/api/v1/v1/jobs"} {
		made := into[wire.OneOff](s.ask("POST", path, `{"job_type":"report@stable","schedule_time":"2026-12-01T00:00:00Z","payload":{"a":1},"retries":2}`,
			"Idempotency-Key", path).is(http.StatusCreated))
		if made.Spec.Binary != "report@stable" || made.Spec.Retry.MaxAttempts != 3 || made.Spec.At.Format(time.RFC3339) != "2026-12-01T00:00:00Z" ||
			string(made.Spec.Payload) != `{"a":1}` || made.RunID != engine.SlotRunID(made.UID, *made.Spec.At) {
			t.Errorf("%s made %+v", path, made)
		}
		if !strings.HasPrefix(made.Name, "report-stable-") {
			t.Errorf("name %q", made.Name)
		}
		same := `{"payload": {"a": 1}, "job_type":"report@stable","schedule_time":"2026-12-01T01:00:00+01:00","retries":2}`
		again := into[wire.OneOff](s.ask("POST", path, same, "Idempotency-Key", path).is(http.StatusOK))
		if again.UID != made.UID || again.RunID != made.RunID {
			t.Errorf("asked again: %+v", again)
		}
	}
	now := into[wire.OneOff](s.ask("POST", "/v1/jobs", `{"job_type":"report"}`).is(http.StatusCreated))
	if !now.Spec.At.Equal(webtest.Start) {
		t.Errorf("at %v", now.Spec.At)
	}
	at(t, s.ask("POST", "/v1/jobs", `{}`).problem(http.StatusUnprocessableEntity, "invalid_request", "job_type"), "body")
	at(t, s.ask("POST", "/v1/jobs", `{"job_type":"absent"}`).problem(http.StatusUnprocessableEntity, "binary_not_found"), "body.job_type")
	at(t, s.ask("POST", "/v1/jobs", `{"job_type":"../../x"}`).problem(http.StatusUnprocessableEntity, "invalid_definition"), "body.job_type")
	at(t, s.ask("POST", "/v1/jobs", `{"job_type":"report","schedule_time":"2020-01-01T00:00:00Z"}`).problem(http.StatusUnprocessableEntity, "at_in_the_past"), "body.schedule_time")
	at(t, s.ask("POST", "/v1/jobs", `{"job_type":"report","retries":-1}`).problem(http.StatusUnprocessableEntity, "invalid_request"), "body.retries")
}

func TestRunsAreFiltered(t *testing.T) {
	s := newSite(t)
	_, runs := history(s)
	s.ask("POST", "/api/v1/jobs/nightly-report/run", "").is(http.StatusCreated)
	s.Act(t)
	for query, want := range map[string]int{
		"":                                  4,
		"job=nightly-report":                4,
		"job=other":                         0,
		"dag=etl":                           0,
		"status=dead":                       1,
		"status=dead,running":               2,
		"status=dead&status=succeeded":      2,
		"tier=medium":                       4,
		"tier=heavy":                        0,
		"by=nobody":                         0,
		"since=2026-11-20T10:30:00Z":        2,
		"until=2026-11-20T10:30:00%2B00:00": 2,
		"since=90m":                         2,
		"q=" + runs[0].ID[20:]:              1,
		"q=NIGHTLY":                         4,
		"namespace=other":                   0,
	} {
		list := into[wire.List[wire.Run]](s.ask("GET", "/api/v1/runs?"+query, "").is(http.StatusOK))
		if len(list.Items) != want {
			t.Errorf("%s finds %d runs, want %d", query, len(list.Items), want)
		}
	}
	var ids []string
	for cursor := ""; ; {
		list := into[wire.List[wire.Run]](s.ask("GET", "/api/v1/runs?limit=3&status=succeeded,dead,running&cursor="+cursor, ""))
		for _, run := range list.Items {
			ids = append(ids, run.ID)
		}
		if cursor = list.Next; cursor == "" {
			break
		}
	}
	if want := []string{runs[2].ID, runs[1].ID, runs[0].ID}; fmt.Sprint(ids) != fmt.Sprint(want) {
		t.Errorf("listed %v, want %v", ids, want)
	}
	at(t, s.ask("GET", "/api/v1/runs?status=done", "").problem(http.StatusUnprocessableEntity, "invalid_request", "done", "succeeded"), "query.status")
	at(t, s.ask("GET", "/api/v1/runs?tier=big", "").problem(http.StatusUnprocessableEntity, "invalid_request", "light"), "query.tier")
	at(t, s.ask("GET", "/api/v1/runs?since=yesterday", "").problem(http.StatusUnprocessableEntity, "invalid_request", "yesterday"), "query.since")
	at(t, s.ask("GET", "/api/v1/runs?limit=many", "").problem(http.StatusUnprocessableEntity, "invalid_request"), "query.limit")
}

func TestRunListsItsAttempts(t *testing.T) {
	s := newSite(t)
	_, runs := history(s)
	run := into[wire.Run](s.ask("GET", "/api/v1/runs/"+runs[0].ID, "").is(http.StatusOK))
	if run.Status != engine.StatusSucceeded || *run.ExitCode != 0 || len(run.Attempts) != 1 {
		t.Fatalf("run %+v", run)
	}
	attempt := run.Attempts[0]
	if attempt.Output.Tail != "first\nsecond\nthird\n" || attempt.Output.Lines != 3 || attempt.Usage.CPU.String() != "1.25s" || attempt.Token != 7 {
		t.Errorf("attempt %+v", attempt)
	}
	list := into[wire.List[wire.Run]](s.ask("GET", "/api/v1/runs?status=succeeded", ""))
	if output := list.Items[0].Attempts[0].Output; output.Tail != "" || output.Size != 19 {
		t.Errorf("a list holds output: %+v", output)
	}
	s.ask("GET", "/api/v1/runs/nothing", "").problem(http.StatusNotFound, "run_not_found", `"nothing"`)
}

func TestRunIsCancelledAndRetried(t *testing.T) {
	s := newSite(t)
	job, runs := history(s)
	path := func(i int) string { return "/api/v1/runs/" + runs[i].ID }
	s.ask("POST", path(2)+"/cancel", "").is(http.StatusAccepted)
	s.ask("POST", path(1)+"/retry", "").is(http.StatusAccepted)
	commands, err := s.Store.Commands(t.Context(), []int{job.Shard}, 10)
	if err != nil || len(commands) != 2 {
		t.Fatalf("left for the engine: %v, %v", commands, err)
	}
	s.ask("POST", path(0)+"/cancel", "").problem(http.StatusConflict, "run_ended", "succeeded")
	s.ask("POST", path(0)+"/retry", "").problem(http.StatusConflict, "run_succeeded", "tidewheel run nightly-report")
	s.ask("POST", path(2)+"/retry", "").problem(http.StatusConflict, "run_not_ended", "running")
	s.ask("POST", "/api/v1/runs/nothing/cancel", "").problem(http.StatusNotFound, "run_not_found")
	s.ask("POST", "/api/v1/runs/nothing/retry", "").problem(http.StatusNotFound, "run_not_found")
}

func TestDeadLettersAreReplayedAndPurged(t *testing.T) {
	s := newSite(t)
	job, runs := history(s)
	letters := into[wire.List[wire.DeadLetter]](s.ask("GET", "/api/v1/dead-letters", "").is(http.StatusOK))
	if len(letters.Items) != 1 || letters.Items[0].ID != runs[1].ID || letters.Items[0].Error != "exit code 1" {
		t.Fatalf("dead letters %+v", letters)
	}
	path := "/api/v1/dead-letters/" + runs[1].ID
	if letter := into[wire.DeadLetter](s.ask("GET", path, "").is(http.StatusOK)); *letter != letters.Items[0] {
		t.Errorf("one of them is %+v", letter)
	}
	for query, want := range map[string]int{"job=nightly-report": 1, "job=other": 0, "until=1s": 1, "until=2000-01-01T00:00:00Z": 0} {
		if got := into[wire.List[wire.DeadLetter]](s.ask("GET", "/api/v1/dead-letters?"+query, "").is(http.StatusOK)); len(got.Items) != want {
			t.Errorf("with %s there are %d, want %d", query, len(got.Items), want)
		}
	}
	s.ask("POST", path+"/replay", "").is(http.StatusAccepted)
	if commands, err := s.Store.Commands(t.Context(), []int{job.Shard}, 10); err != nil || len(commands) != 1 || commands[0].Kind != engine.CommandRetry {
		t.Errorf("left for the engine: %v, %v", commands, err)
	}
	s.ask("DELETE", path, "").is(http.StatusNoContent)
	s.ask("DELETE", path, "").problem(http.StatusNotFound, "dead_letter_not_found")
	s.ask("POST", "/api/v1/dead-letters/nothing/replay", "").problem(http.StatusNotFound, "run_not_found")
	s.ask("GET", path, "").problem(http.StatusNotFound, "dead_letter_not_found")
	at(t, s.ask("GET", "/api/v1/dead-letters?cursor=x", "").problem(http.StatusUnprocessableEntity, "invalid_cursor"), "query.cursor")
}

func TestDeadLettersAreReplayedAndPurgedTogether(t *testing.T) {
	s := newSite(t)
	job, runs := history(s)
	other := into[wire.DeadLettersHandled](s.ask("POST", "/api/v1/dead-letters/replay", `{"job":"other"}`).is(http.StatusAccepted))
	if other.Items == nil || len(other.Items)+len(other.Refused) != 0 {
		t.Errorf("of another job: %+v", other)
	}
	for range 2 { // asked twice is asked once
		done := into[wire.DeadLettersHandled](s.ask("POST", "/api/v1/dead-letters/replay", `{"job":"nightly-report"}`).is(http.StatusAccepted))
		if len(done.Items) != 1 || done.Items[0] != runs[1].ID || len(done.Refused) != 0 || done.Next != "" {
			t.Errorf("replayed: %+v", done)
		}
	}
	if commands, err := s.Store.Commands(t.Context(), []int{job.Shard}, 10); err != nil || len(commands) != 1 || commands[0].Kind != engine.CommandRetry {
		t.Errorf("left for the engine: %v, %v", commands, err)
	}
	for _, want := range []int{1, 0} {
		if done := into[wire.DeadLettersHandled](s.ask("POST", "/api/v1/dead-letters/purge", `{}`).is(http.StatusOK)); len(done.Items) != want {
			t.Errorf("purged: %+v, want %d", done, want)
		}
	}
	s.ask("GET", "/api/v1/runs/"+runs[1].ID, "").is(http.StatusOK)
	s.ask("POST", "/api/v1/dead-letters/purge", `{"jobs":"x"}`).problem(http.StatusUnprocessableEntity, "invalid_request")
}

func TestReplayRefusesTheDeadLetterOfADeletedJob(t *testing.T) {
	s := newSite(t)
	job, runs := history(s)
	s.ask("DELETE", "/api/v1/jobs/"+job.Name, "").is(http.StatusNoContent)
	done := into[wire.DeadLettersHandled](s.ask("POST", "/api/v1/dead-letters/replay", `{}`).is(http.StatusAccepted))
	if len(done.Items) != 0 || len(done.Refused) != 1 || done.Refused[0].ID != runs[1].ID || done.Refused[0].Code != "job_deleted" {
		t.Errorf("%+v", done)
	}
}
