package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
)

func TestRetentionFromTheCommandLine(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.must("namespace", "create", "finance")
	set := decode[wire.Namespace](t, s.must("namespace", "set", "finance", "--retention-age", "48h", "--retention-runs", "7", "-o", "json"))
	if want := (wire.Retention{Age: "48h", Runs: 7}); set.Retention != want {
		t.Fatalf("set %+v", set.Retention)
	}
	set = decode[wire.Namespace](t, s.must("namespace", "set", "finance", "--retention-runs", "0", "-o", "json"))
	if want := (wire.Retention{Age: "48h"}); set.Retention != want {
		t.Errorf("without a number: %+v", set.Retention)
	}
	if text := s.must("namespace", "show", "finance"); !strings.Contains(text, "History kept for  48h") || !strings.Contains(text, "Runs kept         none") {
		t.Errorf("shown:\n%s", text)
	}
	s.refused(exitRefused, "must be at least 1h, not 5m", "namespace", "set", "finance", "--retention-age", "5m")
	s.refused(exitRefused, "--retention-age", "namespace", "set", "finance", "--retention-age", "soon")
	if set := decode[wire.Namespace](t, s.must("namespace", "set", "finance", "--retention-age", "90d", "-o", "json")); set.Retention.Age != "2160h" {
		t.Errorf("90 days are %+v", set.Retention)
	}
	set = decode[wire.Namespace](t, s.must("namespace", "set", "finance", "--retention-age", "0", "--retention-output", "14d", "-o", "json"))
	if want := (wire.Retention{Output: "336h"}); set.Retention != want {
		t.Errorf("without an age, and with one of output: %+v", set.Retention)
	}
	if text := s.must("namespace", "show", "finance"); !strings.Contains(text, "Output kept for   336h") {
		t.Errorf("shown:\n%s", text)
	}
	s.refused(exitRefused, "336h is longer than age, 48h", "namespace", "set", "finance", "--retention-age", "48h")
	s.refused(exitRefused, "--retention-output", "namespace", "set", "finance", "--retention-output", "soon")
	set = decode[wire.Namespace](t, s.must("namespace", "set", "finance", "--retention-output", "0", "-o", "json"))
	if set.Retention != (wire.Retention{}) {
		t.Errorf("without any: %+v", set.Retention)
	}
	if text := s.must("audit"); !strings.Contains(text, "retention of namespace finance") {
		t.Errorf("the audit log does not name the change:\n%s", text)
	}
	path := filepath.Join(t.TempDir(), "hello")
	must(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755))
	s.must("binary", "push", "hello", path, "--alias", "stable", "-n", "finance")
	const job = "kind: Job\nname: kept\nbinary: hello@stable\nretention: {age: 2160h, runs: 1000, output: 336h}\n"
	const dag = "kind: DAG\nname: kept-dag\nretention: {runs: 12}\ntasks:\n  a: {binary: hello@stable}\n"
	s.mustWith(job+"---\n"+dag, "apply", "-n", "finance", "-f", "-")
	exported := s.must("export", "-n", "finance")
	if !strings.Contains(exported, "retention: {age: 2160h, runs: 1000, output: 336h}") || !strings.Contains(exported, "retention: {runs: 12}") {
		t.Errorf("exported:\n%s", exported)
	}
	if text := s.mustWith(exported, "apply", "-n", "finance", "-f", "-"); strings.Contains(text, "changed") && !strings.Contains(text, "unchanged") {
		t.Errorf("an export that is applied changes something:\n%s", text)
	}
}
