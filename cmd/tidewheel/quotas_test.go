package main

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// Programs of a namespace that has a bound run so many at a time, also after a restart, and all of them run in the end.
func TestNamespaceRunsNoMoreThanItsQuotaAtATime(t *testing.T) {
	const runs, most = 10, 2
	s := startServer(t, serverConfigFor(t))
	seen := filepath.Join(filepath.Dir(s.config.Data), "seen")
	if err := os.WriteFile(seen, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(seen, 0o666); err != nil { // jobs may run as nobody
		t.Fatal(err)
	}
	s.must("namespace", "create", "finance")
	s.must("namespace", "set", "finance", "--max-running", fmt.Sprint(most))
	s.stop()
	s.start()
	script := filepath.Join(t.TempDir(), "slow")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho + >> "+seen+"\nsleep 0.2\necho - >> "+seen+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.must("binary", "push", "slow", script, "--alias", "stable", "-n", "finance")
	s.mustWith("kind: Job\nname: slow\nbinary: slow@stable\noverlap: allow\n", "apply", "-n", "finance", "-f", "-")
	for range runs {
		s.must("run", "slow", "-n", "finance")
	}
	var lines []string
	until(t, "all have ended", func() bool {
		text, err := os.ReadFile(seen)
		if err != nil {
			t.Fatal(err)
		}
		lines = strings.Fields(string(text))
		return strings.Count(string(text), "-") == runs
	})
	running, highest := 0, 0
	for _, line := range lines {
		running += map[string]int{"+": 1, "-": -1}[line]
		highest = max(highest, running)
	}
	if highest != most {
		t.Errorf("%d ran at a time", highest)
	}
}

func TestQuotasFromTheCommandLine(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.must("namespace", "create", "finance", "--description", "Reports")
	s.must("namespace", "set", "finance", "--max-jobs", "1", "--max-stored", "1KiB", "--max-submits", "2")
	set := decode[wire.Namespace](t, s.must("namespace", "set", "finance", "--max-running", "3", "-o", "json"))
	want := wire.Quota{Jobs: 1, Running: 3, StoredBytes: 1024, SubmitsPerSecond: 2}
	if set.Quota != want || set.Description != "Reports" {
		t.Fatalf("set %+v", set)
	}
	if shown := decode[wire.Namespace](t, s.must("namespace", "set", "finance", "--max-jobs", "0", "-o", "json")); shown.Quota.Jobs != 0 || shown.Quota.Running != 3 {
		t.Errorf("without a bound on jobs: %+v", shown.Quota)
	}
	s.refused(exitRefused, "needs a unit", "namespace", "set", "finance", "--max-stored", "5")
	s.refused(exitRefused, "--max-jobs", "namespace", "set", "finance")
	s.must("namespace", "set", "finance", "--max-jobs", "1")

	script, large := filepath.Join(t.TempDir(), "tool"), filepath.Join(t.TempDir(), "large")
	for path, size := range map[string]int{script: 10, large: 2000} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+strings.Repeat("#", size)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.must("binary", "push", "tool", script, "--alias", "stable", "-n", "finance")
	s.refused(exitRefused, "may store 1004B more", "binary", "push", "large", large, "-n", "finance")
	s.mustWith("kind: Job\nname: one\nbinary: tool@stable\n", "apply", "-n", "finance", "-f", "-")
	s.refusedWith("kind: Job\nname: two\nbinary: tool@stable\n", exitRefused, "has 1 jobs and DAGs, and may have 1", "apply", "-n", "finance", "-f", "-")
	shown := decode[wire.Namespace](t, s.must("namespace", "show", "finance", "-o", "json"))
	if shown.Usage.Jobs != 1 || shown.Usage.StoredBytes != 20 {
		t.Errorf("in use: %+v", shown.Usage)
	}
	text := s.must("namespace", "show", "finance")
	if !strings.Contains(text, "jobs and DAGs        1        1") || !strings.Contains(text, "20 B     1.0 KiB") {
		t.Errorf("shown:\n%s", text)
	}
	if text := s.must("namespace", "ls"); !strings.Contains(text, "20 B/1.0 KiB") {
		t.Errorf("listed:\n%s", text)
	}

	var last *http.Response
	for range 3 {
		last = s.post(t, "/api/v1/jobs/one/run?namespace=finance")
	}
	if last.StatusCode != http.StatusTooManyRequests || last.Header.Get("Retry-After") != "1" {
		t.Errorf("the third run within a second: %d, Retry-After %q", last.StatusCode, last.Header.Get("Retry-After"))
	}
}

// post sends an empty request with the server's token.
func (s *testServer) post(t *testing.T, path string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL()+path, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.server.token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close() // only its head is looked at
	return answer
}

func TestEnginesHaveEqualPartsOfABound(t *testing.T) {
	for _, test := range []struct {
		engines, leaving, part int
	}{{0, 0, 20}, {1, 0, 20}, {3, 0, 7}, {3, 1, 10}, {30, 0, 1}} {
		engines := make([]engine.EnginePresence, test.engines)
		for i := range test.leaving {
			engines[i].Leaving = true
		}
		if got := partOf(map[string]int{"finance": 20}, engines); !maps.Equal(got, map[string]int{"finance": test.part}) {
			t.Errorf("%d engines, %d of them leaving: %v", test.engines, test.leaving, got)
		}
	}
}
