package process

import (
	"os"
	"path/filepath"
	"testing"
)

// Who opens the lock's file just before its holder removes it has nothing: the next one makes another file.
func TestRemovedLockIsNone(t *testing.T) {
	dir := t.TempDir()
	first, err := lockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	late, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if locked, err := hold(late); locked || err == nil {
		t.Errorf("two have the lock: %v, %v", locked, err)
	}
	(&Host{lock: first}).closeFiles()
	if locked, err := hold(late); locked || err != nil {
		t.Errorf("a file that was removed is a lock: %v, %v", locked, err)
	}
	next, err := lockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	(&Host{lock: next}).closeFiles()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left are %v, %v", entries, err)
	}
}
