package web_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web"
	"github.com/tidewheel/tidewheel/web/auth"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func fuzzedServer(f *testing.F, authenticated bool) http.Handler {
	f.Helper()
	world, guard := webtest.New(f), auth.Open()
	if authenticated {
		guard = auth.NewGuard(world.Access)
	}
	server, err := web.New(web.Config{Service: world.Service, Guard: guard})
	if err != nil {
		f.Fatal(err)
	}
	return server.Handler()
}

// No address, query or body that a user of the API sends is a fault of the server, and what is refused says why in the form
// that programs read.
func FuzzRequest(f *testing.F) {
	handler := fuzzedServer(f, true)
	for _, target := range []string{
		"/runs?since=2026-01-01T00:00:00Z&limit=5", "/runs?status=nonsense&cursor=x", "/runs?limit=-1", "/jobs/..%2f..", "/jobs?label=a%3Db&order=next",
		"/schedule/preview?count=99999999", "/runs/a-b/logs?attempt=0&offset=-9223372036854775808&tail=x", "/waves/%00", "/audit?since=1h&by=%ff", "/dags?state=%F0",
	} {
		f.Add(uint8(0), target, "")
	}
	f.Add(uint8(1), "/validate", "kind: Job\nname: a\n")
	f.Add(uint8(1), "/schedule/preview", `{"schedule": "* * * * *", "count": 3}`)
	f.Add(uint8(1), "/apply?dry_run=true", "a: &a [*a]")
	f.Add(uint8(1), "/runs/x/cancel", `{"a": `)
	f.Fuzz(func(t *testing.T, kind uint8, target, body string) {
		method := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete}[kind%4]
		address, err := url.ParseRequestURI("/api/v1" + target)
		if err != nil || strings.HasPrefix(address.Path, "/api/v1/events") || address.Query().Has("follow") || strings.HasPrefix(address.Path, "/api/v1/backup") {
			return // no address, or an answer without an end
		}
		request := httptest.NewRequestWithContext(t.Context(), method, "/", strings.NewReader(body))
		request.URL, request.RequestURI = address, address.RequestURI()
		request.Header.Set(authorization, bearer)
		request.Header.Set("Content-Type", []string{"application/json", "application/yaml"}[kind/4%2])
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code >= http.StatusInternalServerError {
			t.Fatalf("%s %s %q: %d %s", method, address, body, answer.Code, answer.Body)
		}
		var problem wire.Problem
		if answer.Code >= http.StatusBadRequest && (json.Unmarshal(answer.Body.Bytes(), &problem) != nil || problem.Code == "" || problem.Detail == "") {
			t.Errorf("%s %s %q: %d without a reason: %s", method, address, body, answer.Code, answer.Body)
		}
	})
}

// A link to log in leads back to this server, whatever it names, in the way in which browsers read addresses.
func FuzzLoginLeadsNowhereElse(f *testing.F) {
	handler := fuzzedServer(f, false)
	for _, next := range []string{"/jobs", "//evil.example", `/\evil.example`, "https://evil.example", "/\t/evil.example", "javascript:alert(1)", "/login?next=/", "", "\\\\evil", "/%2f/evil", "/\x00/evil"} {
		f.Add(next)
	}
	home := &url.URL{Scheme: "https", Host: "tide.example", Path: "/login"}
	f.Fuzz(func(t *testing.T, next string) {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/login?"+url.Values{"next": {next}}.Encode(), nil))
		location := answer.Header().Get("Location")
		if answer.Code != http.StatusSeeOther || location == "" {
			t.Fatalf("%q: %d to %q", next, answer.Code, location)
		}
		// Browsers drop tabs and line ends, and take \ for /.
		read := strings.NewReplacer("\t", "", "\r", "", "\n", "", `\`, "/").Replace(strings.Trim(location, "\x00 "))
		if !strings.HasPrefix(read, "/") || strings.HasPrefix(read, "//") {
			t.Errorf("%q leads to %q", next, location)
		}
		if to, err := home.Parse(location); err == nil && (to.Host != home.Host || to.Scheme != home.Scheme) {
			t.Errorf("%q leads to %s", next, to)
		}
	})
}
