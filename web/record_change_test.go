package web_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
)

func (s *site) audit(query string) []wire.AuditEntry {
	s.t.Helper()
	var page wire.List[wire.AuditEntry]
	answer := s.ask("GET", "/api/v1/audit"+query, "", authorization, bearer).is(200)
	if err := json.Unmarshal([]byte(answer.body), &page); err != nil {
		s.t.Fatal(err)
	}
	return page.Items
}

func TestEachChangeIsInTheAuditLogAndNothingElseIs(t *testing.T) {
	s := newSite(t, nil)
	s.PutNamespace(t, "finance")
	ask := func(status int, method, path, body string) {
		t.Helper()
		s.ask(method, path, body, authorization, bearer, "Content-Type", "application/json", "User-Agent", "test/1", "X-Request-ID", "req-1").is(status)
	}
	ask(201, "POST", "/api/v1/binaries/report/versions?namespace=finance", "#!/bin/sh\n")
	ask(201, "POST", "/api/v1/jobs?namespace=finance", `{"name": "nightly", "binary": "report", "schedule": "0 3 * * *"}`)
	ask(200, "PUT", "/api/v1/jobs/nightly?namespace=finance", `{"name": "nightly", "binary": "report", "schedule": "0 4 * * *"}`)
	ask(200, "POST", "/api/v1/jobs/nightly/pause?namespace=finance", `{"reason": "holiday"}`)
	ask(404, "POST", "/api/v1/jobs/nightly/pause", `{}`)
	ask(201, "POST", "/api/v1/jobs/nightly/run?namespace=finance", `{}`)
	ask(204, "DELETE", "/api/v1/jobs/nightly?namespace=finance", "")
	// None of these changes anything.
	ask(200, "GET", "/api/v1/jobs", "")
	ask(200, "POST", "/api/v1/validate?namespace=finance", "kind: Job\nname: a\nbinary: report\n")
	s.ask("POST", "/api/v1/jobs", "{}").is(401)

	entries := s.audit("")
	want := []struct{ action, outcome, changes string }{
		{"DELETE /api/v1/jobs/:name", "done", "[{job nightly generation 2, paused }]"},
		{"POST /api/v1/jobs/:name/run", "done", "[{run  start}]"},
		{"POST /api/v1/jobs/:name/pause", "refused", "[]"},
		{"POST /api/v1/jobs/:name/pause", "done", "[{job nightly generation 2 generation 2, paused}]"},
		{"PUT /api/v1/jobs/:name", "done", "[{job nightly generation 1 generation 2}]"},
		{"POST /api/v1/jobs", "done", "[{job nightly  generation 1}]"},
		{"POST /api/v1/binaries/:name/versions", "done", "[{binary report  version 1, sha256 a8076d3d28d2}]"},
	}
	if len(entries) != len(want) {
		t.Fatalf("%d entries, want %d: %+v", len(entries), len(want), entries)
	}
	for i, e := range entries {
		for k := range e.Changes {
			if change := &e.Changes[k]; change.After == "start" {
				change.What = "run" // its id is drawn
			}
		}
		if e.Action != want[i].action || e.Outcome != want[i].outcome || fmt.Sprint(e.Changes) != want[i].changes {
			t.Errorf("entry %d: %s %s %v, want %v", e.Number, e.Action, e.Outcome, e.Changes, want[i])
		}
		if e.By != "root" || e.Remote != "127.0.0.1" || e.Agent != "test/1" || e.RequestID != "req-1" || e.Number != int64(len(want)-i) || e.At.IsZero() {
			t.Errorf("entry %+v", e)
		}
		if namespace := map[bool]string{true: "default", false: "finance"}[e.Outcome == "refused"]; e.Namespace != namespace {
			t.Errorf("entry %d is of namespace %q, want %q", e.Number, e.Namespace, namespace)
		}
	}
	if some := s.audit("?outcome=refused&by=root&q=PAUSE&in="); len(some) != 1 {
		t.Errorf("%d were refused", len(some))
	}
	if some := s.audit("?in=finance&limit=2"); len(some) != 2 {
		t.Errorf("%d of finance", len(some))
	}

	var check wire.AuditCheck
	if err := json.Unmarshal([]byte(s.ask("GET", "/api/v1/audit/verify", "", authorization, bearer).is(200).body), &check); err != nil || !check.Whole || check.Entries != 7 {
		t.Errorf("checked: %+v, %v", check, err)
	}
	s.ask("GET", "/api/v1/audit?cursor=x", "", authorization, bearer).problem(422, "invalid_cursor")
}

func TestAChangeThatCannotBeRecordedIsInTheServersLog(t *testing.T) {
	s := newSite(t, nil)
	s.ask("POST", "/api/v1/binaries/report/versions", "#!/bin/sh\n", authorization, bearer).is(201)
	s.Store.FailRecords(errors.New("the disk is full"))
	s.ask("POST", "/api/v1/jobs", `{"name": "nightly", "binary": "report"}`, authorization, bearer).is(201)
	for _, words := range []string{"a change is missing in the audit log", "the disk is full", "by=root", "job nightly"} {
		if !strings.Contains(s.log.String(), words) {
			t.Errorf("the log of the server does not say %q", words)
		}
	}
	s.Store.FailRecords(nil)
	if entries := s.audit(""); len(entries) != 1 {
		t.Errorf("%d entries", len(entries))
	}
}
