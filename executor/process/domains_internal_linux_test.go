package process

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What is closed is closed where a mount shows it again, and the cgroups of the system can only be read.
func TestMountsOfWhatIsClosedAreNotGranted(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"data", "mounts/data", "mounts/other", "cgroup"} {
		if err := os.MkdirAll(at(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lines := fmt.Sprintf("1 0 8:1 / / rw - ext4 disk rw\n2 1 8:1 %s %s rw - ext4 disk rw\n3 1 0:9 / %s rw - cgroup2 cgroup2 rw\n",
		at("data"), at("mounts/data"), at("cgroup"))
	if err := os.WriteFile(at("mountinfo"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &domains{closed: []string{at("data")}, log: slog.New(slog.DiscardHandler)}
	d.rights, d.scopes = handledBy(referABI)
	if d.mounts, err = os.Open(at("mountinfo")); err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if err := d.list(); err != nil {
		t.Fatal(err)
	}
	granted := make(map[string]uint64)
	for _, one := range d.rules {
		path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", one.fd))
		if err != nil {
			t.Fatal(err)
		}
		granted[path] = one.rights
		for _, closed := range []string{at("data"), at("mounts/data")} {
			if _, below := relative(path, closed); below {
				t.Errorf("a rule for %s opens %s", path, closed)
			}
		}
	}
	if granted[at("mounts/other")] != d.rights {
		t.Errorf("what lies beside a mount is not granted: %v", granted)
	}
	if rights := granted[at("cgroup")]; rights != unix.LANDLOCK_ACCESS_FS_READ_FILE|unix.LANDLOCK_ACCESS_FS_READ_DIR {
		t.Errorf("the cgroups are granted %x", rights)
	}
}

// A folder that has changed just before it was listed may change again within the same tick of its file system's clock.
func TestFolderThatWasListedAsItChangedIsListedAgain(t *testing.T) {
	dir := t.TempDir()
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	defer mounts.Close()
	for after, want := range map[time.Duration]bool{fresh / 2: false, 2 * fresh: true} {
		d := &domains{mounts: mounts, above: map[string]time.Time{dir: info.ModTime()}, listed: info.ModTime().Add(after)}
		if got := d.current(); got != want {
			t.Errorf("listed %v after its change, it is current: %t", after, got)
		}
	}
}

// Kernels that know less of Landlock get rules that they take.
func TestRulesAreThoseOfTheKernel(t *testing.T) {
	newest, err := landlockABI()
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for abi := 1; abi <= newest; abi++ {
		d := &domains{closed: []string{dir}, readable: []string{"/bin/sh"}, log: slog.New(slog.DiscardHandler)}
		d.rights, d.scopes = handledBy(abi)
		if d.mounts, err = os.Open("/proc/self/mountinfo"); err != nil {
			t.Fatal(err)
		}
		set, err := d.ruleset(dir)
		if err != nil {
			t.Errorf("version %d: %v", abi, err)
		}
		closeAll(set)
		d.close()
	}
}
