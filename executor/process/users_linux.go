package process

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// idsMapped reports whether all these users and groups exist in the user namespace that this process is in.
func idsMapped(first, count int) bool {
	return inMap("/proc/self/uid_map", first, count) && inMap("/proc/self/gid_map", first, count)
}

// inMap reads user_namespaces(7): lines of the first id inside, the first outside, and how many.
func inMap(path string, first, count int) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		from, _ := strconv.Atoi(fields[0]) // the kernel writes numbers
		size, _ := strconv.Atoi(fields[2])
		if first >= from && first+count <= from+size {
			return true
		}
	}
	return false
}

// userLives reports whether a process runs as that user. It costs next to nothing where none does.
func userLives(uid int) bool {
	_, err := unix.Getpriority(unix.PRIO_USER, uid)
	return !errors.Is(err, unix.ESRCH)
}

// usersLive reports whether a process runs as one of these users.
func usersLive(first, count int) bool {
	for pid := range pids() {
		if runsAs(pid, first, count) {
			return true
		}
	}
	return false
}

// CanOwnUsers reports whether this process may run programs as users of their own: it is root, or its service manager
// has given it the capabilities to change users, to reach and give away their files, and to end their programs.
func CanOwnUsers() bool {
	const needed = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID
	return os.Geteuid() == 0 || hasCapabilities(needed)
}

// hasCapabilities reports whether this process has all of some capabilities, which are bits.
func hasCapabilities(needed uint32) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return false
	}
	return sets[0].Effective&needed == needed
}

// killUser kills all that runs as a user that only one program has. Unlike groups and markers, nothing can leave it:
// programs gain no privileges.
func killUser(uid int, timeout time.Duration) {
	if userLives(uid) {
		killUsers(uid, 1, timeout, anyProcess)
	}
}

// killUsers kills all that runs as one of these users and is wanted, and what it makes meanwhile. It returns how many
// there were once none is left, or after timeout.
func killUsers(first, count int, timeout time.Duration, wanted func(pid int) bool) (killed int) {
	deadline := time.Now().Add(timeout)
	for wait := 100 * time.Microsecond; count > 0; wait = min(2*wait, 10*time.Millisecond) {
		found := 0
		for pid := range pids() {
			if runsAs(pid, first, count) && wanted(pid) && killIf(pid, func() bool { return runsAs(pid, first, count) }) {
				found++
			}
		}
		if killed += found; found == 0 || time.Now().After(deadline) {
			break
		}
		pause(wait) // they take a moment to go, and are counted once more if they have not
	}
	return killed
}

// killIf kills a process that still is what it was taken for: its id may have passed on since.
func killIf(pid int, still func() bool) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer closeAll(fd)
	return still() && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
}

// runsAs reports whether a process that has not ended yet runs as one of these users. The owner of its folder under
// /proc does not show it: a process can give that to root.
func runsAs(pid, first, count int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false // gone
	}
	if state := statusField(status, "State:"); len(state) == 0 || state[0] == "Z" || state[0] == "X" {
		return false
	}
	ids := statusField(status, "Uid:")
	if len(ids) == 0 {
		return false
	}
	uid, err := strconv.Atoi(ids[0])
	return err == nil && uid >= first && uid < first+count
}

// statusField reads a line of proc_pid_status(5). The name of the program comes first in it and holds no newline.
func statusField(status []byte, name string) []string {
	_, line, found := bytes.Cut(status, []byte("\n"+name))
	if !found {
		return nil
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	return strings.Fields(string(line))
}
