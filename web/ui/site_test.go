package ui_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web"
	"github.com/tidewheel/tidewheel/web/auth"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/ui"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// site is the pages on a server without authentication, over a service that lives in memory.
type site struct {
	*webtest.World
	server *web.Server
	router *echo.Echo // of the server
	first  engine.Run // of those that fill makes: it runs
	broken engine.Run // it failed twice
}

func newSite(t *testing.T, configs ...service.Config) *site {
	t.Helper()
	world := webtest.New(t, configs...)
	if *serve != "" {
		world.Now = time.Now().UTC()
	}
	made := &site{World: world}
	pages := ui.New(world.Service, ui.Config{Version: "1.2.3", Now: func() time.Time { return world.Now }})
	server, err := web.New(web.Config{
		Service: world.Service, Guard: auth.Open(), Log: world.Log, Version: "1.2.3",
		Pages: func(e *echo.Echo, api []byte) {
			made.router = e
			pages.Register(e, api)
		},
		LoginPage: func(c echo.Context, p web.LoginPage) error {
			return pages.Login(c, p.Status, templates.Login{Problem: p.Message, Next: p.Next, Users: p.Users})
		},
		WelcomePage: func(c echo.Context, p web.WelcomePage) error {
			return pages.Welcome(c, p.Status, p.Message, p.Name, p.Next)
		},
		ErrorPage: func(c echo.Context, p web.ErrorPage) error {
			return pages.Failure(c, p.Status, p.Title, p.Detail, p.RequestID)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	made.server = server
	return made
}

// ask sends a request as a browser does, and returns the answer.
func (s *site) ask(t *testing.T, method, path string, form url.Values, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(form.Encode()))
	request.Header.Set("Accept", "text/html")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response := httptest.NewRecorder()
	s.server.Handler().ServeHTTP(response, request)
	return response
}

// see gets a page that must be there.
func (s *site) see(t *testing.T, path string, header ...string) string {
	t.Helper()
	response := s.ask(t, http.MethodGet, path, nil, header...)
	if response.Code != http.StatusOK {
		t.Fatalf("GET %s: %d: %s", path, response.Code, response.Body)
	}
	return response.Body.String()
}

// act posts a form that must succeed, and returns where it leads.
func (s *site) act(t *testing.T, path string, form url.Values) string {
	t.Helper()
	if form == nil {
		form = url.Values{}
	}
	response := s.ask(t, http.MethodPost, path, form)
	if response.Code != http.StatusSeeOther {
		t.Fatalf("POST %s: %d: %s", path, response.Code, response.Body)
	}
	return response.Header().Get("Location")
}

// fill makes a small world: programs, jobs, runs in every state.
func (s *site) fill(t *testing.T) {
	t.Helper()
	for _, name := range []string{"harbour-log", "tide-forecast", "ferry-booking", "gauge-anomalies", "nightly-report", "retired"} {
		s.PutBinary(t, name, "stable")
	}
	if _, _, _, err := s.UploadBinary(t.Context(), engine.DefaultNamespace, "tide-forecast", webtest.Script("echo two"), service.Upload{By: "mira", Aliases: []string{"stable", "next"}}); err != nil {
		t.Fatal(err)
	}
	log := s.job(t, "harbour-log", "Ships a day and a berth, from the harbour master's log", `"schedule": "*/20 * * * * *"`)
	forecast := s.job(t, "tide-forecast", "The heights of the next tides at four harbours", `"schedule": "*/5 * * * *", "timezone": "Europe/Amsterdam", "retry": {"max_attempts": 3}`)
	gauge := s.job(t, "gauge-anomalies", "Gauges that read what no tide explains", `"every": "90s", "timeout": "30s"`)
	report := s.job(t, "nightly-report", "Totals per shop", `"schedule": "0 3 * * *", "timezone": "Asia/Dhaka", "tier": "heavy"`)
	s.job(t, "ferry-booking", "Seats that were sold twice", `"after": "10m", "overlap": "queue"`)
	if _, err := s.Jobs.Pause(t.Context(), engine.DefaultNamespace, report.Name, "mira", ""); err != nil {
		t.Fatal(err)
	}
	for i, slot := range []time.Duration{21, 41, 61, 81, 101} {
		run := s.Running(log, s.Now.Add(-slot*time.Second).Truncate(time.Second))
		s.PutRun(t, run)
		status := engine.StatusSucceeded
		if i == 3 {
			status = engine.StatusTimedOut
		}
		s.PutRun(t, webtest.Ended(run, status, "42 ships, 7 berths\n"))
	}
	s.fillRunning(t, &forecast, &log)
	s.fillBroken(t, &gauge)
	var tasks []engine.ScheduledTask
	for i, job := range []engine.Job{log, gauge, forecast} {
		slot := s.Now.Add(time.Duration(i*i*40+9) * time.Second).Truncate(time.Second)
		tasks = append(tasks, engine.ScheduledTask{
			ID: job.UID, Shard: job.Shard, Slot: slot, RunAt: slot, Generation: 1, Revision: 1, Namespace: job.Namespace, Job: job.Name,
		})
	}
	slots := []engine.SlotRange{
		{ID: engine.SlotRangeID(forecast.UID, s.Now.Add(-2*time.Hour)), JobUID: forecast.UID, Namespace: forecast.Namespace, Job: forecast.Name,
			From: s.Now.Add(-2 * time.Hour), To: s.Now.Add(-100 * time.Minute), Count: 5, Outcome: engine.OutcomeMissed, Reason: engine.ReasonOutage},
		{ID: engine.SlotRangeID(forecast.UID, s.Now.Add(-10*time.Minute)), JobUID: forecast.UID, Namespace: forecast.Namespace, Job: forecast.Name,
			From: s.Now.Add(-10 * time.Minute), To: s.Now.Add(-10 * time.Minute), Count: 1, Outcome: engine.OutcomeSkipped, Reason: engine.ReasonOverlap},
	}
	s.Write(t, engine.Batch{Tasks: tasks, Slots: slots})
	s.Queue.SetExecutors(engine.Presence{
		ID: "one", Host: "quay-1", Version: "1.2.3", Tiers: []spec.Tier{spec.TierLight, spec.TierMedium, spec.TierHeavy}, Slots: 8,
		Since: s.Now.Add(-3 * time.Hour), Seen: s.Now.Add(-time.Second),
		Running: []engine.RunningAttempt{{Run: s.first.ID, Attempt: 1, Job: forecast.Name, Since: s.first.StartedAt}},
	}, engine.Presence{
		ID: "two", Host: "quay-2", Version: "1.2.3", Tiers: []spec.Tier{spec.TierLight}, Slots: 4, Draining: true,
		Since: s.Now.Add(-26 * time.Hour), Seen: s.Now.Add(-4 * time.Second),
	})
	s.Queue.SetDepths(
		engine.QueueDepth{Tier: spec.TierLight, Class: spec.ClassPremium, Pulls: 2},
		engine.QueueDepth{Tier: spec.TierLight, Class: spec.ClassStandard, Waiting: 3, Claimed: 1, Pulls: 2, Oldest: s.Now.Add(-7 * time.Second)},
		engine.QueueDepth{Tier: spec.TierHeavy, Class: spec.ClassStandard, Pulls: 1},
	)
}

func (s *site) fillRunning(t *testing.T, forecast, log *engine.Job) {
	t.Helper()
	s.first = s.Running(*forecast, s.Now.Add(-75*time.Second).Truncate(time.Second))
	s.first.Progress = &engine.Progress{Fraction: 0.42, Message: "harbour 2 of 4", At: s.Now}
	s.PutRun(t, s.first)
	var out strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&out, "%s  gauge %03d  height %6.2f m  \x1b[32mok\x1b[0m\n", s.Now.Add(time.Duration(i-4000)*time.Second).Format(time.TimeOnly), i%17, float64(i%640)/100)
	}
	out.WriteString("<script>alert('not a script')</script> \xff\xfe Œuvre \x07\n")
	s.Blobs.SetLog(s.first.ID, webtest.TextLog(out.String()))

	queued := s.Running(*log, s.Now.Add(-time.Second).Truncate(time.Second))
	queued.Status, queued.StartedAt, queued.Attempts = engine.StatusQueued, time.Time{}, nil
	queued.Attempts = []engine.Attempt{{N: 1, Status: engine.StatusQueued, QueuedAt: queued.QueuedAt}}
	s.PutRun(t, queued)
}

