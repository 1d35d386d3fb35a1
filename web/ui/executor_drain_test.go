package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

func TestExecutorIsDrainedFromItsPage(t *testing.T) {
	s := newSite(t)
	running := []engine.RunningAttempt{{Run: "r", Attempt: 1, Job: "tides", Since: s.Now}}
	one := engine.Presence{ID: "one", Host: "quay", Tiers: []spec.Tier{spec.TierLight}, Slots: 1, Seen: s.Now, Running: running}
	s.Queue.SetExecutors(one)
	page := s.see(t, "/executors")
	if !strings.Contains(page, `action="/executors/one/drain"`) || strings.Contains(page, "/executors/one/resume") {
		t.Fatal("the page does not offer to drain it")
	}
	if to := s.act(t, "/executors/one/drain", nil); to != "/executors?done=drains" {
		t.Errorf("it leads to %s", to)
	}
	page = s.see(t, "/executors?done=drains")
	for _, words := range []string{"Draining. Within seconds", "draining", "Drained by", `action="/executors/one/resume"`} {
		if !strings.Contains(page, words) {
			t.Errorf("the page does not say %q", words)
		}
	}
	one.Running, one.Draining, one.Drain = nil, true, &engine.DrainOrder{Draining: true, By: "ada", At: s.Now}
	s.Queue.SetExecutors(one)
	if !strings.Contains(s.see(t, "/executors"), "it can be stopped") {
		t.Error("the page does not say that nothing runs on it any more")
	}
	if to := s.act(t, "/executors/one/resume", nil); to != "/executors?done=goes-on" {
		t.Errorf("it leads to %s", to)
	}
	if strings.Contains(s.see(t, "/executors"), "Drained by") {
		t.Error("it is still told to be drained")
	}
	if response := s.ask(t, http.MethodPost, "/executors/two/drain", url.Values{}); response.Code != http.StatusNotFound {
		t.Errorf("one that is not there: %d", response.Code)
	}
	one.Drain = nil // it shuts down
	s.Queue.SetExecutors(one)
	if page := s.see(t, "/executors"); strings.Contains(page, "/executors/one/") {
		t.Error("one that shuts down can be asked for something")
	}
}

func TestEnginesArePictured(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.Queue.SetExecutors(engine.Presence{ID: "one", Host: "quay", Tiers: []spec.Tier{spec.TierLight}, Slots: 1, Seen: s.Now})
	s.Queue.SetEngines(engine.EnginePresence{ID: "engine-a", Host: "quay"}, engine.EnginePresence{ID: "engine-b", Host: "pier", Leaving: true})
	s.Queue.Orphan(4)
	page := s.see(t, "/executors")
	for _, words := range []string{"engine-a", "<strong>30</strong> of 64 shards", "hands its shards over", "4 shards have no engine"} {
		if !strings.Contains(page, words) {
			t.Errorf("the page does not say %q", words)
		}
	}
	s.see(t, "/")
	s.Now = s.Now.Add(5 * time.Second)
	s.Queue.SetExecutors(engine.Presence{ID: "one", Host: "quay", Ahead: 6 * time.Second, Tiers: []spec.Tier{spec.TierLight}, Slots: 1, Seen: s.Now})
	page = s.see(t, "/")
	for _, words := range []string{"4 shards have no engine", "The clocks of the nodes differ", "the clock of quay is about 6s before that of", "/executors#engines"} {
		if !strings.Contains(page, words) {
			t.Errorf("the overview does not say %q", words)
		}
	}
	s.Queue.SetEngines()
	if !strings.Contains(s.see(t, "/"), "No engine is alive") || !strings.Contains(s.see(t, "/executors"), "tidewheel server --roles engine") {
		t.Error("it is not told that no engine is alive")
	}
}

func TestDrainingTheLastExecutorOfATierAsksFirst(t *testing.T) {
	s := newSite(t)
	both := []spec.Tier{spec.TierLight, spec.TierMedium}
	one := engine.Presence{ID: "one", Host: "quay-1", Tiers: append(both, spec.TierHeavy), Slots: 1, Seen: s.Now}
	two := engine.Presence{ID: "two", Host: "quay-2", Tiers: both, Slots: 1, Seen: s.Now}
	s.Queue.SetExecutors(one, two)
	told(t, s.see(t, "/executors"), []string{"No other executor takes runs of tier heavy. Drain one anyway?"}, []string{"Drain two anyway?"})
	two.Draining = true
	s.Queue.SetExecutors(one, two)
	told(t, s.see(t, "/executors"), []string{"No other executor takes runs of tier light, medium and heavy. Drain one anyway?"}, []string{"Drain two anyway?"})
}
