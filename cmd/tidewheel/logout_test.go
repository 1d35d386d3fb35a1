package main

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestSessionSurvivesARestartUntilItIsEnded(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	link := regexp.MustCompile(`http://\S+/login\?token=\S+`).FindString(s.greet.String())
	ask := func(method, target, cookie string) *http.Response {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, target, nil)
		if err != nil {
			t.Fatal(err)
		}
		if cookie != "" {
			request.Header.Set("Cookie", cookie)
		}
		answer, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer
	}
	jobs := func(cookie string) int { return ask(http.MethodGet, s.server.URL()+"/api/v1/jobs", cookie).StatusCode }
	cookie, _, _ := strings.Cut(ask(http.MethodGet, link, "").Header.Get("Set-Cookie"), ";")
	if status := jobs(cookie); status != http.StatusOK {
		t.Fatalf("logged in: %d", status)
	}
	s.stop()
	s.start()
	if status := jobs(cookie); status != http.StatusOK {
		t.Errorf("an active session, after a restart: %d", status)
	}
	if answer := ask(http.MethodPost, s.server.URL()+"/logout", cookie); answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("logged out: %d", answer.StatusCode)
	}
	if status := jobs(cookie); status != http.StatusUnauthorized {
		t.Errorf("after the logout: %d", status)
	}
	s.stop()
	s.start()
	if status := jobs(cookie); status != http.StatusUnauthorized {
		t.Errorf("after the logout and a restart: %d", status)
	}
}
