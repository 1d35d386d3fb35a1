package process_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/tidewheel/tidewheel/executor/process"
)

// An Open that is refused leaves nothing that it has made, and nothing of another one is touched.
func TestRefusedOpenLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "work")
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	refused := process.Config{Dir: dir, UID: -1, GID: -1, Guardian: []string{"/nonexistent/guardian"}, Logger: log}
	if _, err := process.Open(refused); err == nil {
		t.Fatal("it opened without a guardian")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		entries, _ := os.ReadDir(dir)
		t.Errorf("the folder is still there, with %v", entries)
	}

	host, err := process.Open(process.Config{Dir: dir, UID: -1, GID: -1, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := process.Open(process.Config{Dir: dir, UID: -1, GID: -1, Logger: log}); err == nil {
		t.Error("a second one opened on the same folder")
	}
	if _, err := process.Open(process.Config{Dir: dir, UID: -1, GID: -1, Logger: log}); err == nil {
		t.Error("a third one opened: the second took the lock with it")
	}
	if err := host.Close(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("a closed one has left %v, %v", entries, err)
	}
}
