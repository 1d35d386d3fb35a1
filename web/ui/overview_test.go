package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func TestOverviewTellsWhatNeedsAttention(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	page := s.see(t, "/")
	for _, words := range []string{
		"1 run failed all its attempts: its 2 attempts are used up", "/runs/" + s.broken.ID + "/retry", "/runs/" + s.broken.ID + "/dismiss",
		"5 slots were missed in the last 24 hours", "/jobs/tide-forecast/edit",
		"1 dead", "upcoming slots: harbour-log",
	} {
		if !strings.Contains(page, words) {
			t.Errorf("the overview does not say %q", words)
		}
	}
}

func TestJobWhoseLastRunFailedNeedsAttention(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	log, err := s.Jobs.Get(t.Context(), engine.DefaultNamespace, "harbour-log")
	if err != nil {
		t.Fatal(err)
	}
	told := func() bool { return strings.Contains(s.see(t, "/"), `id="concern-failing-harbour-log"`) }
	if told() {
		t.Error("a run that timed out is told although four have succeeded since")
	}
	for i, end := range []engine.Status{engine.StatusFailed, engine.StatusSucceeded} {
		run := s.Running(log, s.Now.Add(time.Duration(i-10)*time.Second).Truncate(time.Second))
		s.PutRun(t, run)
		s.PutRun(t, webtest.Ended(run, end, "no ships\n"))
		if failed := end == engine.StatusFailed; told() != failed {
			t.Errorf("its last run is %s, and it is told: %t", end, !failed)
		}
	}
}

func TestSilentExecutorIsMissed(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	for _, path := range []string{"/", "/executors"} {
		if page := s.see(t, path); strings.Contains(page, "does not respond") || strings.Contains(page, "Its runs are retried") {
			t.Fatalf("%s misses one although all are there", path)
		}
	}
	s.Queue.SetExecutors(engine.Presence{ID: "three", Host: "quay-3", Tiers: []spec.Tier{spec.TierLight}, Slots: 1, Seen: s.Now})
	if page := s.see(t, "/"); !strings.Contains(page, "Executor one does not respond") || strings.Contains(page, "Executor two does not respond") {
		t.Error("the overview does not miss the one that vanished, or misses the one that drained")
	}
	if !strings.Contains(s.see(t, "/executors"), "Its runs are retried") {
		t.Error("the executors' page does not miss it")
	}
	s.Now = s.Now.Add(2 * time.Hour)
	s.Queue.SetExecutors(engine.Presence{ID: "three", Host: "quay-3", Tiers: []spec.Tier{spec.TierLight}, Slots: 1, Seen: s.Now})
	if strings.Contains(s.see(t, "/"), "Executor one does not respond") {
		t.Error("it is missed for ever")
	}
}

func TestWaitingWithoutAnExecutorOfTheTier(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.Queue.SetExecutors(engine.Presence{ID: "three", Host: "quay-3", Tiers: []spec.Tier{spec.TierLight}, Slots: 1, Seen: s.Now})
	s.Queue.SetDepths(engine.QueueDepth{Tier: spec.TierHeavy, Class: spec.ClassStandard, Waiting: 2, Oldest: s.Now.Add(-time.Minute)})
	if page := s.see(t, "/"); !strings.Contains(page, "2 runs wait in tier heavy, which no executor serves") {
		t.Error("the overview does not tell that nobody serves the tier")
	}
}

func TestDismissedRunNeedsNoAttention(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	if to := s.act(t, "/runs/"+s.broken.ID+"/dismiss", nil); to != "/?done=dismissed" {
		t.Errorf("it leads to %s", to)
	}
	if strings.Contains(s.see(t, "/"), "failed all its attempts") {
		t.Error("it is still told")
	}
	if response := s.ask(t, http.MethodPost, "/runs/"+s.broken.ID+"/dismiss", url.Values{}); response.Code != http.StatusNotFound {
		t.Errorf("dismissed twice: %d", response.Code)
	}
}

func TestThemeIsKeptInTheProfileAndInACookie(t *testing.T) {
	s := newSite(t)
	response := s.ask(t, http.MethodPost, "/theme", url.Values{"theme": {"dark"}}, "Referer", "http://localhost/runs?status=bad&done=saved")
	if to := response.Header().Get("Location"); response.Code != http.StatusSeeOther || to != "/runs?status=bad" {
		t.Fatalf("%d, to %q", response.Code, to)
	}
	cookie := response.Result().Cookies()[0]
	if page := s.see(t, "/runs"); !strings.Contains(page, `data-theme="dark"`) {
		t.Error("the profile does not keep it for another browser")
	}
	if err := profile(t, s, service.Profile{}); err != nil {
		t.Fatal(err)
	}
	if page := s.see(t, "/runs", "Cookie", cookie.Name+"="+cookie.Value); !strings.Contains(page, `data-theme="dark"`) || !strings.Contains(page, `value="dark" aria-pressed="true"`) {
		t.Error("the page is not dark")
	}
	for _, header := range []string{"", "tidewheel_theme=nonsense", "tidewheel_theme="} {
		if page := s.see(t, "/runs", "Cookie", header); strings.Contains(page, "data-theme=") || !strings.Contains(page, `value="" aria-pressed="true"`) {
			t.Errorf("with the cookie %q it is not left to the system", header)
		}
	}
	for _, from := range []string{"http://elsewhere/runs", "http://localhost//elsewhere", "nonsense", ""} {
		if to := s.ask(t, http.MethodPost, "/theme", url.Values{"theme": {"system"}}, "Referer", from).Header().Get("Location"); to != "/" {
			t.Errorf("from %q it leads to %q", from, to)
		}
	}
}

// Slots that did not fire because a run was in the way: the page names what the run did, and no other cause.
func TestOverviewNamesWhatHeldSlotsUp(t *testing.T) {
	const (
		waits    = "the previous run was still waiting for an executor"
		outlasts = "it takes longer than the interval between slots"
		unknown  = "the previous run had not finished."
	)
	for name, test := range map[string]struct {
		status engine.Status
		want   string
	}{
		"its run waits for an executor": {engine.StatusQueued, waits},
		"its run goes on":               {engine.StatusRunning, outlasts},
		"its runs are not kept":         {engine.StatusInvalid, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.PutBinary(t, "gauge", "stable")
			job := s.job(t, "gauge", "How deep the water is", `"schedule": "* * * * *"`)
			slot := s.Now.Add(-10 * time.Minute).Truncate(time.Minute)
			if test.status != engine.StatusInvalid {
				run := s.Running(job, slot)
				if run.Status = test.status; run.Status == engine.StatusQueued {
					run.StartedAt = time.Time{}
				}
				s.PutRun(t, run)
			}
			from, to := slot.Add(time.Minute), slot.Add(8*time.Minute)
			s.Write(t, engine.Batch{Slots: []engine.SlotRange{{
				ID: engine.SlotRangeID(job.UID, from), JobUID: job.UID, Namespace: job.Namespace, Job: job.Name, From: from, To: to, Count: 8,
				Outcome: engine.OutcomeSkipped, Reason: engine.ReasonOverlap,
			}}})
			page := s.see(t, "/")
			for _, words := range []string{waits, outlasts, unknown} {
				if said := strings.Contains(page, words); said != (words == test.want) {
					t.Errorf("the overview says %q: %t", words, said)
				}
			}
		})
	}
}
