package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/web"
)

// flood asks as often as it takes to be refused, from an address, and returns the refusal; nil if it was never refused.
func flood(t *testing.T, s *site, method, path, from string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	for range 40 {
		request := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		request.RemoteAddr = from
		for i := 0; i < len(headers); i += 2 {
			request.Header.Set(headers[i], headers[i+1])
		}
		answer := httptest.NewRecorder()
		s.server.Handler().ServeHTTP(answer, request)
		if answer.Code == http.StatusTooManyRequests {
			return answer
		}
	}
	return nil
}

func TestRequestsOfOneSenderAreBounded(t *testing.T) {
	s := newSite(t, func(config *web.Config) { config.RequestsPerSecond = 1 })
	const outside, other = "203.0.113.7:4000", "203.0.113.8:4000"
	refused := flood(t, s, "GET", "/api/v1/jobs", outside)
	if refused == nil || refused.Header().Get("Retry-After") != "1" || !strings.Contains(refused.Body.String(), `"code":"too_many_requests"`) {
		t.Fatalf("an address without credentials gets %+v", refused)
	}
	if flood(t, s, "GET", "/login", outside) == nil {
		t.Error("the login page is not bounded")
	}
	if page := flood(t, s, "GET", "/jobs", outside, "Accept", html); page == nil || !strings.Contains(page.Body.String(), "--requests-per-second") {
		t.Errorf("a browser gets %+v", page)
	}
	for _, path := range []string{"/livez", "/readyz", "/static/app.js"} {
		if flood(t, s, "GET", path, outside) != nil {
			t.Errorf("%s is bounded", path)
		}
	}
	if flood(t, s, "GET", "/login", "127.0.0.1:4000") != nil {
		t.Error("this machine is bounded without credentials")
	}
	// A token has a rate of its own, wherever it comes from.
	first := httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/jobs", nil)
	first.RemoteAddr = outside
	first.Header.Set(authorization, bearer)
	answer := httptest.NewRecorder()
	s.server.Handler().ServeHTTP(answer, first)
	if answer.Code != http.StatusOK {
		t.Errorf("a token that comes from an address that is refused gets %d", answer.Code)
	}
	if flood(t, s, "GET", "/api/v1/jobs", other, authorization, bearer) == nil {
		t.Error("a token is not bounded")
	}
}

func TestAnswersSayHowManyRequestsAreLeft(t *testing.T) {
	s := newSite(t, func(config *web.Config) { config.RequestsPerSecond = 1 })
	ask := func() http.Header {
		request := httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/jobs", nil)
		request.RemoteAddr = "203.0.113.7:4000"
		request.Header.Set(authorization, bearer)
		answer := httptest.NewRecorder()
		s.server.Handler().ServeHTTP(answer, request)
		return answer.Header()
	}
	left := func(header http.Header) (left, seconds int) {
		if _, err := fmt.Sscanf(header.Get("RateLimit"), `"requests";r=%d;t=%d`, &left, &seconds); err != nil {
			t.Fatalf("RateLimit is %q: %v", header.Get("RateLimit"), err)
		}
		return left, seconds
	}
	header := ask()
	if policy := header.Get("RateLimit-Policy"); policy != `"requests";q=4;w=4` {
		t.Errorf("RateLimit-Policy is %q", policy)
	}
	if r, seconds := left(header); r != 3 || seconds != 1 {
		t.Errorf("after one request %d are left, all again in %d s", r, seconds)
	}
	refused := flood(t, s, "GET", "/api/v1/jobs", "203.0.113.7:4000", authorization, bearer)
	if refused == nil {
		t.Fatal("never refused")
	}
	if r, seconds := left(refused.Header()); r != 0 || seconds != 4 {
		t.Errorf("when refused %d are left, all again in %d s", r, seconds)
	}
}

func TestNoRequestIsRefusedWithoutARate(t *testing.T) {
	s := newSite(t, nil)
	if flood(t, s, "GET", "/api/v1/jobs", "203.0.113.7:4000", authorization, bearer) != nil {
		t.Error("a request is refused")
	}
}
