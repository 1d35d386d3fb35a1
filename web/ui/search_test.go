package ui_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/templates"
)

func TestSearchAnswersScriptsAndReaders(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	response := s.ask(t, http.MethodGet, "/ui/search?q=report", nil, "Accept", "application/json")
	var answer struct {
		Items []templates.SearchItem `json:"items"`
	}
	if err := json.Unmarshal(response.Body.Bytes(), &answer); err != nil || response.Code != http.StatusOK {
		t.Fatalf("%d %v: %s", response.Code, err, response.Body)
	}
	found := map[string]templates.SearchItem{}
	for _, item := range answer.Items {
		found[string(item.Kind)+" "+item.Name] = item
	}
	if job := found["job nightly-report"]; !job.Paused || job.Href != "/jobs/nightly-report" || !strings.Contains(job.Detail, "03:00") {
		t.Errorf("the job is %+v", job)
	}
	if binary := found["binary nightly-report"]; binary.Href != "/binaries/nightly-report" {
		t.Errorf("the binary is %+v", binary)
	}
	page := s.see(t, "/ui/search?q="+s.broken.ID)
	if !strings.Contains(page, `href="/runs/`+s.broken.ID+`"`) || !strings.Contains(page, "Run of gauge-anomalies") {
		t.Errorf("a run is not found by its id: %s", page)
	}
	if page := s.see(t, "/ui/search?q=%3Cscript%3E"); !strings.Contains(page, "No results.") || strings.Contains(page, "<script>") {
		t.Error("what nothing is called is not told, or comes back as it is")
	}
	if response := s.ask(t, http.MethodGet, "/ui/search?q=zzz", nil, "Accept", "application/json"); strings.TrimSpace(response.Body.String()) != `{"items":[]}` {
		t.Errorf("nothing is %s", response.Body)
	}
}

func TestShortcutsAreAPageAndAPart(t *testing.T) {
	s := newSite(t)
	if page := s.see(t, "/ui/shortcuts"); !strings.Contains(page, "<html") || !strings.Contains(page, "<kbd>?</kbd>") {
		t.Errorf("the page is %s", page)
	}
	if part := s.see(t, "/ui/shortcuts", "HX-Request", "true"); strings.Contains(part, "<html") || !strings.Contains(part, "<kbd>?</kbd>") {
		t.Errorf("the part is %s", part)
	}
}
