package web_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/internal/runtoken"
	"github.com/tidewheel/tidewheel/web"
	"github.com/tidewheel/tidewheel/web/auth"
)

var runKey = runtoken.Key(bytes.Repeat([]byte{3}, runtoken.KeySize))

// programSite is a site with a run whose attempts hold tokens.
type programSite struct {
	*site
	run engine.Run
}

func newProgramSite(t *testing.T, change func(*web.Config)) *programSite {
	t.Helper()
	s := &programSite{site: newSite(t, func(config *web.Config) {
		config.RunTokens = auth.NewRunTokens(runKey, nil)
		if change != nil {
			change(config)
		}
	})}
	s.run = engine.Run{
		ID: "uid-s1800000000000", Revision: 1, Namespace: "default", JobUID: "uid", Job: "charge", Tier: "light", Class: "standard",
		Status: engine.StatusRunning, Attempt: 2, CreatedAt: s.Now,
	}
	s.PutRun(t, s.run)
	return s
}

// token is what the executor of an attempt gives to its program.
func (s *programSite) token(attempt int, life time.Duration) string {
	s.t.Helper()
	sealed, err := runtoken.Seal(runKey.Attempt("default", s.run.ID, attempt), runtoken.Grant{
		Namespace: "default", Run: s.run.ID, Attempt: attempt, Token: uint64(100 * attempt), Expires: time.Now().Add(life),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return sealed
}

// tokenOf is what the executor of the first attempt of any run gives to its program.
func (s *programSite) tokenOf(run string) string {
	s.run.ID = run
	return s.token(1, time.Hour)
}

// effect asks with the token of an attempt.
func (s *programSite) effect(method, key, body string, attempt int) *answer {
	s.t.Helper()
	return s.ask(method, "/api/v1/effects/"+key, body, "Authorization", "Bearer "+s.token(attempt, time.Hour))
}

func TestProgramDoesAThingOnce(t *testing.T) {
	s := newProgramSite(t, nil)
	opened := s.effect("POST", "charge-1", "", 2).is(http.StatusCreated)
	if !strings.Contains(opened.body, `"state":"open"`) || !strings.Contains(opened.body, `"attempt":2`) {
		t.Fatalf("opened: %s", opened.body)
	}
	s.effect("POST", "charge-1", "", 2).is(http.StatusOK)
	s.effect("POST", "charge-1", "", 1).problem(http.StatusPreconditionFailed, "fenced")
	s.effect("PUT", "charge-1", "1", 1).problem(http.StatusPreconditionFailed, "fenced")
	s.effect("PUT", "charge-1", "{", 2).problem(http.StatusUnprocessableEntity, "invalid_effect_result")
	s.effect("PUT", "charge-1", `"`+strings.Repeat("x", engine.MaxEffectResult)+`"`, 2).problem(http.StatusRequestEntityTooLarge, "effect_result_too_large")
	s.effect("PUT", "charge-1", strings.Repeat("x", 1<<20), 2).problem(http.StatusRequestEntityTooLarge, "body_too_large")
	s.effect("PUT", "charge-2", "1", 2).problem(http.StatusNotFound, "effect_not_found")
	s.effect("POST", "ch%20arge", "", 2).problem(http.StatusUnprocessableEntity, "invalid_effect_key")
	for range 2 {
		if closed := s.effect("PUT", "charge-1", `{"id": "ch_1"}`, 2).is(http.StatusOK); !strings.Contains(closed.body, `"result":{"id":"ch_1"}`) {
			t.Fatalf("closed: %s", closed.body)
		}
	}
	for method, body := range map[string]string{"POST": "", "PUT": "2"} {
		if problem := s.effect(method, "charge-1", body, 2).problem(http.StatusConflict, "effect_done"); string(problem.Result) != `{"id":"ch_1"}` {
			t.Errorf("%s: the result is %s", method, problem.Result)
		}
	}
	s.effect("POST", "bare", "", 2).is(http.StatusCreated)
	s.effect("PUT", "bare", "", 2).is(http.StatusOK)
	if problem := s.effect("POST", "bare", "", 2).problem(http.StatusConflict, "effect_done"); string(problem.Result) != "null" {
		t.Errorf("the result is %q", problem.Result)
	}
	list := s.ask("GET", "/api/v1/runs/"+s.run.ID+"/effects", "", "Authorization", "Bearer "+token).is(http.StatusOK)
	if strings.Count(list.body, `"state":"done"`) != 2 {
		t.Errorf("the run's effects: %s", list.body)
	}
}

// Only a run's token opens effects, and it opens nothing else, not even to read.
func TestRunTokenOpensEffectsAndNothingElse(t *testing.T) {
	s := newProgramSite(t, nil)
	good := s.token(2, time.Hour)
	for _, path := range []string{"/api/v1/runs", "/api/v1/runs/" + s.run.ID, "/api/v1/runs/" + s.run.ID + "/effects", "/api/v1/jobs", "/api/v1/effects", "/metrics", "/api/v1/openapi.json"} {
		s.ask("GET", path, "", "Authorization", "Bearer "+good).problem(http.StatusUnauthorized, "invalid_token")
	}
	s.ask("POST", "/api/v1/jobs", "{}", "Authorization", "Bearer "+good).problem(http.StatusUnauthorized, "invalid_token")
	for _, path := range []string{"/api/v1/effects/../jobs", "/api/v1/effects/x/../../jobs", "/api/v1/effects%2F..%2Fjobs", "/api/v1/effects/%2e%2e/jobs", "/api/v1//jobs"} {
		if response := s.ask("GET", path, "", "Authorization", "Bearer "+good); response.status < http.StatusBadRequest {
			t.Errorf("%s: %d %s", path, response.status, response.body)
		}
	}
	other, err := runtoken.Seal(runtoken.Key(bytes.Repeat([]byte{4}, runtoken.KeySize)).Attempt("default", s.run.ID, 2),
		runtoken.Grant{Namespace: "default", Run: s.run.ID, Attempt: 2, Expires: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	for name, header := range map[string]string{"an API token": "Bearer " + token, "another server's": "Bearer " + other, "nothing": "Bearer ", "basic": "Basic " + good} {
		t.Run(name, func(t *testing.T) {
			s.ask("POST", "/api/v1/effects/x", "", "Authorization", header).problem(http.StatusUnauthorized, "invalid_run_token")
		})
	}
	s.ask("POST", "/api/v1/effects/x", "").problem(http.StatusUnauthorized, "unauthenticated")
	s.ask("POST", "/api/v1/effects/x", "", "Authorization", "Bearer "+s.token(2, -time.Hour)).problem(http.StatusUnauthorized, "run_token_expired")
	if effects, _, err := s.RunEffects(t.Context(), engine.DefaultNamespace, s.run.ID, "", 10); err != nil || len(effects) > 0 {
		t.Errorf("something was opened: %v, %v", effects, err)
	}
}

// Without authentication programs prove who they are nevertheless: the ledger must know which attempt asks.
func TestEffectsAskForATokenWithoutAuthentication(t *testing.T) {
	s := newProgramSite(t, func(config *web.Config) { config.Guard = auth.Open() })
	s.ask("POST", "/api/v1/effects/x", "").problem(http.StatusUnauthorized, "unauthenticated")
	s.effect("POST", "x", "", 2).is(http.StatusCreated)
	without := newProgramSite(t, func(config *web.Config) { config.RunTokens = nil })
	without.effect("POST", "x", "", 2).problem(http.StatusUnauthorized, "invalid_run_token")
}
