package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"go.uber.org/goleak"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web"
	"github.com/tidewheel/tidewheel/web/auth"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "tw_0123456789abcdefghijklmnop"

// site is a whole server that listens.
type site struct {
	*webtest.World
	t      testing.TB
	url    string
	server *web.Server
	codes  *auth.Codes
	client *http.Client
	log    *logBook
}

// logBook is a log that can be read while it is written.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newSite(t testing.TB, change func(*web.Config)) *site {
	t.Helper()
	s := &site{World: webtest.New(t), t: t, codes: auth.NewCodes(nil), log: &logBook{}}
	config := web.Config{
		Service: s.Service, Guard: auth.NewGuard(auth.NewToken("admin", token), auth.Config{}), Codes: s.codes, Version: "v0-test",
		Log:     slog.New(slog.NewTextHandler(io.MultiWriter(t.Output(), s.log), &slog.HandlerOptions{Level: slog.LevelDebug})),
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") }),
		Pages: func(e *echo.Echo) {
			e.GET("/", func(c echo.Context) error { return c.HTML(http.StatusOK, strings.Repeat("<p>home</p>", 200)) })
			e.GET("/panic", func(echo.Context) error { panic("the page is broken") })
			e.GET("/fails", func(echo.Context) error { return errors.New("the disk is on fire") })
			e.GET("/late", func(c echo.Context) error {
				_, _ = io.WriteString(c.Response(), "begun")
				c.Response().Flush()
				panic("too late")
			})
			e.POST("/form", func(c echo.Context) error {
				n, err := io.Copy(io.Discard, c.Request().Body)
				if err != nil {
					return err
				}
				return c.JSON(http.StatusOK, n)
			})
			e.GET("/static/app.js", func(c echo.Context) error { return c.Blob(http.StatusOK, "text/javascript", []byte("1")) })
		},
	}
	if change != nil {
		change(&config)
	}
	server, err := web.New(config)
	if err != nil {
		t.Fatal(err)
	}
	s.server = server
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + listener.Addr().String()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	s.client = &http.Client{
		Transport:     &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		s.client.CloseIdleConnections()
	})
	return s
}

type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   string
}

func (s *site) open(method, path, body string, headers ...string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return response
}

func (s *site) ask(method, path, body string, headers ...string) *answer {
	s.t.Helper()
	response := s.open(method, path, body, headers...)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return &answer{s.t, response.StatusCode, response.Header, string(data)}
}

func (a *answer) problem(status int, code string, words ...string) *wire.Problem {
	a.t.Helper()
	var problem wire.Problem
	if err := json.Unmarshal([]byte(a.body), &problem); err != nil || a.status != status || problem.Code != code ||
		a.header.Get("Content-Type") != "application/problem+json" {
		a.t.Fatalf("answered %d %s %s, want the problem %d %s", a.status, a.header.Get("Content-Type"), a.body, status, code)
	}
	for _, word := range words {
		if !strings.Contains(problem.Detail, word) {
			a.t.Errorf("detail %q does not say %q", problem.Detail, word)
		}
	}
	return &problem
}

func (a *answer) is(status int) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

