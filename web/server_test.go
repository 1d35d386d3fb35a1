package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"go.uber.org/goleak"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web"
	"github.com/tidewheel/tidewheel/web/auth"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = webtest.RootToken

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
		Service: s.Service, Guard: auth.NewGuard(s.Access), Codes: s.codes, Version: "v0-test",
		Log:     slog.New(slog.NewTextHandler(io.MultiWriter(t.Output(), s.log), &slog.HandlerOptions{Level: slog.LevelDebug})),
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") }),
		Pages: func(e *echo.Echo, _ []byte) {
			e.GET("/", func(c echo.Context) error { return c.HTML(http.StatusOK, strings.Repeat("<p>home</p>", 200)) })
			e.GET("/runs", func(echo.Context) error { panic("the page is broken") })
			e.GET("/jobs", func(echo.Context) error { return errors.New("the disk is on fire") })
			e.GET("/dags", func(c echo.Context) error {
				_, _ = io.WriteString(c.Response(), "begun")
				c.Response().Flush()
				panic("too late")
			})
			e.POST("/theme", func(c echo.Context) error {
				n, err := io.Copy(io.Discard, c.Request().Body)
				if err != nil {
					return err
				}
				return c.JSON(http.StatusOK, n)
			})
			e.GET("/static/*", func(c echo.Context) error { return c.Blob(http.StatusOK, "text/javascript", []byte("1")) })
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
	problem := s.ask("GET", "/runs", "", authorization, bearer, "X-Request-ID", "my-own-1").problem(500, "internal_error")
	if problem.RequestID != "my-own-1" || !strings.Contains(s.log.String(), "the page is broken") {
		t.Errorf("problem %+v", problem)
	}
	if page := s.ask("GET", "/runs", "", authorization, bearer, "Accept", html).is(500); strings.Contains(page.body, "broken") {
		t.Errorf("the page reveals the fault: %s", page.body)
	}
	late := s.open("GET", "/dags", "", authorization, bearer)
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
	s.ask("GET", "/jobs", "", authorization, bearer).problem(500, "internal_error")
	s.ask("GET", "/jobs?follow=1", "", authorization, bearer).problem(500, "internal_error")
	if logged := strings.Count(s.log.String(), "the disk is on fire"); logged != 2 {
		t.Errorf("the log reports the fault %d times", logged)
	}
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
	// Requested explicitly, so that the client does not decompress it.
	packed := s.ask("GET", "/", "", authorization, bearer, "Accept-Encoding", "gzip").is(200)
	if packed.header.Get("Content-Encoding") != "gzip" || len(packed.body) > 500 {
		t.Errorf("a page of 2 KiB came in %d bytes as %q", len(packed.body), packed.header.Get("Content-Encoding"))
	}
}

func TestBodiesAreBounded(t *testing.T) {
	s := newSite(t, nil)
	s.ask("POST", "/theme", strings.Repeat("x", 1<<20), authorization, bearer).is(200)
	s.ask("POST", "/theme", strings.Repeat("x", 21<<20), authorization, bearer).problem(413, "body_too_large")
	s.ask("POST", "/api/v1/apply", strings.Repeat("#", 21<<20), authorization, bearer).problem(413, "body_too_large")
	s.ask("POST", "/api/v1/binaries/big/versions", strings.Repeat("#", 21<<20), authorization, bearer).is(201)
}

func TestConfigIsChecked(t *testing.T) {
	if _, err := web.New(web.Config{Guard: auth.Open()}); err == nil {
		t.Error("a server without a service")
	}
	if _, err := web.New(web.Config{Service: webtest.New(t).Service}); err == nil {
		t.Error("a server without a guard")
	}
}
