package ui_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/webtest"
)

var (
	attentionPart  = regexp.MustCompile(`(?s)<h2 id="attention">.*?</section>`)
	attentionLinks = regexp.MustCompile(`(?s)<li id="(concern-[^"]*)">(.*?)</li>`)
	hrefs          = regexp.MustCompile(`<a [^>]*href="([^"]*)"`)
	actions        = regexp.MustCompile(`<form method="post" action="([^"]*)"`)
	concernID      = regexp.MustCompile(`name="concern" value="([^"]*)"`)
)

// attention is the part of the overview that says what needs it.
func (s *site) attention(t *testing.T) string {
	t.Helper()
	return attentionPart.FindString(s.see(t, "/?attention=all"))
}

// failing makes a job whose last run failed so long ago.
func (s *site) failing(t *testing.T, name string, ago time.Duration) engine.Job {
	t.Helper()
	job := s.PutJob(t, fmt.Sprintf(`{"name": %q, "binary": "talk"}`, name))
	run := s.Running(job, s.Now.Add(-ago))
	s.PutRun(t, run)
	ended := webtest.Ended(run, engine.StatusFailed, "no\n")
	ended.FinishedAt = s.Now.Add(-ago)
	s.PutRun(t, ended)
	return job
}

// Each link of what needs attention leads to a page that is there, with the place that it names.
func TestEachLinkOfWhatNeedsAttentionLeadsThere(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.PutBinary(t, "talk")
	s.failing(t, "leaky", time.Minute)
	if err := s.Jobs.Delete(t.Context(), engine.DefaultNamespace, s.failing(t, "gone", time.Minute).Name, "mira", 0); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		s.PutJob(t, fmt.Sprintf(`{"name": "resting-%d", "binary": "talk"}`, i))
		if _, err := s.Jobs.Pause(t.Context(), engine.DefaultNamespace, fmt.Sprintf("resting-%d", i), "mira", "a rest"); err != nil {
			t.Fatal(err)
		}
	}
	s.PutDAG(t, `{"kind": "DAG", "name": "etl", "tasks": {"a": {"binary": "talk"}}}`)
	if _, err := s.DAGs.Pause(t.Context(), engine.DefaultNamespace, "etl", "mira", "moving the warehouse"); err != nil {
		t.Fatal(err)
	}
	s.Queue.SetExecutors(
		engine.Presence{ID: "one", Host: "quay-1", Tiers: []spec.Tier{spec.TierLight}, Slots: 1, Seen: s.Now},
		engine.Presence{ID: "two", Host: "quay-2", Tiers: []spec.Tier{spec.TierLight}, Slots: 1, Seen: s.Now, Draining: true, Drain: &engine.DrainOrder{Draining: true, By: "mira", At: s.Now.Add(-time.Hour)}},
	)
	part := s.attention(t)
	told(t, part, []string{"leaky", "Executor two is drained", "as mira wants it to", "6 jobs are paused", "moving the warehouse", "slots were missed"}, []string{">gone<", "Executor one is drained"})
	concerns := attentionLinks.FindAllStringSubmatch(part, -1)
	if len(concerns) < 6 {
		t.Fatalf("%d concerns", len(concerns))
	}
	for _, concern := range concerns {
		for _, match := range hrefs.FindAllStringSubmatch(concern[2], -1) {
			to, err := url.Parse(html.UnescapeString(match[1]))
			if err != nil {
				t.Fatal(err)
			}
			page := s.ask(t, http.MethodGet, to.RequestURI(), nil)
			if page.Code != http.StatusOK || to.Fragment != "" && !strings.Contains(page.Body.String(), `id="`+to.Fragment+`"`) {
				t.Errorf("%s leads to %s: %d", concern[1], to, page.Code)
			}
		}
		for _, match := range actions.FindAllStringSubmatch(concern[2], -1) {
			// A form that is not there answers 404 or 405 to what it does not know.
			if page := s.ask(t, http.MethodPost, html.UnescapeString(match[1]), url.Values{}); page.Code == http.StatusMethodNotAllowed || page.Code == http.StatusNotFound {
				t.Errorf("%s sends to %s: %d", concern[1], match[1], page.Code)
			}
		}
	}
}

func TestWhatHasRecoveredNeedsNoAttention(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	if part := s.attention(t); !strings.Contains(part, "concern-missed-tide-forecast") {
		t.Fatal("missed slots are not told")
	}
	job, err := s.Jobs.Get(t.Context(), engine.DefaultNamespace, "tide-forecast")
	if err != nil {
		t.Fatal(err)
	}
	run := s.Running(job, s.Now.Add(-time.Second))
	s.PutRun(t, run)
	s.PutRun(t, webtest.Ended(run, engine.StatusSucceeded, "tides\n"))
	if part := s.attention(t); strings.Contains(part, "concern-missed-tide-forecast") {
		t.Error("missed slots are told although the job has run since")
	}
	if part := s.attention(t); !strings.Contains(part, "concern-paused-nightly-report") {
		t.Error("a paused job is not told")
	}
	s.act(t, "/jobs/nightly-report/resume", nil)
	if part := s.attention(t); strings.Contains(part, "concern-paused-nightly-report") {
		t.Error("a job that was resumed is listed as paused")
	}
}

func TestConcernIsDismissedByOneUserUntilItHappensAnew(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "talk")
	job := s.failing(t, "leaky", time.Hour)
	id := html.UnescapeString(concernID.FindStringSubmatch(s.attention(t))[1])
	for _, refused := range []url.Values{{"concern": {id}}, {"concern": {id}, "reason": {"  "}}, {"concern": {"failing|other||||0"}, "reason": {"x"}}} {
		if code := s.ask(t, http.MethodPost, "/attention/dismiss", refused).Code; code < 400 || code >= 500 {
			t.Errorf("%v: %d", refused, code)
		}
	}
	s.act(t, "/attention/dismiss", url.Values{"concern": {id}, "reason": {"the plumber <comes>"}})
	part := s.attention(t)
	told(t, part, []string{"1 thing dismissed by you", "the plumber &lt;comes&gt;", `id="dismissed-concern-failing-leaky"`}, []string{`id="concern-failing-leaky"`})
	if mine, err := s.Dismissals(t.Context(), engine.DefaultNamespace, "another-user"); err != nil || len(mine) != 0 {
		t.Errorf("another user has dismissed %v, %v", mine, err)
	}
	s.act(t, "/attention/recall", url.Values{"concern": {id}})
	told(t, s.attention(t), []string{`id="concern-failing-leaky"`}, []string{"dismissed by you"})
	s.act(t, "/attention/dismiss", url.Values{"concern": {id}, "reason": {"the plumber comes"}})
	run := s.Running(job, s.Now.Add(-time.Minute))
	s.PutRun(t, run)
	s.PutRun(t, webtest.Ended(run, engine.StatusFailed, "no\n"))
	told(t, s.attention(t), []string{`id="concern-failing-leaky"`}, []string{"dismissed by you"})
}

func TestOverviewSaysHowManyMoreNeedAttention(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "talk")
	for i := range 40 {
		s.failing(t, fmt.Sprintf("leaky-%02d", i), time.Duration(i+1)*time.Minute)
	}
	page := attentionPart.FindString(s.see(t, "/"))
	told(t, page, []string{`<a href="/?attention=all#attention">and 29 more</a>`, "concern-no_executor", "leaky-10"}, []string{"leaky-11"})
	told(t, s.see(t, "/?attention=all"), []string{"concern-failing-leaky-39"}, []string{" more</a>"})
}
