package chaos

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// disk is a small file system that can be filled, and whose writes can be held up.
type disk struct {
	path      string
	canFreeze bool
}

// newDisk mounts one on a folder, or says why it may not. It is a file system in a file, which can be frozen; where
// there are no loop devices it is one in memory, which cannot.
func newDisk(t *testing.T, path string, megabytes int) (*disk, error) {
	if err := os.MkdirAll(path, 0o711); err != nil {
		return nil, err
	}
	d := &disk{path: path, canFreeze: true}
	image := path + ".disk"
	err := os.WriteFile(image, nil, 0o600)
	if err == nil {
		err = os.Truncate(image, int64(megabytes)<<20)
	}
	for _, command := range [][]string{{"mkfs.ext4", "-q", "-m", "0", image}, {"mount", "-o", "loop", image, path}} {
		if err == nil {
			err = exec.CommandContext(t.Context(), command[0], command[1:]...).Run()
		}
	}
	if err == nil {
		err = errors.Join(os.Remove(filepath.Join(path, "lost+found")), os.Chmod(path, 0o711))
	} else {
		d.canFreeze = false
		err = syscall.Mount("tmpfs", path, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=711", megabytes))
	}
	if err != nil {
		return nil, fmt.Errorf("mount a file system on %s: %w", path, err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", path, err)
		}
	})
	return d, nil
}

func (d *disk) filler() string { return filepath.Join(d.path, ".new-filler") }

// fill leaves no space.
func (d *disk) fill() error {
	file, err := os.Create(d.filler())
	if err != nil {
		return err
	}
	end := int64(0)
	for size := int64(diskSize) << 20; size >= 1; {
		if err = syscall.Fallocate(int(file.Fd()), 0, end, size); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			break
		} else {
			end += size
		}
	}
	if errors.Is(err, syscall.ENOSPC) {
		err = nil
	}
	return errors.Join(err, file.Close())
}

// free releases the space.
func (d *disk) free() error { return os.Remove(d.filler()) }

// The requests that hold up all writes to a file system, and let them continue; linux/fs.h.
const (
	freeze = 0xc0045877
	thaw   = 0xc0045878
)

// stutter holds up writes for up to half a second, again and again until stop.
func (d *disk) stutter(random *rand.Rand, stop <-chan struct{}) error {
	folder, err := os.Open(d.path)
	if err != nil {
		return err
	}
	defer folder.Close()
	control := func(request uintptr) error {
		if _, _, failed := syscall.Syscall(syscall.SYS_IOCTL, folder.Fd(), request, 0); failed != 0 {
			return failed
		}
		return nil
	}
	for {
		if err := control(freeze); err != nil {
			return err
		}
		held := time.After(spell(random, 10*time.Millisecond, 500*time.Millisecond))
		select {
		case <-held:
		case <-stop:
		}
		if err := control(thaw); err != nil {
			return err
		}
		select {
		case <-time.After(spell(random, time.Millisecond, 50*time.Millisecond)):
		case <-stop:
			return nil
		}
	}
}
