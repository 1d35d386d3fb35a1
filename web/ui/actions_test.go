package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
)

func TestJobIsPausedAndResumed(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	if at := s.act(t, "/jobs/tide-forecast/pause", nil); at != "/jobs/tide-forecast?done=paused" {
		t.Errorf("leads to %s", at)
	}
	page := s.see(t, "/jobs/tide-forecast?done=paused")
	for _, words := range []string{"Paused. Running runs continue.", "by local", "Next, once resumed", `action="/jobs/tide-forecast/resume"`} {
		if !strings.Contains(page, words) {
			t.Errorf("the page does not say %q", words)
		}
	}
	if strings.Contains(page, `hx-get="/jobs/tide-forecast?done`) {
		t.Error("the notice is fetched again and again")
	}
	s.act(t, "/jobs/tide-forecast/resume", nil)
	if job, err := s.Jobs.Get(t.Context(), "default", "tide-forecast"); err != nil || job.Paused {
		t.Errorf("paused: %v, %v", job.Paused, err)
	}
}

func TestPressingRunTwiceIsOneRun(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	first := s.act(t, "/jobs/tide-forecast/run", url.Values{"key": {"page-1"}})
	if again := s.act(t, "/jobs/tide-forecast/run", url.Values{"key": {"page-1"}}); again != first {
		t.Errorf("twice led to %s and %s", first, again)
	}
	page := s.see(t, first)
	for _, words := range []string{"Run queued.", "by local", "Not started yet"} {
		if !strings.Contains(page, words) {
			t.Errorf("the run's page does not say %q", words)
		}
	}
}

func TestRunWithPayload(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	at := s.act(t, "/jobs/tide-forecast/run", url.Values{"payload": {` {"day": "2026-12-01"} `}})
	if page := s.see(t, at); !strings.Contains(page, "&#34;day&#34;: &#34;2026-12-01&#34;") {
		t.Error("the payload is not shown")
	}
	response := s.ask(t, http.MethodPost, "/jobs/tide-forecast/run", url.Values{"payload": {"{day: 1"}})
	if response.Code != http.StatusUnprocessableEntity || !strings.Contains(response.Body.String(), "not JSON") {
		t.Errorf("a payload that is no JSON: %d: %s", response.Code, response.Body)
	}
}

func TestJobIsDeleted(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	if response := s.ask(t, http.MethodPost, "/jobs/tide-forecast/delete", url.Values{"confirm": {"tide"}}); response.Code != http.StatusUnprocessableEntity || !strings.Contains(response.Body.String(), "nothing has been deleted") {
		t.Errorf("a name that is not typed as it is: %d: %s", response.Code, response.Body)
	}
	at := s.act(t, "/jobs/tide-forecast/delete", url.Values{"confirm": {"tide-forecast"}})
	if list := s.see(t, at); !strings.Contains(list, "job tide-forecast is deleted in ten seconds.") || !strings.Contains(list, "being deleted") {
		t.Errorf("%s does not offer to undo it", at)
	}
	s.remove(t)
	if response := s.ask(t, http.MethodGet, "/jobs/tide-forecast", nil); response.Code != http.StatusNotFound {
		t.Errorf("it is still there: %d", response.Code)
	}
	if response := s.ask(t, http.MethodPost, "/jobs/tide-forecast/delete", url.Values{"confirm": {"tide-forecast"}}); response.Code != http.StatusNotFound {
		t.Errorf("deleted again: %d", response.Code)
	}
}

func TestRunIsCancelledAndRetried(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.act(t, "/runs/"+s.first.ID+"/cancel", nil)
	s.act(t, "/runs/"+s.broken.ID+"/retry", nil)
	var kinds []string
	for shard := range engine.Shards {
		commands, err := s.Store.Commands(t.Context(), []int{shard}, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range commands {
			kinds = append(kinds, string(c.Kind)+" "+c.RunID)
		}
	}
	got := strings.Join(kinds, ", ")
	for _, want := range []string{"cancel " + s.first.ID, "retry " + s.broken.ID} {
		if !strings.Contains(got, want) {
			t.Errorf("the engine was asked %q, not to %s", got, want)
		}
	}
	response := s.ask(t, http.MethodPost, "/runs/"+s.broken.ID+"/cancel", url.Values{})
	if response.Code != http.StatusConflict || !strings.Contains(response.Body.String(), "there is nothing to cancel") {
		t.Errorf("cancelling what has ended: %d: %s", response.Code, response.Body)
	}
}

func TestAliasMovesAndRollsBack(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	aliases := func() map[string]int {
		binary, err := s.Binary(t.Context(), "default", "tide-forecast")
		if err != nil {
			t.Fatal(err)
		}
		return binary.Aliases
	}
	if !strings.Contains(s.see(t, "/binaries/tide-forecast"), "Roll back to 1") {
		t.Error("the page offers no rollback")
	}
	preview := s.see(t, "/binaries/tide-forecast/alias?alias=stable")
	for _, words := range []string{"Roll stable back to version 1", "1 job runs version 1 from its next run on", "by @stable, now version 2"} {
		if !strings.Contains(preview, words) {
			t.Errorf("the preview does not say %q", words)
		}
	}
	if n := aliases()["stable"]; n != 2 {
		t.Errorf("a preview moved stable to %d", n)
	}
	if response := s.ask(t, http.MethodGet, "/binaries/tide-forecast/alias?alias=stable&version=9", nil); response.Code != http.StatusUnprocessableEntity {
		t.Errorf("a preview of a version that is not there: %d", response.Code)
	}
	s.act(t, "/binaries/tide-forecast/rollback", url.Values{"alias": {"stable"}})
	if n := aliases()["stable"]; n != 1 {
		t.Errorf("stable points at %d after the rollback, want 1", n)
	}
	s.act(t, "/binaries/tide-forecast/alias", url.Values{"alias": {"stable"}, "version": {"2"}})
	s.act(t, "/binaries/tide-forecast/alias", url.Values{"alias": {"canary"}, "version": {"1"}})
	if got := aliases(); got["stable"] != 2 || got["canary"] != 1 {
		t.Errorf("aliases are %v", got)
	}
	for _, form := range []url.Values{{"alias": {"stable"}, "version": {"9"}}, {"alias": {"stable"}, "version": {"x"}}, {"alias": {"7"}, "version": {"1"}}, {"alias": {"a/b"}, "version": {"1"}}} {
		if response := s.ask(t, http.MethodPost, "/binaries/tide-forecast/alias", form); response.Code != http.StatusUnprocessableEntity {
			t.Errorf("%v: %d", form, response.Code)
		}
	}
}

func TestBinaryInUseIsKept(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	response := s.ask(t, http.MethodPost, "/binaries/tide-forecast/delete", url.Values{})
	if response.Code != http.StatusConflict || !strings.Contains(response.Body.String(), "is used by job") {
		t.Errorf("%d: %s", response.Code, response.Body)
	}
	s.act(t, "/binaries/retired/delete", nil)
	s.remove(t)
	if strings.Contains(s.see(t, "/binaries"), "/binaries/retired") {
		t.Error("it is still listed")
	}
}

func TestOtherSitesChangeNothing(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	response := s.ask(t, http.MethodPost, "/jobs/tide-forecast/pause", url.Values{}, "Sec-Fetch-Site", "cross-site")
	if response.Code != http.StatusForbidden {
		t.Errorf("a form of another site: %d", response.Code)
	}
	if job, err := s.Jobs.Get(t.Context(), "default", "tide-forecast"); err != nil || job.Paused {
		t.Errorf("paused: %v, %v", job.Paused, err)
	}
}
