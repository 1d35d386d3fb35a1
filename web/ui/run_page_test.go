package ui_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// told reports whether a page says all of some words, and none of others.
func told(t *testing.T, page string, want, never []string) {
	t.Helper()
	for _, words := range want {
		if !strings.Contains(page, words) {
			t.Errorf("the page does not say %q", words)
		}
	}
	for _, words := range never {
		if strings.Contains(page, words) {
			t.Errorf("the page says %q", words)
		}
	}
}

func TestLineShowsWhatWasDrawnLast(t *testing.T) {
	s := newSite(t)
	long := strings.Repeat("copying, some of it\r", 1000)
	run := running(t, s, "10%\r50%\r\n::progress 0.5 half of it\n"+long+"copied <all>\nwindows\r\nlast\r")
	page := s.see(t, "/runs/"+run.ID)
	told(t, page, []string{
		`<code>50%</code>`, `<code>copied &lt;all&gt;</code>`, `<code>windows</code>`, `<code>last</code>`,
		`<div class="row progress-line" id="L2">`, `<div class="row" id="L1">`,
	}, []string{"10%", "copying", "more of this line"})
}

// cutLog is stored output whose lines are read up to a bound.
type cutLog struct{ webtest.TextLog }

func (l cutLog) ReadLines(ctx context.Context, from, count int64) ([]service.LogLine, error) {
	lines, err := l.TextLog.ReadLines(ctx, from, count)
	for i := range lines {
		if len(lines[i].Text) > 1000 {
			lines[i].Text, lines[i].Truncated = lines[i].Text[:1000], true
		}
	}
	return lines, err
}

func TestLineThatIsNotReadWholeShowsWhatWasDrawnLast(t *testing.T) {
	s := newSite(t)
	run := running(t, s, "")
	s.Blobs.SetLog(run.ID, cutLog{webtest.TextLog("begin\n" + strings.Repeat("copying, some of it\r", 1000) + "copied\nend\n" + strings.Repeat("more of it\r", 1000) + "100%\n")})
	told(t, s.see(t, "/runs/"+run.ID), []string{"<code>copied</code>", "<code>100%</code>", "<code>end</code>"}, []string{"some of it", "more of"})
}

func TestRunLeadsToThoseBesideItAndToItself(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "talk")
	job := s.PutJob(t, `{"name": "talk", "binary": "talk"}`)
	var runs []engine.Run
	for i := range 3 {
		run := s.Running(job, s.Now.Add(time.Duration(i-5)*time.Minute))
		run.CreatedAt = s.Now.Add(time.Duration(i-5) * time.Minute)
		run.Payload, run.Args = []byte(`{"day": 7}`), map[string]string{"DAY": "7", "API_TOKEN": "hunter2"}
		s.PutRun(t, run)
		s.PutRun(t, webtest.Ended(run, engine.StatusFailed, "a reef ahead\n"))
		runs = append(runs, run)
	}
	middle := s.see(t, "/runs/"+runs[1].ID)
	told(t, middle, []string{
		`href="/runs/` + runs[0].ID + `" rel="prev"`, `href="/runs/` + runs[2].ID + `" rel="next"`, "/runs/diff?b=" + runs[1].ID,
		"/runs/search?job=talk", "/jobs/talk/run?from=" + runs[1].ID,
	}, nil)
	told(t, s.see(t, "/runs/"+runs[2].ID), []string{`rel="prev"`}, []string{`rel="next"`})

	compare := s.see(t, "/runs/diff?b="+runs[1].ID)
	told(t, compare, []string{"/runs/diff?a=" + runs[0].ID + "&amp;b=" + runs[1].ID, "/runs/diff?a=" + runs[2].ID + "&amp;b=" + runs[1].ID},
		[]string{"/runs/diff?a=" + runs[1].ID})

	again := s.see(t, "/jobs/talk/run?from="+runs[1].ID)
	told(t, again, []string{"&#34;day&#34;: 7", "DAY=7", "<code>API_TOKEN</code> is not filled in"}, []string{"hunter2"})
	s.PutJob(t, `{"name": "other", "binary": "talk"}`)
	if code := s.ask(t, "GET", "/jobs/other/run?from="+runs[1].ID, nil).Code; code != 404 {
		t.Errorf("another job's run is filled in: %d", code)
	}
}

func TestWhatNeverRanSaysSo(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "talk")
	job := s.PutJob(t, `{"name": "talk", "binary": "talk"}`)
	run := s.Running(job, s.Now.Add(-time.Minute))
	s.PutRun(t, run)
	run.Revision, run.Status, run.Reason, run.FinishedAt, run.StartedAt = run.Revision+1, engine.StatusFailed, "the program's file is gone", s.Now, time.Time{}
	run.Attempts[0].Status, run.Attempts[0].StartedAt, run.Attempts[0].FinishedAt = engine.StatusFailed, time.Time{}, s.Now
	s.PutRun(t, run)
	told(t, s.see(t, "/runs/"+run.ID), []string{"This run never ran, so there is no output. The program&#39;s file is gone."}, []string{"printed nothing"})

	silent := s.Running(job, s.Now.Add(-time.Hour))
	s.PutRun(t, silent)
	s.PutRun(t, webtest.Ended(silent, engine.StatusSucceeded, ""))
	told(t, s.see(t, "/runs/"+silent.ID), []string{"The program printed nothing."}, []string{"never ran"})
}

func TestOutputsOfManyRunsAreSearchedOnAPage(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "talk")
	job := s.PutJob(t, `{"name": "talk", "binary": "talk"}`)
	var last engine.Run
	for i := range 60 {
		last = s.Running(job, s.Now.Add(time.Duration(i-60)*time.Minute))
		last.CreatedAt = s.Now.Add(time.Duration(i-60) * time.Minute)
		s.PutRun(t, last)
		s.PutRun(t, webtest.Ended(last, engine.StatusFailed, "begin\na <Reef> ahead\n"))
	}
	page := s.see(t, "/runs/search?job=talk&q=reef")
	told(t, page, []string{
		"a &lt;<mark>Reef</mark>&gt; ahead", "/runs/" + last.ID + "?attempt=1&amp;line=2#L2", "Searched 50 runs", "It stopped there: one search returns 50 outputs.", "Search further back",
	}, nil)
	_, next, _ := strings.Cut(page, `<a href="/runs/search?cursor=`)
	next, _, _ = strings.Cut(next, `&amp;`)
	cursor, err := url.QueryUnescape(next)
	if err != nil {
		t.Fatal(err)
	}
	rest := s.see(t, "/runs/search?job=talk&q=reef&cursor="+url.QueryEscape(cursor))
	told(t, rest, []string{"Searched 10 runs, ", "these are all"}, []string{"Search further back"})
	told(t, s.see(t, "/runs/search?job=talk&q=iceberg"), []string{"Nothing found."}, nil)
	told(t, s.see(t, "/runs/search?q=reef"), []string{"give a job or a dag"}, nil)
	told(t, s.see(t, "/runs/search?job=talk&q=reef&since=soon"), []string{"The period is invalid"}, nil)
	if !strings.Contains(s.see(t, "/runs/search?job=talk&q=reef&cursor=nowhere"), "no longer exists") {
		t.Error("a place that is none is taken")
	}
}
