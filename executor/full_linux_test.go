package executor_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
)

// smallDisk mounts a file system of its own, which a test can fill.
func smallDisk(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root mounts a file system")
	}
	dir := reachable(t)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,nr_inodes=200,mode=0755"); err != nil {
		t.Skipf("this machine mounts no file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fillFiles makes empty files until there is room for only so many, and returns what removes them.
func fillFiles(t *testing.T, dir string, leave int) (empty func()) {
	t.Helper()
	var made []string
	for {
		path := filepath.Join(dir, "full-"+strconv.Itoa(len(made)))
		err := os.WriteFile(path, nil, 0o600)
		if errors.Is(err, syscall.ENOSPC) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, path)
	}
	removed := func(all []string) {
		for _, path := range all {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	removed(made[:leave])
	return func() { removed(made[leave:]) }
}

// fillBytes takes all the bytes, and returns what sets them free.
func fillBytes(t *testing.T, dir string) (empty func()) {
	t.Helper()
	path := filepath.Join(dir, "full")
	if err := os.WriteFile(path, make([]byte, 2<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// What a full disk keeps from beginning is the executor's fault and not the program's: it is handed back, and counts as no failure.
func TestFullDiskHandsAttemptsBack(t *testing.T) {
	wantHandedBack := func(t *testing.T, finish *engine.Finish, words ...string) {
		t.Helper()
		if finish.Status != engine.StatusFailed || !finish.HandedBack || !finish.Unfetched || finish.NoRetry || !finish.StartedAt.IsZero() {
			t.Errorf("%+v, want an attempt that is handed back", finish)
		}
		for _, word := range words {
			if !strings.Contains(finish.Error, word) {
				t.Errorf("%q does not say %q", finish.Error, word)
			}
		}
	}
	wantSucceeds := func(t *testing.T, finish *engine.Finish) {
		t.Helper()
		if finish.Status != engine.StatusSucceeded {
			t.Errorf("with room again: %+v", finish)
		}
	}
	withInput := inWave(engine.Input{Task: "orders", Run: "uid-w1-orders", Attempt: 1, Outputs: []byte(`{"rows": "` + strings.Repeat("5", 8<<10) + `"}`)})

	t.Run("no room for a work folder", func(t *testing.T) {
		disk := smallDisk(t)
		r := newRig(t, func(c *executor.Config) { c.WorkDir = filepath.Join(disk, "work") })
		wantSucceeds(t, r.run(r.task(`echo used > used`))) // its folder is used, so the next attempt needs another one
		for leave := range 3 {                             // a work folder is three
			empty := fillFiles(t, disk, leave)
			wantHandedBack(t, r.run(r.task(`exit 0`)), "executor here cannot make a work folder", "no space left")
			empty()
			if behind, err := filepath.Glob(filepath.Join(r.config.WorkDir, "life-*", "[0-9]*")); err != nil || len(behind) > 0 {
				t.Errorf("with room for %d of a work folder's three: %v %v stay behind", leave, behind, err)
			}
		}
		wantSucceeds(t, r.run(r.task(`exit 0`)))
	})
	t.Run("no room for a program", func(t *testing.T) {
		disk := smallDisk(t)
		r := newRig(t, func(c *executor.Config) { c.CacheDir = filepath.Join(disk, "cache") })
		wantSucceeds(t, r.run(r.task(`exit 0`)))
		empty := fillBytes(t, disk)
		other := r.task("exit 0 # " + strings.Repeat("x", 64<<10)) // larger than what the cache can let go
		wantHandedBack(t, r.run(other), "the disk of executor here is full")
		empty()
		other.Attempt++
		wantSucceeds(t, r.run(other))
	})
	t.Run("no room for what tasks before it have left", func(t *testing.T) {
		disk := smallDisk(t)
		r := newRig(t, func(c *executor.Config) { c.WorkDir = filepath.Join(disk, "work") })
		wantSucceeds(t, r.run(r.task(`exit 0`)))
		empty := fillBytes(t, disk)
		wantHandedBack(t, r.run(r.task(`exit 0`, withInput)), "the disk of executor here is full")
		empty()
		wantSucceeds(t, r.run(r.task(`exit 0`, withInput)))
	})
}
