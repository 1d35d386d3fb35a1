package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The examples are true programs: each DAG runs to the end that it is made for, and its last task says what came of it.
func TestExampleDAGsRun(t *testing.T) {
	root, err := Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(filepath.Dir(binary), "examples")+"/", "./examples/...")
	build.Dir = root
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	server := NewServer(t, binary, "--demo")
	server.Start()
	ctx := t.Context()
	limit := time.After(startLimit)
	for {
		if out, _ := server.Command(ctx, "get", "dags"); strings.Contains(out, "tide-station") { // the last by name
			break
		}
		select {
		case <-limit:
			t.Fatal("the examples are not there")
		case <-time.After(50 * time.Millisecond):
		}
	}
	for _, example := range []struct {
		dag    string
		status int
		ended  []string // tasks, with how they end
		last   string   // whose output is looked at
		words  string
	}{
		{"berth-plan", 0, []string{"arrivals succeeded", "tonnage succeeded", "draught succeeded", "plan succeeded"}, "plan", "east (deep water):  Hoopstad"},
		{"dredging", 1, []string{"dredge failed", "sound upstream_failed", "alarm succeeded", "open succeeded"}, "open", "The north channel is open again"},
		{"port-almanac", 0, []string{"tide succeeded (6 of 6 items succeeded)", "almanac succeeded"}, "almanac", "Heysham"},
		{"tide-station", 0, []string{"load succeeded", "surge succeeded", "bulletin succeeded"}, "bulletin", "up to 0.55 m above its prediction, with wind from the north-west"},
	} {
		t.Run(example.dag, func(t *testing.T) {
			out, status := server.Command(ctx, "run", example.dag, "--key", "e2e", "--wait")
			if status != example.status {
				t.Errorf("exit %d, want %d: %s", status, example.status, out)
			}
			for _, words := range example.ended {
				if !strings.Contains(out, words) {
					t.Errorf("%q does not say %q", out, words)
				}
			}
			id, _ := server.Command(ctx, "run", example.dag, "--key", "e2e")
			if log, _ := server.Command(ctx, "logs", strings.TrimSpace(id)+"-"+example.last); !strings.Contains(log, example.words) {
				t.Errorf("%s printed %q, not %q", example.last, log, example.words)
			}
		})
	}
}
