package process

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A closed folder is closed under all names that mounts give it, and so are those that show a part of it.
func TestMountsGiveOtherNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mountinfo")
	const lines = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 8:2 / /var rw shared:2 - ext4 /dev/sda2 rw
31 22 8:2 /lib /mnt/the\040copy rw - ext4 /dev/sda2 rw
32 22 8:2 /lib/tidewheel/work /work rw - ext4 /dev/sda2 rw
33 22 8:2 /lib/other /other rw - ext4 /dev/sda2 rw
34 22 8:1 /lib/tidewheel /unlike rw - ext4 /dev/sda1 rw
35 22 0:30 / /sys/fs/cgroup rw shared:4 master:1 - cgroup2 cgroup2 rw
`
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for range 2 { // it is read from its beginning each time
		mounts, err := readMounts(file)
		if err != nil || len(mounts) != 7 || mounts[6].kind != "cgroup2" {
			t.Fatalf("read %+v, %v", mounts, err)
		}
		got := otherNames("/var/lib/tidewheel", mounts)
		if want := []string{"/var/lib/tidewheel", "/mnt/the copy/tidewheel", "/work"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The secret that a link stands for is closed, also one that Kubernetes exchanges later, and one that does not exist yet.
func TestClosedPathsAreResolved(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"etc", "secrets/..2026"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"etc/token", "secrets/..2026/token"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"link": "etc/token", "folder": "etc", "secrets/..data": "..2026", "secrets/token": "..data/token", "dangling": "gone",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"etc/token": "etc/token", "link": "etc/token", "folder": "etc", "folder/token": "etc/token", "folder/new/token": "etc/new/token",
		"secrets/token": "secrets", "dangling": "dangling",
	} {
		if got := resolve(filepath.Join(dir, path)); got != filepath.Join(dir, want) {
			t.Errorf("%s is closed as %s, want %s", path, got, want)
		}
	}
}
