package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func TestOutputIsSearched(t *testing.T) {
	s := newSite(t)
	_, runs := history(s)
	s.Blobs.SetLog(runs[2].ID, webtest.TextLog(strings.Repeat("all is well\n", 20)+"ERROR: no gauge\xff answers\n"+strings.Repeat("Gauge\n", 150)))
	search := "/api/v1/runs/" + runs[2].ID + "/logs/search"

	found := into[wire.LogMatches](s.ask("GET", search+"?errors=true", "").is(http.StatusOK))
	if len(found.Items) != 1 || found.Items[0].Line != 21 || found.Items[0].Text != "ERROR: no gauge\ufffd answers" || found.Next != "" || found.Searched != found.Size {
		t.Errorf("errors: %+v", found)
	}
	lines := 0
	for from, pages := "", 0; ; pages++ {
		page := into[wire.LogMatches](s.ask("GET", search+"?q=GAUGE&limit=60&from="+from, "").is(http.StatusOK))
		lines += len(page.Items)
		if from = page.Next; from == "" {
			if pages != 2 {
				t.Errorf("%d further pages, want 2", pages)
			}
			break
		}
	}
	if lines != 151 {
		t.Errorf("%d lines, want 151", lines)
	}
	// A small output that travelled with its run is searched, too.
	if found := into[wire.LogMatches](s.ask("GET", "/api/v1/runs/"+runs[1].ID+"/logs/search?q=second", "").is(http.StatusOK)); len(found.Items) != 1 || found.Items[0].Line != 2 {
		t.Errorf("of a small output: %+v", found)
	}
	s.ask("GET", search, "").is(http.StatusUnprocessableEntity)
	s.ask("GET", search+"?q=x&from=nowhere", "").is(http.StatusUnprocessableEntity)
	s.ask("GET", "/api/v1/runs/none-s1/logs/search?q=x", "").is(http.StatusNotFound)
}
