package executor

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Filling a work folder with inputs gives away nothing that lies elsewhere and writes nothing elsewhere, though a program
// of the same user exchanges what was made for a link to a file of root's, or to a folder of root's.
func TestInputsFollowNoLink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it needs root, to give files to other users")
	}
	t.Setenv("TMPDIR", "/dev/shm") // where making folders is fast, so that there are many
	for name, link := range map[string]func(outside, file, link string) error{
		"hard link to a file":       func(_, file, link string) error { return os.Link(file, link) },
		"symbolic link to a file":   func(_, file, link string) error { return os.Symlink(file, link) },
		"symbolic link to a folder": func(outside, _, link string) error { return os.Symlink(outside, link) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			outside := filepath.Join(dir, "outside")
			file := filepath.Join(outside, "file")
			if err := errors.Join(os.Mkdir(outside, 0o755), os.WriteFile(file, []byte("root's"), 0o600)); err != nil {
				t.Fatal(err)
			}
			filled, refused := 0, 0
			for end := time.Now().Add(2 * time.Second); time.Now().Before(end); filled++ {
				work := filepath.Join(dir, strconv.Itoa(filled))
				if err := errors.Join(os.Mkdir(work, 0o700), link(outside, file, filepath.Join(work, "l"))); err != nil {
					t.Fatal(err)
				}
				if fillAttacked(t, work) != nil {
					refused++
				}
				ownedByRoot(t, outside, filled)
				ownedByRoot(t, file, filled)
				if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
					t.Fatalf("after %d folders there are %v outside (%v)", filled, entries, err)
				}
				if err := os.RemoveAll(work); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%d folders were filled, %d of these were refused", filled, refused)
			if refused == 0 {
				t.Error("the attacker was never in time: this test has shown nothing")
			}
		})
	}
}

// fillAttacked fills a work folder as bring does, under attack.
func fillAttacked(t *testing.T, work string) error {
	root, err := os.OpenRoot(work)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	descriptor, err := unix.Open(work, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(descriptor)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default: // it is not there yet
				_ = unix.Renameat2(descriptor, "l", descriptor, inputsFolder, unix.RENAME_EXCHANGE)
			}
		}
	}()
	brought := &inbox{root: root, uid: nobody, gid: nobody, made: make(map[string]bool)}
	err = brought.makeFolder(inputsFolder)
	if err == nil {
		err = brought.make(inputsFolder+"/new", func(file *os.File) error { _, err := file.WriteString("handed on"); return err })
	}
	close(stop)
	<-stopped
	return err
}

func ownedByRoot(t *testing.T, path string, filled int) {
	t.Helper()
	var stat syscall.Stat_t
	if err := syscall.Stat(path, &stat); err != nil || stat.Uid != 0 {
		t.Fatalf("after %d folders %s of root's belongs to user %d (%v)", filled, path, stat.Uid, err)
	}
}
