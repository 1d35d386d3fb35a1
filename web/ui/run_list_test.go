package ui_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func TestRunsAreNarrowedByWhatTheFormAsks(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "talk")
	job := s.PutJob(t, `{"name": "talk", "binary": "talk"}`)
	ids := map[string]string{}
	for i, status := range []engine.Status{engine.StatusSucceeded, engine.StatusFailed, engine.StatusDead, engine.StatusTimedOut} {
		run := s.Running(job, s.Now.Add(-time.Duration(i+1)*time.Hour))
		run.By = fmt.Sprintf("user-%d", i)
		s.PutRun(t, run)
		s.PutRun(t, webtest.Ended(run, status, "x"))
		ids[run.ID] = status.String()
	}
	for query, want := range map[string]string{
		"":                                 "dead failed succeeded timed_out",
		"status=failed&status=dead":        "dead failed",
		"status=failed,timed_out":          "failed timed_out",
		"status=bad":                       "dead failed timed_out",
		"status=nonsense&status=succeeded": "succeeded",
		"by=user-2":                        "dead",
		"since=150m":                       "failed succeeded",
		"from=" + s.Now.Add(-150*time.Minute).Format("2006-01-02T15:04") + "&until=" + s.Now.Add(-90*time.Minute).Format("2006-01-02T15:04"): "failed",
		"from=nonsense&job=talk":                        "dead failed succeeded timed_out",
		"job=talk&q=" + url.QueryEscape("no such text"): "",
	} {
		page := s.see(t, "/runs?"+query)
		var got []string
		for _, status := range []string{"dead", "failed", "succeeded", "timed_out"} {
			for id, its := range ids {
				if its == status && strings.Contains(page, `id="row-`+id+`"`) {
					got = append(got, status)
				}
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q shows %v, want %s", query, got, want)
		}
		if strings.Contains(query, "nonsense") != strings.Contains(page, "was ignored") {
			t.Errorf("%q: what is not understood is not told", query)
		}
	}
	page := s.see(t, "/runs?status=failed&status=dead")
	if strings.Count(page, " checked") != 2 {
		t.Errorf("%d statuses are marked as chosen", strings.Count(page, " checked"))
	}
}

// The list of a job's runs shows why there are none, and which of its slots did not fire.
func TestWhyAJobDidNotRun(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	for query, want := range map[string][]string{
		"job=tide-forecast":                  {"Slots of tide-forecast that did not fire", "5 slots", "no engine was running", "the previous run had not finished"},
		"job=tide-forecast&status=cancelled": {"Why tide-forecast did not run", "Its next slot is"},
		"job=nightly-report":                 {"Why nightly-report did not run", "It has been paused since", "by mira"},
		"job=no-such-job":                    {"There is no job named"},
	} {
		page := s.see(t, "/runs?"+query)
		for _, words := range want {
			if !strings.Contains(page, words) {
				t.Errorf("%s does not say %q", query, words)
			}
		}
	}
	if page := s.see(t, "/runs?job=harbour-log"); strings.Contains(page, "why-not") {
		t.Error("a job that ran as planned is excused")
	}
}
