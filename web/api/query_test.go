package api_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// No operation ignores a query parameter that it does not know: a filter with a slip of the pen would match everything.
func TestUnknownQueryParametersAreRefused(t *testing.T) {
	s := newSite(t)
	text, err := s.api.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var described struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &described); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for path, operations := range described.Paths {
		path = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "1")
		for method := range operations {
			asked++
			problem := s.ask(strings.ToUpper(method), path+"?nmespace=a", "").problem(http.StatusBadRequest, "unknown_parameter", `"nmespace"`, "namespace")
			at(t, problem, "query.nmespace")
		}
	}
	if asked < 70 {
		t.Errorf("%d operations were asked", asked)
	}
}

func TestRefusedQueriesNameWhatIsTaken(t *testing.T) {
	s := newSite(t)
	problem := s.ask("GET", "/api/v1/runs?statuss=failed&job=a", "").problem(http.StatusBadRequest, "unknown_parameter", `"statuss"`,
		"use by, cursor, dag, job, limit, namespace, q, since, status, task, tier, until")
	at(t, problem, "query.statuss")
	problem = s.ask("GET", "/api/v1/runs?job=a&job=b", "").problem(http.StatusBadRequest, "invalid_request", "job is given 2 times")
	at(t, problem, "query.job")
	s.ask("GET", "/api/v1/runs?job=%zz", "").problem(http.StatusBadRequest, "invalid_request", "cannot be read")
	s.ask("GET", "/api/v1/runs?status=failed&status=dead&namespace=default", "").is(http.StatusOK)
	s.ask("GET", "/api/v1/version?namespace=default", "").is(http.StatusOK) // clients send it always
	s.ask("POST", "/v1/jobs?at=now", "{}").problem(http.StatusBadRequest, "unknown_parameter", `"at"`)
}
