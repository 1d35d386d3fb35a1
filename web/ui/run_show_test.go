package ui_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// A run that waits for its next try says why, when and which.
func TestRunSaysWhatComesNext(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "talk")
	job := s.PutJob(t, `{"name": "talk", "binary": "talk", "retry": {"max_attempts": 3}, "env": {"LEVEL": "info", "DB_PASSWORD": "hunter2"}, "labels": {"team": "tide"}}`)
	run := s.Running(job, s.Now.Add(-time.Minute))
	run.Generation = 1
	s.PutRun(t, run)
	code := engine.ExitTempFail
	run.Revision, run.Status, run.RetryAt, run.Failures, run.Reason = run.Revision+1, engine.StatusRetrying, s.Now.Add(30*time.Second), 1, "exit 75; attempt 1 failed"
	run.Attempts[0].Status, run.Attempts[0].ExitCode, run.Attempts[0].FinishedAt = engine.StatusFailed, &code, s.Now.Add(-time.Second)
	s.PutRun(t, run)
	page := s.see(t, "/runs/"+run.ID)
	for _, want := range []string{
		"exit code 75, temporary failure: it will be tried again", "2026-11-20 12:00:30", "attempt 2 of 3", "in the queue", "running",
		"DB_PASSWORD", "hidden (looks like a secret)", "LEVEL", "team: tide", "generation 1",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page, "hunter2") {
		t.Error("the page shows a password")
	}
	if part := s.see(t, "/runs/"+run.ID+"?attempt=1&latest=yes", "HX-Request", "true"); !strings.Contains(part, "attempt 2 of 3") {
		t.Error("what refreshes does not say what comes next")
	}
}

func TestRunsAreComparedOnAPage(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "talk")
	job := s.PutJob(t, `{"name": "talk", "binary": "talk"}`)
	good := s.Running(job, s.Now.Add(-2*time.Hour))
	s.PutRun(t, good)
	s.PutRun(t, webtest.Ended(good, engine.StatusSucceeded, "begin\nwrote <b>1</b>\n"))
	bad := s.Running(job, s.Now.Add(-time.Hour))
	s.PutRun(t, bad)
	s.PutRun(t, webtest.Ended(bad, engine.StatusFailed, "begin\nERROR <i>\n"))
	if page := s.see(t, "/runs/"+good.ID); strings.Contains(page, "last-good") {
		t.Error("a good run is compared with the last good one")
	}
	page := s.see(t, "/runs/"+bad.ID)
	if !strings.Contains(page, "/runs/diff?a=last-good&amp;b="+bad.ID) {
		t.Fatal("a failed run does not lead to the comparison")
	}
	page = s.see(t, "/runs/diff?a=last-good&b="+bad.ID)
	for _, want := range []string{"Left: the last good run", "ERROR &lt;i&gt;", "wrote &lt;b&gt;1", "1 line only left, 1 line only right", "Lines that differ only in numbers"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if page := s.see(t, "/runs/diff?exact=1&a="+good.ID+"&b="+bad.ID); !strings.Contains(page, "Ignore numbers") {
		t.Error("the exact comparison does not lead back")
	}
	for path, status := range map[string]int{"/runs/diff?a=" + good.ID: 400, "/runs/diff?a=last-good&b=" + good.ID: 404, "/runs/diff?a=none-s1&b=" + good.ID: 404} {
		if got := s.ask(t, "GET", path, nil).Code; got != status {
			t.Errorf("%s: %d, want %d", path, got, status)
		}
	}
}
