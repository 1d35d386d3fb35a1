package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
)

// A request that comes again under its key, however late, changes nothing; one with the key of another is refused.
func TestIdempotencyKeyOfEachRequestThatCreates(t *testing.T) {
	s := newSite(t)
	const jobs, dags, binaries = "/api/v1/jobs", "/api/v1/dags", "/api/v1/binaries/tool/versions"
	ask := func(path, body, key string, status int) *answer {
		t.Helper()
		return s.ask("POST", path, body, "Idempotency-Key", key, "Content-Type", contentOf(path)).is(status)
	}
	refuse := func(path, body, key string) {
		t.Helper()
		refused := s.ask("POST", path, body, "Idempotency-Key", key, "Content-Type", contentOf(path)).problem(http.StatusUnprocessableEntity, "key_reused")
		at(t, refused, "header.Idempotency-Key")
	}
	generation := func(path string) int64 {
		t.Helper()
		var found struct {
			Generation int64 `json:"generation"`
		}
		if err := json.Unmarshal(s.ask("GET", path, "").is(http.StatusOK).body, &found); err != nil {
			t.Fatal(err)
		}
		return found.Generation
	}

	ask(binaries, "#!/bin/sh\n1", "v1", http.StatusCreated)
	ask(binaries, "#!/bin/sh\n2", "v2", http.StatusCreated)
	if again := into[wire.Upload](ask(binaries, "#!/bin/sh\n1", "v1", http.StatusOK)); again.Version.N != 1 || !again.Existed {
		t.Errorf("the first upload sent again gives %+v", again)
	}
	refuse(binaries, "#!/bin/sh\n3", "v1")
	if binary := into[wire.Binary](s.ask("GET", "/api/v1/binaries/tool", "").is(http.StatusOK)); len(binary.Versions) != 2 {
		t.Errorf("the binary has %d versions, want 2", len(binary.Versions))
	}

	const job, dag = `{"name":"k","binary":"tool"}`, `{"name":"kd","tasks":{"t":{"binary":"tool"}}}`
	for _, made := range []struct{ path, body, other, name string }{
		{jobs, job, `{"name":"other","binary":"tool"}`, "k"}, {dags, dag, `{"name":"other","tasks":{"t":{"binary":"tool"}}}`, "kd"},
	} {
		ask(made.path, made.body, "create", http.StatusCreated)
		refuse(made.path, made.other, "create")
		at := made.path + "/" + made.name
		edited := strings.Replace(made.body, `"name"`, `"description":"edited","name"`, 1)
		s.ask("PUT", at, edited).is(http.StatusOK)
		ask(made.path, made.body, "create", http.StatusOK) // not refused as another definition
		if got := generation(at); got != 2 {
			t.Errorf("%s is at generation %d after its creation came again, want 2", at, got)
		}
		ask(at+"/restore", `{"generation":1}`, "restore", http.StatusOK)
		s.ask("PUT", at, edited).is(http.StatusOK)
		ask(at+"/restore", `{"generation":1}`, "restore", http.StatusOK)
		refuse(at+"/restore", `{"generation":2}`, "restore")
		if got := generation(at); got != 4 {
			t.Errorf("%s is at generation %d after the restoring came again, want 4", at, got)
		}
	}

	const document = "kind: Job\nname: applied\nbinary: tool\n"
	ask("/api/v1/apply", document, "apply", http.StatusOK)
	s.ask("PUT", jobs+"/applied", `{"binary":"tool","description":"edited"}`).is(http.StatusOK)
	if again := into[wire.Applied](ask("/api/v1/apply", document, "apply", http.StatusOK)); !again.DryRun {
		t.Errorf("applied again it says %+v", again)
	}
	if got := generation(jobs + "/applied"); got != 2 {
		t.Errorf("the job is at generation %d after apply came again, want 2", got)
	}
	refuse("/api/v1/apply", document+"timeout: 1m\n", "apply")

	s.ask("PUT", jobs+"/k", `{"binary":"tool","every":"1h"}`).is(http.StatusOK)
	const span = `"from":"2026-11-20T08:00:00Z","to":"2026-11-20T11:00:00Z"`
	s.ask("POST", jobs+"/k/backfill", `{`+span+`,"dry_run":true}`, "Idempotency-Key", "backfill").is(http.StatusOK)
	s.ask("POST", jobs+"/k/backfill", `{`+span+`}`, "Idempotency-Key", "backfill").is(http.StatusAccepted)
	refuse(jobs+"/k/backfill", `{"from":"2026-11-20T08:00:00Z","to":"2026-11-20T12:00:00Z"}`, "backfill")
}

func contentOf(path string) string {
	switch {
	case strings.HasSuffix(path, "/versions"):
		return "application/octet-stream"
	case strings.HasSuffix(path, "/apply"):
		return "application/yaml"
	}
	return "application/json"
}
