package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"go.uber.org/goleak"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/api"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is the API over a world in memory, reached by HTTP.
type site struct {
	*webtest.World
	t      testing.TB
	server *httptest.Server
	api    *api.API
}

func newSite(t testing.TB, configs ...service.Config) *site {
	t.Helper()
	s := &site{World: webtest.New(t, configs...), t: t}
	e := echo.New()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			c.SetRequest(c.Request().WithContext(access.With(c.Request().Context(), access.Local())))
			return next(c)
		}
	})
	made, err := api.New(e, s.Service, api.Config{Version: "v0-test", Log: s.Log, Now: func() time.Time { return s.Now }})
	if err != nil {
		t.Fatal(err)
	}
	s.api = made
	s.server = newServer(t, e)
	return s
}

func newServer(t testing.TB, handler http.Handler) *httptest.Server {
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return server
}

// answer is a response that was read to its end.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// ask sends a request; headers are pairs of name and value.
func (s *site) ask(method, path, body string, headers ...string) *answer {
	s.t.Helper()
	return s.send(s.request(method, path, strings.NewReader(body), headers...))
}

func (s *site) request(method, path string, body io.Reader, headers ...string) *http.Request {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.server.URL+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return request
}

func (s *site) send(request *http.Request) *answer {
	s.t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return &answer{t: s.t, status: response.StatusCode, header: response.Header, body: data}
}

// is checks the status.
func (a *answer) is(status int) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// problem checks that the answer is a problem: its status, its code, and words that its detail must hold.
func (a *answer) problem(status int, code string, words ...string) *wire.Problem {
	a.t.Helper()
	a.is(status)
	if got := a.header.Get("Content-Type"); got != api.ProblemType {
		a.t.Errorf("Content-Type %q", got)
	}
	problem := into[wire.Problem](a)
	if problem.Code != code || problem.Status != status || problem.Title == "" || problem.Type != "about:blank" {
		a.t.Fatalf("problem %s, want code %s", a.body, code)
	}
	for _, word := range words {
		if !strings.Contains(problem.Detail, word) {
			a.t.Errorf("detail %q does not say %q", problem.Detail, word)
		}
	}
	return problem
}

// at checks that a problem names a faulty field.
func at(t testing.TB, problem *wire.Problem, location string) {
	t.Helper()
	for _, field := range problem.Errors {
		if field.Location == location && field.Message != "" {
			return
		}
	}
	t.Errorf("no error at %s among %+v", location, problem.Errors)
}

// into reads the answer's body, which must hold nothing that T does not know.
func into[T any](a *answer) *T {
	a.t.Helper()
	var value T
	decoder := json.NewDecoder(bytes.NewReader(a.body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		a.t.Fatalf("read %T: %v: %s", value, err, a.body)
	}
	return &value
}

const report = `{"name":"nightly-report","binary":"report","schedule":"0 3 * * *","timezone":"Asia/Dhaka"}`
