package chaos

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// disk is a small file system in memory that can be filled.
type disk struct{ path string }

// newDisk mounts one on a folder, or says why it may not.
func newDisk(t *testing.T, path string, megabytes int) (*disk, error) {
	if err := os.MkdirAll(path, 0o711); err != nil {
		return nil, err
	}
	if err := syscall.Mount("tmpfs", path, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=711", megabytes)); err != nil {
		return nil, fmt.Errorf("mount a file system on %s: %w", path, err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", path, err)
		}
	})
	return &disk{path}, nil
}

func (d *disk) filler() string { return filepath.Join(d.path, ".new-filler") }

// fill writes until nothing is left.
func (d *disk) fill() error {
	file, err := os.Create(d.filler())
	if err != nil {
		return err
	}
	zeros := make([]byte, 1<<20)
	for size := len(zeros); size >= 1; {
		if _, err = file.Write(zeros[:size]); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			break
		}
	}
	if errors.Is(err, syscall.ENOSPC) {
		err = nil
	}
	return errors.Join(err, file.Close())
}

// free gives the space back.
func (d *disk) free() error { return os.Remove(d.filler()) }
