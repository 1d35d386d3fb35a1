package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockFolder keeps a second executor away, which would take this one's programs for leftovers. The holder of the lock
// removes its file before it releases it.
func lockFolder(dir string) (*os.File, error) {
	for {
		file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("process: lock folder: %w", err)
		}
		locked, err := hold(file)
		if locked {
			return file, nil
		}
		_ = file.Close() // the error says more
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("process: another executor works in %s: give each its own folder", dir)
		}
		if err != nil {
			return nil, fmt.Errorf("process: lock %s: %w", dir, err)
		}
	}
}

// hold locks an open file, and reports whether it still is what its name stands for: one that was removed between the
// opening and the locking excludes no other process.
func hold(file *os.File) (bool, error) {
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return false, err
	}
	ours, err := file.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(file.Name())
	return err == nil && os.SameFile(ours, named), nil
}
