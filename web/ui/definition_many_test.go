package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
)

// TestSeveralJobsAreActedOnAtOnce: the list's form names them, and comes back to the list as it was.
func TestSeveralJobsAreActedOnAtOnce(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	var names []string
	for _, name := range []string{"many-a", "many-b", "many-c"} {
		s.PutJob(t, `{"name": "`+name+`", "binary": "tide-forecast", "every": "1h"}`)
		names = append(names, name)
	}
	paused := func(name string) bool {
		t.Helper()
		job, err := s.Jobs.Get(t.Context(), "default", name)
		if err != nil {
			t.Fatal(err)
		}
		return job.Paused
	}
	if at := s.act(t, "/jobs/pause", url.Values{"name": names[:2], "back": {"/jobs?q=many"}}); at != "/jobs?done=paused&n=2&q=many" {
		t.Errorf("leads to %s", at)
	}
	if !paused("many-a") || !paused("many-b") || paused("many-c") {
		t.Error("others are paused than those that were chosen")
	}
	if page := s.see(t, "/jobs?done=paused&n=2&q=many"); !strings.Contains(page, "2 jobs paused. Running runs continue.") {
		t.Error("the list does not say how many were paused")
	}
	if at := s.act(t, "/jobs/resume", url.Values{"name": names[:2], "back": {"//elsewhere.example"}}); at != "/jobs?done=resumed&n=2" {
		t.Errorf("leads to %s", at)
	}
	if paused("many-a") || paused("many-b") {
		t.Error("they are paused still")
	}
	for range 2 { // pressed twice
		s.act(t, "/jobs/run", url.Values{"name": names, "key": {"list-1"}})
	}
	shards := make([]int, engine.Shards)
	for i := range shards {
		shards[i] = i
	}
	if commands, err := s.Store.Commands(t.Context(), shards, 100); err != nil || len(commands) != len(names) {
		t.Errorf("%d runs are asked for, %v; want one of each job", len(commands), err)
	}
}

func TestSeveralJobsAreDeletedOnceTheirNumberIsTyped(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	names := []string{"many-a", "many-b"}
	for _, name := range names {
		s.PutJob(t, `{"name": "`+name+`", "binary": "tide-forecast"}`)
	}
	for _, typed := range []string{"", "3"} {
		response := s.ask(t, http.MethodPost, "/jobs/delete", url.Values{"name": names, "confirm": {typed}})
		if response.Code != http.StatusUnprocessableEntity || !strings.Contains(response.Body.String(), `Type <strong class="mono">2</strong>`) {
			t.Errorf("%q typed: %d: %s", typed, response.Code, response.Body)
		}
		if _, err := s.Jobs.Get(t.Context(), "default", "many-a"); err != nil {
			t.Fatalf("%q typed: %v", typed, err)
		}
	}
	response := s.ask(t, http.MethodPost, "/jobs/delete", url.Values{"name": append(names, "gone"), "confirm": {"3"}})
	if body := response.Body.String(); response.Code != http.StatusConflict || !strings.Contains(body, "2 of 3 jobs deleted") || !strings.Contains(body, "It does not exist any more.") {
		t.Errorf("with one that is gone: %d: %s", response.Code, body)
	}
	if !strings.Contains(response.Body.String(), "2 jobs are deleted in ten seconds.") {
		t.Error("it cannot be undone")
	}
	s.remove(t)
	if _, err := s.Jobs.Get(t.Context(), "default", "many-b"); err == nil {
		t.Error("it is there still")
	}
	if response := s.ask(t, http.MethodPost, "/jobs/pause", url.Values{}); response.Code != http.StatusUnprocessableEntity || !strings.Contains(response.Body.String(), "Choose at least one job.") {
		t.Errorf("without a choice: %d: %s", response.Code, response.Body)
	}
}
