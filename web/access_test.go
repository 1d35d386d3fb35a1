package web_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/web"
	"github.com/tidewheel/tidewheel/web/auth"
)

func TestOnlyWhatIsPublicNeedsNoCredentials(t *testing.T) {
	s := newSite(t, nil)
	s.ask("GET", "/livez", "").is(200)
	s.ask("GET", "/readyz", "").is(200)
	s.ask("GET", "/login", "").is(200)
	s.ask("GET", "/static/app.js", "").is(200)
	s.ask("GET", "/metrics", "").problem(401, "unauthenticated", "--metrics-token-file", "--metrics-auth off") // from this machine, too
	for _, path := range []string{"/api/v1/jobs", "/api/v1/openapi.json", "/api/v1/nothing", "/v1/jobs", "/api/v1/events"} {
		got := s.ask("GET", path, "")
		got.problem(401, "unauthenticated", "Authorization: Bearer", "TIDEWHEEL_TOKEN", "the file token")
		if got.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s does not say how", path)
		}
	}
	s.ask("POST", "/api/v1/binaries/x/versions", "program").problem(401, "unauthenticated")
	s.ask("GET", "/api/v1/jobs", "", authorization, "Bearer x").problem(401, "invalid_token")
	s.ask("GET", "/api/v1/jobs", "", "Cookie", auth.Cookie+"=x").problem(401, "session_expired", "/login")

	for path, want := range map[string]string{
		"/": "/login", "/jobs/a?tab=runs": "/login?next=%2Fjobs%2Fa%3Ftab%3Druns", "/livez/x": "/login?next=%2Flivez%2Fx",
	} {
		if got := s.ask("GET", path, "", "Accept", html).is(303).header.Get("Location"); got != want {
			t.Errorf("%s leads to %q, want %q", path, got, want)
		}
	}
	if got := s.ask("GET", "/", "", "HX-Request", "true").is(401).header.Get("HX-Redirect"); got != "/login" {
		t.Errorf("a part of a page leads to %q", got)
	}
	// A form that is sent, and a part of a page, lead back to the page that they are on, and to none of another site.
	const back = "/login?next=%2Fjobs%2Fnew%3Ffrom%3Da"
	own := s.url + "/jobs/new?from=a"
	for _, from := range []struct {
		want    string
		headers []string
	}{
		{back, []string{"Referer", own}},
		{back, []string{"Referer", "https://outside.example/jobs/new?from=a", "Sec-Fetch-Site", "same-origin"}}, // a proxy renames us
		{"/login", []string{"Referer", "https://evil.example/jobs/new"}},
		{"/login", []string{"Referer", s.url + "//evil.example/"}},
		{"/login", []string{"Referer", s.url + "/login?next=/jobs"}},
		{"/login", []string{"Referer", "%"}},
		{"/login", nil},
	} {
		if got := s.ask("POST", "/jobs/new", "", append(from.headers, "Accept", html)...).is(303).header.Get("Location"); got != from.want {
			t.Errorf("a form with %q leads to %q, want %q", from.headers, got, from.want)
		}
	}
	for from, want := range map[string]string{own: back, "http://evil.example/jobs": "/login", "": "/login"} {
		got := s.ask("POST", "/jobs/new/check", "", "HX-Request", "true", "HX-Current-URL", from, "Referer", own).is(401)
		if to := got.header.Get("HX-Redirect"); to != want {
			t.Errorf("a part of %q leads to %q, want %q", from, to, want)
		}
	}

	s.ask("GET", "/api/v1/jobs", "", authorization, bearer).is(200)
	s.ask("GET", "/", "", authorization, bearer).is(200)
	if schema := s.ask("GET", "/schema.json", "").is(200); /* an editor has no token */ !json.Valid([]byte(schema.body)) || !strings.Contains(schema.body, "catch_up") {
		t.Errorf("schema %.100s", schema.body)
	}
	if strings.Contains(s.log.String(), token) {
		t.Error("the log holds the token")
	}
}

func TestMetricsAreReadWithAToken(t *testing.T) {
	collector := "Bearer a-token-of-the-collector"
	s := newSite(t, func(c *web.Config) {
		c.MetricsReaders = auth.NewReaders("a-token-of-the-collector")
	})
	s.ask("GET", "/metrics", "").problem(401, "unauthenticated")
	s.ask("GET", "/metrics", "", authorization, "Bearer x").problem(401, "invalid_token")
	s.ask("GET", "/metrics", "", authorization, bearer).is(200)
	s.ask("GET", "/metrics", "", authorization, collector).is(200)
	s.ask("GET", "/api/v1/jobs", "", authorization, collector).problem(401, "invalid_token") // it opens nothing else
	s.ask("GET", "/", "", authorization, collector, "Accept", html).is(303)

	open := newSite(t, func(c *web.Config) { c.MetricsReaders = auth.AnyReader() })
	open.ask("GET", "/metrics", "").is(200)
	open.ask("GET", "/api/v1/jobs", "").problem(401, "unauthenticated")
}

