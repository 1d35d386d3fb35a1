package executor_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// mkfifo makes a pipe by which a test and a program wait for each other, whichever user the program runs as.
func mkfifo(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
}

// reachable makes a folder that programs of any user can reach.
func reachable(t testing.TB) string {
	t.Helper()
	made := t.TempDir()
	for dir := made; dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

func letIn(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) {
	t.Helper()
	if _, err := os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
}
