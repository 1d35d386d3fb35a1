//go:build linux

package process

import "testing"

func TestOwnCgroupIsFound(t *testing.T) {
	const mount = "35 25 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	for name, test := range map[string]struct{ mounts, member, want string }{
		"root":        {mount, "0::/\n", "/sys/fs/cgroup"},
		"service":     {mount, "0::/system.slice/tidewheel.service\n", "/sys/fs/cgroup/system.slice/tidewheel.service"},
		"both":        {"30 25 0:27 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n31 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n36 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", "4:memory:/m\n0::/u\n", "/sys/fs/cgroup/unified/u"},
		"container":   {"35 25 0:30 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/docker/abc\n", "/sys/fs/cgroup"},
		"elsewhere":   {"35 25 0:30 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/other\n", ""},
		"version 1":   {"31 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "4:memory:/m\n", ""},
		"not mounted": {"31 30 0:28 / / rw - ext4 /dev/vda rw\n", "0::/\n", ""},
	} {
		got, err := findGroup(test.mounts, test.member)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, test.want)
		}
	}
}