func TestLoginLinkWorksOnce(t *testing.T) {
	s := newSite(t, nil)
	code := s.codes.Issue(time.Hour)
	first := s.ask("GET", "/login?token="+code, "", "Accept", html).is(303)
	if got := first.header.Get("Location"); got != "/welcome" {
		t.Errorf("it leads to %q", got)
	}
	cookie, _, _ := strings.Cut(first.header.Get("Set-Cookie"), ";")
	s.ask("GET", "/", "", "Cookie", cookie).is(200)
	s.ask("GET", "/api/v1/jobs", "", "Cookie", cookie).is(200)
	second := s.ask("GET", "/login?token="+code, "", "Accept", html).is(401)
	if second.header.Get("Set-Cookie") != "" || !strings.Contains(second.body, "has been used") {
		t.Errorf("the second time: %v %s", second.header, second.body)
	}
	s.ask("GET", "/login?token="+token, "").is(401) // a token belongs in no URL
	if strings.Contains(s.log.String(), code) {
		t.Error("the log holds the code")
	}
	if out := s.ask("POST", "/logout", "", "Cookie", cookie).is(303); !strings.Contains(out.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("logged out with %v", out.header)
	}
	s.ask("GET", "/api/v1/jobs", "", "Cookie", cookie).problem(401, "session_expired") // also for a copy of the cookie
}

func TestLoginByToken(t *testing.T) {
	s := newSite(t, nil)
	const form = "application/x-www-form-urlencoded"
	enter := func(next, given string, headers ...string) *answer {
		return s.ask("POST", "/login", url.Values{"token": {given}, "next": {next}}.Encode(), append(headers, "Content-Type", form)...)
	}
	in := enter("/jobs/a", " "+token+"\n").is(303)
	if in.header.Get("Location") != "/jobs/a" || !strings.Contains(in.header.Get("Set-Cookie"), auth.Cookie+"=") {
		t.Errorf("logged in: %v", in.header)
	}
	if wrong := enter("/jobs/a", "x").is(401); wrong.header.Get("Set-Cookie") != "" || !strings.Contains(wrong.body, `value="/jobs/a"`) {
		t.Errorf("with another token: %v %s", wrong.header, wrong.body)
	}
	for _, elsewhere := range []string{"https://evil.example/", "//evil.example/", `/\evil.example`, "javascript:alert(1)", "", "/login?next=/login"} {
		if got := enter(elsewhere, token).is(303).header.Get("Location"); got != "/" {
			t.Errorf("next=%q leads to %q", elsewhere, got)
		}
	}
	enter("/", token, "Sec-Fetch-Site", "cross-site").problem(403, "cross_site")
	if page := enter(`/"><script>`, "x").is(401); strings.Contains(page.body, "<script>") {
		t.Errorf("the page holds what it was given: %s", page.body)
	}
}

func TestCookieIsNoPassForOtherSites(t *testing.T) {
	s := newSite(t, nil)
	in := s.ask("GET", "/login?token="+s.codes.Issue(time.Hour), "").is(303)
	cookie, _, _ := strings.Cut(in.header.Get("Set-Cookie"), ";")
	const path = "/api/v1/jobs/a/pause"
	s.ask("POST", path, "", "Cookie", cookie, "Sec-Fetch-Site", "cross-site").problem(403, "cross_site", "another site")
	s.ask("POST", path, "", "Cookie", cookie, "Origin", "https://evil.example").problem(403, "cross_site")
	s.ask("POST", path, "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin").problem(404, "job_not_found")
	s.ask("POST", path, "", authorization, bearer, "Origin", "https://evil.example").problem(404, "job_not_found")
}

func TestWithoutAuthentication(t *testing.T) {
	s := newSite(t, func(c *web.Config) { c.Guard = auth.Open() })
	s.ask("GET", "/api/v1/jobs", "").is(200)
	s.ask("GET", "/", "", "Accept", html).is(200)
	if got := s.ask("GET", "/login?next=/jobs", "").is(303).header.Get("Location"); got != "/jobs" {
		t.Errorf("login leads to %q", got)
	}
	s.ask("GET", "/api/v1/jobs", "", "Host", "evil.example").problem(421, "foreign_host", "--auth off", "evil.example")
	s.ask("POST", "/api/v1/jobs/a/pause", "", "Sec-Fetch-Site", "cross-site").problem(403, "cross_site")
}

func TestWhoActsIsKnown(t *testing.T) {
	s := newSite(t, nil)
	s.PutBinary(t, "report")
	got := s.ask("POST", "/api/v1/jobs", `{"name":"a","binary":"report"}`, authorization, bearer).is(201)
	if !strings.Contains(got.body, `"created_by":"root"`) {
		t.Errorf("made by %s", got.body)
	}
}
