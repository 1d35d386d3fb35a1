package executor_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
)

// An executor whose folders programs cannot reach uses others, and removes them at its end; one that is refused
// because they are in use leaves them to their owner.
func TestFoldersInTheTemporaryOneAreRemoved(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only an executor that is root runs programs as another user")
	}
	temp := reachable(t)
	closed := filepath.Join(temp, "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	instead := filepath.Join(temp, "temp")
	if err := os.Mkdir(instead, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", instead)
	below := func(config *executor.Config) {
		config.WorkDir, config.CacheDir = filepath.Join(closed, "work"), filepath.Join(closed, "cache")
	}
	count := func() int {
		folders, err := filepath.Glob(filepath.Join(instead, "tidewheel-*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(folders)
	}
	t.Run("executor", func(t *testing.T) {
		r := newRig(t, below)
		if finish := r.run(r.task("exit 0")); finish.Status != engine.StatusSucceeded {
			t.Fatalf("got %+v", finish)
		}
		if n := count(); n != 2 {
			t.Fatalf("there are %d folders, want one for work and one for the cache", n)
		}
		config := executor.Config{ID: "second", Tiers: r.config.Tiers, Slots: 1, Guardian: r.config.Guardian}
		below(&config)
		if err := executor.New(config, newQueue(), newBlobs(), r.logger, nil).Run(t.Context()); err == nil {
			t.Error("two executors work in one folder")
		}
		if finish := r.run(r.task("exit 0")); finish.Status != engine.StatusSucceeded {
			t.Errorf("the first one, after the second was refused: %+v", finish)
		}
	})
	if n := count(); n > 0 {
		t.Errorf("%d folders are left", n)
	}
}
