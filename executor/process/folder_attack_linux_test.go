package process_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tidewheel/tidewheel/executor/process"
)

const nobody = 65534

// TestJobCannotMakeFilesOfRootItsOwn runs the attack: while root makes work folders for programs of one user, a program
// of that user guesses their names, and exchanges what is in them for links to a file of root's.
func TestJobCannotMakeFilesOfRootItsOwn(t *testing.T) {
	needRoot(t)
	t.Setenv("TMPDIR", "/dev/shm") // where making folders is fast, so that there are many
	dir := passable(t)
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("root's"), 0o600); err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(dir, "made")
	if err := errors.Join(os.WriteFile(made, make([]byte, 4096), 0), os.Chmod(made, 0o666)); err != nil {
		t.Fatal(err)
	}
	number, err := counter(made)
	if err != nil {
		t.Fatal(err)
	}
	host := open(t, process.Config{Dir: filepath.Join(dir, "work"), UID: nobody, GID: nobody})
	first, err := host.TakeFolder()
	if err != nil {
		t.Fatal(err)
	}
	attacker := exec.Command("/proc/self/exe", "__swap", filepath.Dir(first.Path), victim)
	attacker.Stderr = os.Stderr
	attacker.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if err := attacker.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = attacker.Process.Kill()
		_ = attacker.Wait() // it was killed
	}()
	taken := 0
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); taken++ {
		folder, err := host.TakeFolder()
		if err != nil {
			continue // the attacker was faster, and has harmed himself only
		}
		tell(t, number, folder)
		var stat syscall.Stat_t
		if err := syscall.Stat(victim, &stat); err != nil || stat.Uid != 0 {
			t.Fatalf("after %d folders the file of root's belongs to user %d (%v)", taken, stat.Uid, err)
		}
		if err := os.Mkdir(filepath.Join(folder.Path, "used"), 0o700); err != nil { // or it would be used again
			t.Fatal(err)
		}
		if err := host.ReturnFolder(folder); err != nil {
			t.Logf("removing a folder: %v", err)
		}
	}
	t.Logf("%d folders were made", taken)
	last, err := host.TakeFolder()
	if err == nil {
		tell(t, number, last) // folders that could not be made have numbers, too
	}
	for end := time.Now().Add(30 * time.Second); err == nil; {
		if info, err := os.Lstat(last.Temp); err != nil || info.Mode()&os.ModeSymlink != 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the attacker does not even get hold of a folder that stays: this test has shown nothing")
		}
	}
}

// tell stores the number of a folder for the attacker.
func tell(t *testing.T, number *atomic.Uint64, folder *process.Folder) {
	t.Helper()
	n, err := strconv.ParseUint(filepath.Base(folder.Path), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	number.Store(n)
}

// swap is the attacker. To lose no time it reads which folder was made last.
func swap(life, victim string) error {
	dir, err := unix.Open(life, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	made, err := counter(filepath.Join(filepath.Dir(victim), "made"))
	if err != nil {
		return err
	}
	swapped := uint64(0) // the folder in which it was done last: a second time would undo it
	for os.Getppid() != 1 {
		latest := made.Load()
		for n := latest; n <= latest+1; n++ {
			if n == swapped {
				continue
			}
			link, temp := strconv.FormatUint(n, 10)+"/l", strconv.FormatUint(n, 10)+"/tmp"
			for made.Load() == latest {
				if err := unix.Symlinkat(victim, dir, link); err != nil && err != unix.EEXIST {
					if n == latest {
						break
					}
					continue
				}
				if err := unix.Renameat2(dir, link, dir, temp, unix.RENAME_EXCHANGE); err == nil {
					swapped = n
					break
				}
			}
		}
	}
	return nil
}

// counter is a number in a file, for two processes.
func counter(path string) (*atomic.Uint64, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	page, err := unix.Mmap(int(file.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return (*atomic.Uint64)(unsafe.Pointer(&page[0])), nil
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("it needs root, to run programs as other users")
	}
}

// passable is a new folder that all users may pass through.
func passable(t testing.TB) string {
	t.Helper()
	made := t.TempDir()
	for dir := made; dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return made
}
