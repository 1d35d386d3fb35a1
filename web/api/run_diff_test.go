package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// two puts a job, edited once, and two runs of it into the store: one of each generation, good and bad.
func two(s *site, good, bad string) (a, b engine.Run) {
	s.PutBinary(s.t, "report", "stable")
	job := s.PutJob(s.t, `{"name": "nightly-report", "binary": "report@stable", "env": {"LEVEL": "info", "API_TOKEN": "one"}, "timeout": "1m"}`)
	a = s.Running(job, webtest.Start.Add(-2*time.Hour))
	a.Generation = 1
	s.PutRun(s.t, a)
	a = webtest.Ended(a, engine.StatusSucceeded, good)
	s.PutRun(s.t, a)
	s.ask("PUT", "/api/v1/jobs/nightly-report", `{"name": "nightly-report", "binary": "report@stable", "env": {"LEVEL": "debug", "API_TOKEN": "two"}, "timeout": "2m"}`).is(http.StatusOK)
	b = s.Running(job, webtest.Start.Add(-time.Hour))
	b.Generation = 2
	s.PutRun(s.t, b)
	b = webtest.Ended(b, engine.StatusFailed, bad)
	s.PutRun(s.t, b)
	return a, b
}

func TestRunsAreCompared(t *testing.T) {
	s := newSite(t)
	a, b := two(s, "begin at 12:00:01\nread 3 files\nwrote the report\nend\n", "begin at 13:00:07\nread 4 files\nERROR: the disk is full\nend\n")
	diff := into[wire.RunDiff](s.ask("GET", "/api/v1/runs/diff?a=last-good&b="+b.ID, "").is(http.StatusOK))
	if diff.A != a.ID || diff.B != b.ID {
		t.Errorf("compared %s with %s", diff.A, diff.B)
	}
	fields := map[string][2]string{}
	for _, field := range diff.Fields {
		fields[field.Field] = [2]string{field.A, field.B}
	}
	for name, want := range map[string][2]string{
		"status": {"succeeded", "failed"}, "generation": {"1", "2"}, "env LEVEL": {"info", "debug"}, "timeout": {"1m", "2m"},
		"env API_TOKEN": {"hidden", "hidden, another value"},
	} {
		if fields[name] != want {
			t.Errorf("%s: %q, want %q", name, fields[name], want)
		}
	}
	for _, same := range []string{"job", "binary", "digest", "tier", "payload"} {
		if _, differs := fields[same]; differs {
			t.Errorf("%s differs: %q", same, fields[same])
		}
	}
	kinds := func(diff wire.LineDiff) string {
		var all []string
		for _, row := range diff.Rows {
			all = append(all, row.Kind)
		}
		return strings.Join(all, " ")
	}
	if got := kinds(diff.Output); got != "same same changed same" || diff.Output.Removed != 1 || diff.Output.Added != 1 {
		t.Errorf("the outputs differ as %s", got)
	}
	exact := into[wire.RunDiff](s.ask("GET", "/api/v1/runs/diff?exact=true&a="+a.ID+"&b="+b.ID, "").is(http.StatusOK))
	if got := kinds(exact.Output); got != "changed changed changed same" {
		t.Errorf("exactly the outputs differ as %s", got)
	}
	s.ask("GET", "/api/v1/runs/diff?a=last-good&b="+a.ID, "").is(http.StatusNotFound)
	s.ask("GET", "/api/v1/runs/diff?a=last-good&b=last-good", "").is(http.StatusUnprocessableEntity)
	s.ask("GET", "/api/v1/runs/diff?a=none-s1&b="+a.ID, "").is(http.StatusNotFound)
	s.ask("GET", "/api/v1/runs/diff?a="+a.ID, "").is(http.StatusUnprocessableEntity)
}

// Of large outputs the ends are compared, and lines that are alike are left out.
func TestLargeOutputsAreComparedAtTheirEnds(t *testing.T) {
	s := newSite(t)
	a, b := two(s, "x\n", "x\n")
	s.Blobs.SetLog(a.ID, webtest.TextLog(strings.Repeat("only here\n", 3000)+strings.Repeat("alike\n", 1990)+"last\n"))
	s.Blobs.SetLog(b.ID, webtest.TextLog(strings.Repeat("alike\n", 1990)+"more\nlast\n"))
	for _, run := range []engine.Run{a, b} {
		run.Revision++
		run.Attempts[0].Output.Chunks = 1
		s.PutRun(s.t, run)
	}
	diff := into[wire.RunDiff](s.ask("GET", "/api/v1/runs/diff?a="+a.ID+"&b="+b.ID, "").is(http.StatusOK)).Output
	if diff.SkippedA != 2991 || diff.SkippedB != 0 || diff.Removed != 9 || diff.Added != 1 || len(diff.Rows) > 40 {
		t.Errorf("%d rows, %d and %d lines left out, %d removed, %d added", len(diff.Rows), diff.SkippedA, diff.SkippedB, diff.Removed, diff.Added)
	}
}
