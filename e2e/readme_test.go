package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The README's first example is followed to the letter: each command, with the shell, in an empty folder.
func TestReadmeCanBeFollowed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	root, err := Root(ctx)
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(readme), "## Your first own job")
	_, block, fenced := strings.Cut(section, "```console\n")
	script, _, closed := strings.Cut(block, "```")
	if !found || !fenced || !closed {
		t.Fatal("the README has no console block below \"Your first own job\"")
	}
	commands := regexp.MustCompile(`(?m)^\$ `).Split(script, -1)[1:]
	if len(commands) < 10 {
		t.Fatalf("the README has only %d commands: %q", len(commands), commands)
	}

	server := NewServer(t, binary)
	server.Start()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary, filepath.Join(folder, "bin", "tidewheel")); err != nil {
		t.Fatal(err)
	}
	printed := map[string]string{}
	for _, text := range commands {
		command := exec.CommandContext(ctx, "bash", "-eu", "-c", text)
		command.Dir = folder
		command.Env = append(os.Environ(), "XDG_STATE_HOME="+server.state, "TIDEWHEEL_URL="+server.URL())
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("$ %s: %v\n%s", text, err, out)
		}
		words := strings.Fields(text)
		printed[strings.Join(words[:min(2, len(words))], " ")] = string(out)
	}
	for command, want := range map[string]string{
		"bin/tidewheel run":  "succeeded",
		"bin/tidewheel get":  "succeeded",
		"bin/tidewheel logs": "attempt 1",
		"bin/tidewheel next": "every 10 seconds",
	} {
		if !strings.Contains(printed[command], want) {
			t.Errorf("%s prints %q, want %q in it", command, printed[command], want)
		}
	}
}