const (
	authorization = "Authorization"
	bearer        = "Bearer " + token
	html          = "text/html,application/xhtml+xml"
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
		c.MetricsReaders = auth.NewReaders(auth.NewToken("metrics", "a-token-of-the-collector"))
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
	code := s.codes.Issue("admin", time.Hour)
	first := s.ask("GET", "/login?token="+code, "", "Accept", html).is(303)
	if got := first.header.Get("Location"); got != "/" {
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
	s.ask("GET", "/api/v1/jobs", "", "Cookie", cookie).problem(401, "session_expired") // whoever has copied it
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
	in := s.ask("GET", "/login?token="+s.codes.Issue("admin", time.Hour), "").is(303)
	cookie, _, _ := strings.Cut(in.header.Get("Set-Cookie"), ";")
	const path = "/api/v1/jobs/a/pause"
	s.ask("POST", path, "", "Cookie", cookie, "Sec-Fetch-Site", "cross-site").problem(403, "cross_site", "another site")
	s.ask("POST", path, "", "Cookie", cookie, "Origin", "https://evil.example").problem(403, "cross_site")
	s.ask("POST", path, "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin").problem(404, "job_not_found")
	s.ask("POST", path, "", authorization, bearer, "Origin", "https://evil.example").problem(404, "job_not_found")
}

func TestWithoutAuthentication(t *testing.T) {
	s := newSite(t, func(c *web.Config) { c.Guard = auth.Open(auth.Config{}) })
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
	if !strings.Contains(got.body, `"created_by":"admin"`) {
		t.Errorf("made by %s", got.body)
	}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	s := newSite(t, nil)
	s.ask("GET", "/api/v1/nothing", "", authorization, bearer).problem(404, "not_found", "/api/v1/nothing", "openapi.json")
	got := s.ask("PATCH", "/api/v1/jobs", "", authorization, bearer)
	got.problem(405, "method_not_allowed", "PATCH", "GET", "POST")
	if allow := got.header.Get("Allow"); !strings.Contains(allow, "GET") {
		t.Errorf("Allow %q", allow)
	}
	page := s.ask("GET", "/nothing", "", authorization, bearer, "Accept", html).is(404)
	if !strings.HasPrefix(page.header.Get("Content-Type"), "text/html") || !strings.Contains(page.body, "<h1>Not Found</h1>") {
		t.Errorf("page %s", page.body)
	}
	s.ask("GET", "/nothing", "", authorization, bearer).problem(404, "not_found")
}

func TestFaultInARequestEndsOnlyIt(t *testing.T) {
	s := newSite(t, nil)
	problem := s.ask("GET", "/panic", "", authorization, bearer, "X-Request-ID", "my-own-1").problem(500, "internal_error")
	if problem.RequestID != "my-own-1" || !strings.Contains(s.log.String(), "the page is broken") {
		t.Errorf("problem %+v", problem)
	}
	if page := s.ask("GET", "/panic", "", authorization, bearer, "Accept", html).is(500); strings.Contains(page.body, "broken") {
		t.Errorf("the page tells the fault: %s", page.body)
	}
	late := s.open("GET", "/late", "", authorization, bearer)
	defer late.Body.Close()
	if _, err := io.ReadAll(late.Body); err == nil {
		t.Error("half an answer looks whole")
	}
	s.ask("GET", "/livez", "").is(200)
	if id := s.ask("GET", "/livez", "", "X-Request-ID", "a b\"c").header.Get("X-Request-ID"); id == "" || strings.Contains(id, " ") {
		t.Errorf("request id %q", id)
	}
}

func TestFaultOfAStreamIsNoGoneClient(t *testing.T) {
	s := newSite(t, nil)
	s.ask("GET", "/fails", "", authorization, bearer).problem(500, "internal_error")
	s.ask("GET", "/fails?follow=1", "", authorization, bearer).problem(500, "internal_error")
	if told := strings.Count(s.log.String(), "the disk is on fire"); told != 2 {
		t.Errorf("the log tells the fault %d times", told)
	}
}

func TestPageNamesThePartThatIsDown(t *testing.T) {
	s := newSite(t, nil)
	s.Store.Fail(errors.New("connection refused"))
	page := s.ask("GET", "/fails", "", authorization, bearer, "Accept", html).is(503)
	if !strings.Contains(page.body, "the store does not answer") || strings.Contains(page.body, "something went wrong") {
		t.Errorf("the page says %s", page.body)
	}
	s.ask("GET", "/fails", "", authorization, bearer).problem(503, "unavailable", "the store does not answer")
	s.Store.Fail(nil)
	s.ask("GET", "/fails", "", authorization, bearer).problem(500, "internal_error")
}

func TestHealthNamesWhatIsDown(t *testing.T) {
	s := newSite(t, nil)
	for name, fail := range map[string]func(error){"the store": s.Store.Fail, "the queue": s.Queue.Fail, "S3": s.Blobs.Fail} {
		fail(errors.New("connection refused"))
		if got := s.ask("GET", "/readyz", "").is(503); !strings.Contains(got.body, name+" does not answer") {
			t.Errorf("without %s it says %q", name, got.body)
		}
		s.ask("GET", "/livez", "").is(200)
		fail(nil)
		s.ask("GET", "/readyz", "").is(200)
	}
}

func TestReadyzNamesASlowStore(t *testing.T) {
	s := newSite(t, func(config *web.Config) {
		config.Slow = func() string { return "the store is slower than what is asked of it" }
	})
	if got := s.ask("GET", "/readyz", "").is(200); got.body != "ok, but the store is slower than what is asked of it\n" {
		t.Errorf("it says %q", got.body)
	}
}

func TestLivezSaysWhyTheProcessMustBeStartedAgain(t *testing.T) {
	s := newSite(t, func(config *web.Config) {
		config.Live = func() error { return errors.New("the engine is stalled: it has not stepped for 31s") }
	})
	if got := s.ask("GET", "/livez", "").is(503); got.body != "the engine is stalled: it has not stepped for 31s\n" {
		t.Errorf("it says %q", got.body)
	}
	s.ask("GET", "/readyz", "").is(200)
}

func TestHeadersProtectPages(t *testing.T) {
	s := newSite(t, nil)
	page := s.ask("GET", "/", "", authorization, bearer).is(200)
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'self'", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
		"Referrer-Policy": "same-origin", "Cache-Control": "no-store",
	} {
		if got := page.header.Get(name); !strings.Contains(got, want) {
			t.Errorf("%s is %q", name, got)
		}
	}
	if strings.Contains(page.header.Get("Content-Security-Policy"), "unsafe") {
		t.Error("pages may run what is inline")
	}
	// Asked for by hand, so that the client does not undo it.
	packed := s.ask("GET", "/", "", authorization, bearer, "Accept-Encoding", "gzip").is(200)
	if packed.header.Get("Content-Encoding") != "gzip" || len(packed.body) > 500 {
		t.Errorf("a page of 2 KiB came in %d bytes as %q", len(packed.body), packed.header.Get("Content-Encoding"))
	}
}

