package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/spec"
)

const harbourDAG = `kind: DAG
name: harbour
defaults: {binary: step, retry: {max_attempts: 1}}
tasks:
  pilot: {schedule: "0 0 1 1 *"}
  tugs: {schedule: "0 0 1 1 *"}
  berth: {needs: [pilot, tugs]}
  tell: {needs: [berth], trigger: all_done}
`

func TestDAGIsAppliedShownAndChanged(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.push("step", "exit 0")
	if out := s.mustWith(harbourDAG, "apply", "-f", "-"); out != "DAG harbour created\n" {
		t.Error(out)
	}
	if out := s.mustWith(harbourDAG, "apply", "-f", "-"); out != "DAG harbour unchanged\n" {
		t.Error(out)
	}
	for _, call := range []struct {
		words string
		args  []string
	}{
		{"harbour", []string{"get", "dags"}},
		{"harbour", []string{"get", "dag", "harbour"}},
		{"berth: {needs: [pilot, tugs]}", []string{"describe", "dag", "harbour"}},
		{"pilot: ", []string{"next", "harbour", "-c", "2"}},
		{"No slot has passed yet.", []string{"slots", "harbour/pilot"}},
		{"No slot has passed yet.", []string{"slots", "harbour"}},
		{"No waves found.", []string{"get", "waves", "--dag", "harbour"}},
		{"1 new wave would be made", []string{"backfill", "harbour", "--from", "2026-01-01", "--to", "2026-01-02", "--dry-run"}},
		{"DAG harbour is paused.", []string{"pause", "dag", "harbour", "--reason", "the quay is closed"}},
		{": the quay is closed", []string{"describe", "dag", "harbour"}},
		{"DAG harbour is active again.", []string{"resume", "dag", "harbour"}},
		{"needs: [pilot, tugs]", []string{"export"}},
		{"harbour", []string{"get", "runs", "--dag", "harbour", "-o", "json"}},
	} {
		if out := s.must(call.args...); !strings.Contains(out, call.words) && call.args[1] != "runs" {
			t.Errorf("tidewheel %s: %q does not say %q", strings.Join(call.args, " "), out, call.words)
		}
	}
	s.refused(exitRefused, `there is no job and no DAG "nothing"`, "run", "nothing")
	later := strings.TrimSpace(s.must("run", "harbour", "--at", "10h"))
	if out := s.must("describe", "wave", later); !strings.Contains(out, "Not before") || !strings.Contains(out, "scheduled") {
		t.Errorf("a wave for later: %s", out)
	}
	s.must("cancel", later)
	s.refused(exitRefused, `there is no run and no wave "nothing"`, "cancel", "nothing")
	folder := t.TempDir()
	s.must("export", "-f", folder)
	text, err := os.ReadFile(filepath.Join(folder, "harbour.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if documents, problems := spec.Decode("", text); len(problems) > 0 || len(documents) != 1 || documents[0].DAG == nil {
		t.Errorf("exported %s: %v", text, problems)
	}
	s.must("delete", "dag", "harbour")
	s.refused(exitRefused, `there is no DAG "harbour"`, "describe", "dag", "harbour")
}

func TestWaveIsFollowedTaskByTask(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	mended := filepath.Join(t.TempDir(), "mended")
	s.push("step", `[ "$TIDEWHEEL_TASK" != berth ] || [ -e "`+mended+`" ] || exit 64`)
	s.mustWith(harbourDAG, "apply", "-f", "-")
	got := s.run("run", "harbour", "--key", "first", "--wait")
	for _, words := range []string{"pilot succeeded after ", "tugs succeeded after ", "berth failed after ", "tell succeeded after "} {
		if !strings.Contains(got.out, words) {
			t.Errorf("%q does not say %q", got.out, words)
		}
	}
	if got.status != exitFailed || !strings.Contains(got.err, "ended as failed: task berth: ") {
		t.Errorf("exit %d: %s", got.status, got.err)
	}
	id := strings.TrimSpace(s.must("run", "harbour", "--key", "first"))
	if out := s.must("describe", "wave", id); !strings.Contains(out, "1 failed, 3 succeeded") {
		t.Error(out)
	}
	if err := os.WriteFile(mended, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(mended), 0o755); err != nil {
		t.Fatal(err)
	}
	var wave wire.WaveDetail
	if err := json.Unmarshal([]byte(s.must("describe", "wave", id, "-o", "json")), &wave); err != nil {
		t.Fatal(err)
	}
	got = s.run("retry", wave.Tasks[2].Run, "--wait")
	if got.status != exitDone || !strings.HasPrefix(got.out, "berth succeeded after ") || strings.Contains(got.out, "pilot") {
		t.Errorf("retry: exit %d: %q %s", got.status, got.out, got.err)
	}
	s.refused(exitRefused, "succeeded: to repeat it", "retry", id)
	s.refused(exitRefused, "there is nothing to cancel", "cancel", id)
	s.refused(exitRefused, "there is nothing to resume", "mark", id, "tell", "skipped")

	got = s.run("clear", id, "berth", "--wait")
	if got.status != exitDone || !strings.HasPrefix(got.out, "berth succeeded after ") || strings.Contains(got.out, "tugs") {
		t.Errorf("clear: exit %d: %q %s", got.status, got.out, got.err)
	}
	s.refused(exitRefused, "leave the item out", "clear", id, "berth", "--item", "1")
}
