package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestAddressWithATrailingSlashLeadsToThePage(t *testing.T) {
	s := newSite(t, nil)
	for path, want := range map[string]string{"/jobs/": "/jobs", "/jobs/?q=x": "/jobs?q=x", "//example.com/": "/example.com"} {
		answer := httptest.NewRecorder()
		s.server.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		if answer.Code != http.StatusPermanentRedirect || answer.Header().Get("Location") != want {
			t.Errorf("GET %s answers %d and leads to %q, want %q", path, answer.Code, answer.Header().Get("Location"), want)
		}
	}
	for _, path := range []string{"/", "/api/v1/jobs/"} {
		answer := httptest.NewRecorder()
		s.server.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		if answer.Code == http.StatusPermanentRedirect {
			t.Errorf("GET %s is redirected", path)
		}
	}
}