func TestBodiesAreBounded(t *testing.T) {
	s := newSite(t, nil)
	s.ask("POST", "/form", strings.Repeat("x", 1<<20), authorization, bearer).is(200)
	s.ask("POST", "/form", strings.Repeat("x", 21<<20), authorization, bearer).problem(413, "body_too_large")
	s.ask("POST", "/api/v1/apply", strings.Repeat("#", 21<<20), authorization, bearer).problem(413, "body_too_large")
	s.ask("POST", "/api/v1/binaries/big/versions", strings.Repeat("#", 21<<20), authorization, bearer).is(201)
}

func TestShutdownEndsStreamsAndLetsTheRestFinish(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	s := newSite(t, func(c *web.Config) {
		c.Pages = func(e *echo.Echo) {
			e.GET("/slow", func(c echo.Context) error {
				close(begun)
				<-finish
				return c.String(http.StatusOK, "done")
			})
		}
	})
	s.PutBinary(t, "report")
	run := s.Running(s.PutJob(t, `{"name":"a","binary":"report"}`), webtest.Start)
	s.PutRun(t, run)
	follow := s.open("GET", "/api/v1/runs/"+run.ID+"/logs?follow=true", "", authorization, bearer)
	defer follow.Body.Close()
	events := s.open("GET", "/api/v1/events", "", authorization, bearer)
	defer events.Body.Close()
	<-s.Queue.Watching
	if err := s.Queue.Say(t.Context(), engine.LogFrame{Run: run.ID, Attempt: 1, Data: []byte("hello\n")}); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(follow.Body).ReadString('\n'); line != "hello\n" {
		t.Fatalf("followed %q, %v", line, err)
	}
	slow := make(chan *answer, 1)
	go func() { slow <- s.ask("GET", "/slow", "", authorization, bearer) }()
	<-begun
	stopped := make(chan error, 1)
	go func() { stopped <- s.server.Shutdown(t.Context()) }()
	_, _ = io.ReadAll(events.Body) // both end, one way or another
	if _, err := io.ReadAll(follow.Body); err == nil {
		t.Error("a log that was cut off looks whole")
	}
	select {
	case err := <-stopped:
		t.Fatalf("it stopped before the rest was done: %v", err)
	default:
	}
	close(finish)
	if got := <-slow; got.body != "done" {
		t.Errorf("the slow request got %q", got.body)
	}
	if err := <-stopped; err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

func TestShutdownCutsWhatDoesNotFinish(t *testing.T) {
	begun := make(chan struct{})
	s := newSite(t, func(c *web.Config) {
		c.Pages = func(e *echo.Echo) {
			e.GET("/stuck", func(c echo.Context) error {
				close(begun)
				<-c.Request().Context().Done()
				return context.Cause(c.Request().Context())
			})
		}
	})
	ended := make(chan error, 1)
	go func() {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/stuck", nil)
		if err == nil {
			r.Header.Set(authorization, bearer)
			var response *http.Response
			if response, err = s.client.Do(r); err == nil {
				response.Body.Close()
			}
		}
		ended <- err
	}()
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.server.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("shutdown: %v", err)
	}
	<-ended
}

func TestConfigIsChecked(t *testing.T) {
	if _, err := web.New(web.Config{Guard: auth.Open(auth.Config{})}); err == nil {
		t.Error("a server without a service")
	}
	if _, err := web.New(web.Config{Service: webtest.New(t).Service}); err == nil {
		t.Error("a server without a guard")
	}
}