func (s *site) fillBroken(t *testing.T, gauge *engine.Job) {
	t.Helper()
	run := s.Running(*gauge, s.Now.Add(-33*time.Minute).Truncate(time.Second))
	s.PutRun(t, run)
	one := 1
	again := run.Clone()
	again.Revision, again.Status, again.Attempt = 2, engine.StatusDead, 2
	again.Reason = "its 2 attempts are used up: exit code 1"
	again.FinishedAt = run.StartedAt.Add(9 * time.Second)
	again.Attempts[0].Status, again.Attempts[0].ExitCode, again.Attempts[0].FinishedAt = engine.StatusFailed, &one, run.StartedAt.Add(2*time.Second)
	again.Attempts[0].Output = &engine.Output{Size: 17, Lines: 1, Tail: []byte("no gauge answers\n")}
	again.Attempts = append(again.Attempts, engine.Attempt{
		N: 2, Status: engine.StatusFailed, Executor: "one", Token: 9, StartedAt: run.StartedAt.Add(5 * time.Second), FinishedAt: again.FinishedAt,
		ExitCode: &one, Error: "", Usage: &engine.Usage{CPU: 40 * time.Millisecond, MaxRSS: 9 << 20},
		Output: &engine.Output{Size: 23, Lines: 1, Tail: []byte("still no gauge answers\n")},
	})
	s.PutRun(t, again)
	letter := engine.DeadLetter{RunID: again.ID, Namespace: again.Namespace, JobUID: again.JobUID, Job: again.Job, Error: again.Reason, Attempts: 2, At: again.FinishedAt}
	s.Write(t, engine.Batch{DeadLetters: []engine.DeadLetter{letter}})
	s.broken = again
}

func (s *site) job(t *testing.T, name, description, schedule string) engine.Job {
	t.Helper()
	return s.PutJob(t, fmt.Sprintf(`{"name": %q, "description": %q, "binary": "%s@stable", %s}`, name, description, name, schedule))
}
