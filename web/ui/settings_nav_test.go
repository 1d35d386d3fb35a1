package ui_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/access"
)

// TestThePagesOfTheSettingsLeadToEachOther: each has the list of all that its reader may see, with itself marked.
func TestThePagesOfTheSettingsLeadToEachOther(t *testing.T) {
	s := newSite(t)
	for _, path := range []string{"/settings/secrets", "/notifications", "/namespaces", "/audit"} {
		page := s.see(t, path)
		nav, _, found := strings.Cut(after(page, `aria-label="Settings"`), "</nav>")
		if !found {
			t.Errorf("%s has no list of the settings", path)
			continue
		}
		for _, other := range []string{"/settings/secrets", "/notifications", "/namespaces", "/audit"} {
			if !strings.Contains(nav, `href="`+other+`"`) {
				t.Errorf("%s does not lead to %s", path, other)
			}
		}
		if !strings.Contains(nav, `href="`+path+`" aria-current="page"`) {
			t.Errorf("%s is not marked in its list: %s", path, nav)
		}
	}
	s = newGuardedSite(t)
	viewer := s.user(t, "wim", access.Grants{"default": access.Viewer})
	response := s.ask(t, http.MethodGet, "/settings/secrets", nil, viewer...)
	if nav, _, _ := strings.Cut(after(response.Body.String(), `aria-label="Settings"`), "</nav>"); nav == "" || strings.Contains(nav, "/audit") {
		t.Errorf("a viewer is led to the audit log, or to nothing: %s", nav)
	}
}

func after(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	return rest
}
