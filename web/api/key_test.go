package api_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// keyless are the POST operations under which an Idempotency-Key has no meaning, and why.
var keyless = map[string]string{
	"POST /api/v1/jobs/{name}/labels":              "to ask twice is to ask once",
	"POST /api/v1/dags/{name}/labels":              "to ask twice is to ask once",
	"POST /api/v1/validate":                        "changes nothing",
	"POST /api/v1/schedule/preview":                "changes nothing",
	"POST /api/v1/collisions/spread":               "a schedule that is spread is not spread again",
	"POST /api/v1/runs/{id}/cancel":                "what has ended is not cancelled again",
	"POST /api/v1/waves/{id}/cancel":               "what has ended is not cancelled again",
	"POST /api/v1/users":                           "a name is taken once",
	"POST /api/v1/tokens":                          "what opens is shown once and kept nowhere",
	"POST /api/v1/executor-tokens":                 "what opens is shown once and kept nowhere",
	"POST /api/v1/enrolled-executors":              "a token enrols once",
	"POST /api/v1/enrolled-executors/{name}/renew": "each request is signed anew",
	"POST /api/v1/executors/{id}/drain":            "an order to a machine that is there now",
	"POST /api/v1/executors/{id}/resume":           "an order to a machine that is there now",
	"POST /api/v1/dead-letters/replay":             "its body says until when they died",
	"POST /api/v1/dead-letters/purge":              "its body says until when they died",
	"POST /api/v1/effects/{key}":                   "its address is its key",
	"POST /api/v1/hooks/{namespace}/{name}":        "the id of its event is its key",
	"POST /api/v1/ledger-check":                    "changes nothing",
	"POST /api/v1/secrets-key/rotate":              "secrets are sealed anew with whatever key is the latest",
	"POST /api/v1/notify/targets/{name}/test":      "each request sends one, and its answer is kept nowhere",
}

// A key is never accepted and ignored: an operation describes it and obeys it, or refuses it.
func TestIdempotencyKeyIsAppliedOrRefused(t *testing.T) {
	s := newSite(t)
	inPath := regexp.MustCompile(`\{[^}]+\}`)
	posts := 0
	for name, operation := range operations(description(t, s)) {
		method, path, _ := strings.Cut(name, " ")
		if method != http.MethodPost {
			continue
		}
		posts++
		described := slices.ContainsFunc(list(operation["parameters"]), func(p any) bool { return p.(object)["name"] == "Idempotency-Key" })
		if described == (keyless[name] != "") {
			t.Errorf("%s: describes a key: %v; keyless says %q", name, described, keyless[name])
		}
		if described {
			continue
		}
		path = inPath.ReplaceAllString(path, "x")
		at(t, s.ask(method, path, "{}", "Idempotency-Key", "k").problem(http.StatusBadRequest, "key_not_supported"), "header.Idempotency-Key")
		if got := s.ask(method, path, "{}"); strings.Contains(string(got.body), "key_not_supported") {
			t.Errorf("%s is refused without a key, too: %s", name, got.body)
		}
	}
	if posts < 25 {
		t.Errorf("only %d operations were found", posts)
	}
}

func TestChangesUnderOneKeyAreDoneOnce(t *testing.T) {
	s := newSite(t)
	_, runs := history(s)
	ask := func(path, body, key string, status int) *answer {
		t.Helper()
		return s.ask("POST", "/api/v1"+path, body, "Idempotency-Key", key, "Content-Type", "application/json").is(status)
	}

	ask("/jobs/nightly-report/pause", "", "p", http.StatusOK)
	ask("/jobs/nightly-report/resume", "", "r", http.StatusOK)
	if job := into[wire.Job](ask("/jobs/nightly-report/pause", "", "p", http.StatusOK)); job.Paused {
		t.Error("a pause that comes late pauses again")
	}
	s.ask("POST", "/api/v1/jobs/nightly-report/pause?reason=another", "", "Idempotency-Key", "p").problem(http.StatusUnprocessableEntity, "key_reused")
	ask("/jobs/nightly-report/pause", "", "q", http.StatusOK)
	if job := into[wire.Job](ask("/jobs/nightly-report/resume", "", "r", http.StatusOK)); !job.Paused {
		t.Error("a resume that comes late resumes again")
	}

	const versions = "/binaries/tool/versions"
	for _, text := range []string{"1", "2", "3"} {
		s.ask("POST", "/api/v1"+versions, "#!/bin/sh\n"+text, "Content-Type", "application/octet-stream").is(http.StatusCreated)
	}
	for _, n := range []string{"1", "2", "3"} {
		s.ask("PUT", "/api/v1/binaries/tool/aliases/stable", `{"version":`+n+`}`).is(http.StatusOK)
	}
	first := into[wire.Rollback](ask("/binaries/tool/rollback", "{}", "b", http.StatusOK))
	if again := into[wire.Rollback](ask("/binaries/tool/rollback", "{}", "b", http.StatusOK)); again.Binary.Aliases["stable"] != 2 || again.Move.To != first.Move.To {
		t.Errorf("the rollback that came again: %+v", again)
	}

	dead := runs[1]
	ask("/runs/"+dead.ID+"/retry", "", "t", http.StatusAccepted)
	s.PutRun(t, webtest.Ended(dead, engine.StatusSucceeded, "done\n"))
	ask("/runs/"+dead.ID+"/retry", "", "u", http.StatusConflict)
	if run := into[wire.Run](ask("/runs/"+dead.ID+"/retry", "", "t", http.StatusAccepted)); run.Status != engine.StatusSucceeded {
		t.Errorf("the retry that came again shows the run as %s", run.Status)
	}
}
