package process_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tidewheel/tidewheel/executor/process"
)

const (
	pairs       = 16              // of a folder and a link in the folder that is removed
	attackLasts = 2 * time.Second // a removal that follows links fails within a few hundred folders
)

// Removal of a work folder changes nothing outside of it, though a program exchanges folders in it for links meanwhile:
// neither as root nor as a user who may change what is not his, and gives himself permissions first.
func TestRemovalFollowsNoLink(t *testing.T) {
	needRoot(t)
	t.Setenv("TMPDIR", "/dev/shm") // where making folders is fast, so that there are many
	for name, attributes := range map[string]*syscall.SysProcAttr{
		"as root": {},
		"with a capability": {
			Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, AmbientCaps: []uintptr{unix.CAP_FOWNER},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := passable(t)
			outside := filepath.Join(dir, "outside")
			if err := errors.Join(
				os.Chown(dir, nobody, nobody), os.Mkdir(outside, 0o755), os.Chmod(outside, 0o755),
				os.WriteFile(filepath.Join(outside, "file"), []byte("kept"), 0o600),
			); err != nil {
				t.Fatal(err)
			}
			remover := exec.Command("/proc/self/exe", "__remove", dir)
			remover.SysProcAttr = attributes
			output, err := remover.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, output)
			}
			t.Logf("%s", output)
		})
	}
}

// attackRemoval removes work folders while their content is exchanged. It fails where that reaches what is outside.
func attackRemoval(dir string) error {
	host, err := process.Open(process.Config{
		Dir: filepath.Join(dir, "work"), UID: -1, GID: -1, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer host.Close() // what it leaves is below dir
	outside := filepath.Join(dir, "outside")
	removed, exchanged := 0, 0
	for end := time.Now().Add(attackLasts); time.Now().Before(end); removed++ {
		n, err := removeAttacked(host, outside)
		if err != nil {
			return err
		}
		exchanged += n
		info, err := os.Stat(outside)
		if err != nil {
			return err
		}
		if info.Mode().Perm() != 0o755 {
			return fmt.Errorf("after %d removals the folder outside has mode %v", removed, info.Mode())
		}
		if _, err := os.Stat(filepath.Join(outside, "file")); err != nil {
			return fmt.Errorf("after %d removals the file outside is gone: %w", removed, err)
		}
	}
	fmt.Fprintf(os.Stdout, "%d folders were removed, and folders exchanged for links %d times\n", removed, exchanged)
	if exchanged == 0 {
		return errors.New("nothing was exchanged: this test has shown nothing")
	}
	return nil
}

// removeAttacked fills a folder and removes it under attack. It returns how often folders and links were exchanged.
func removeAttacked(host *process.Host, outside string) (exchanged int, err error) {
	folder, err := host.TakeFolder()
	if err != nil {
		return 0, err
	}
	for i := range pairs {
		inner := filepath.Join(folder.Path, "d"+strconv.Itoa(i), "in")
		if err := errors.Join(os.MkdirAll(inner, 0o700), os.Symlink(outside, filepath.Join(folder.Path, "l"+strconv.Itoa(i)))); err != nil {
			return 0, err
		}
	}
	// An ordinary user has to open this one before he can remove it.
	closed := filepath.Join(folder.Path, "closed")
	if err := errors.Join(os.MkdirAll(filepath.Join(closed, "in"), 0o700), os.Chmod(closed, 0)); err != nil {
		return 0, err
	}
	work, err := unix.Open(folder.Path, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(work)
	stop, times := make(chan struct{}), make(chan int)
	go func() { times <- exchangePairs(work, stop) }()
	failed := host.ReturnFolder(folder) != nil // the attacker can make it fail
	close(stop)
	exchanged = <-times
	if failed {
		err = host.ReturnFolder(folder)
	}
	return exchanged, err
}

// exchangePairs is the attacker.
func exchangePairs(work int, stop <-chan struct{}) (times int) {
	for i := 0; ; i = (i + 1) % pairs {
		select {
		case <-stop:
			return times
		default:
			// What is gone cannot be exchanged any more.
			if unix.Renameat2(work, "d"+strconv.Itoa(i), work, "l"+strconv.Itoa(i), unix.RENAME_EXCHANGE) == nil {
				times++
			}
		}
	}
}

// An ordinary user removes folders that a program has closed, also one below the other.
func TestClosedFoldersAreRemovedWithoutRoot(t *testing.T) {
	needRoot(t)
	dir := passable(t)
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	remover := exec.Command("/proc/self/exe", "__closed", dir)
	remover.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if output, err := remover.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
}

// removeClosed is that user.
func removeClosed(dir string) error {
	host, err := process.Open(process.Config{
		Dir: filepath.Join(dir, "work"), UID: -1, GID: -1, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	folder, err := host.TakeFolder()
	if err != nil {
		return err
	}
	inner := filepath.Join(folder.Path, "d", "e")
	if err := errors.Join(
		os.MkdirAll(inner, 0o700), os.WriteFile(filepath.Join(inner, "f"), nil, 0o600),
		os.Chmod(inner, 0), os.Chmod(filepath.Dir(inner), 0), os.Chmod(folder.Path, 0),
	); err != nil {
		return err
	}
	if err := host.ReturnFolder(folder); err != nil {
		return err
	}
	if _, err := os.Lstat(folder.Path); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the folder is still there: %w", err)
	}
	return host.Close()
}
