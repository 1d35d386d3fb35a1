package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// killMarked kills all processes whose marker names folder or something below it, and those that they make meanwhile.
// It returns how many there were once none is left, or after timeout.
func killMarked(folder string, timeout time.Duration) (killed int) {
	deadline := time.Now().Add(timeout)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		found := killEach(folder, func(string) bool { return true })
		killed += found
		if found == 0 || time.Now().After(deadline) {
			return killed
		}
		pause(wait) // they take a moment to go, and are counted once more if they have not
	}
}

// killEach kills the processes whose marker names folder or something below it, and for which wanted agrees.
func killEach(folder string, wanted func(folder string) bool) (killed int) {
	self := os.Getpid()
	for pid := range pids() {
		if pid == self || !marked(pid, folder, wanted) {
			continue
		}
		// The id may have passed on since: what the descriptor stands for is looked at once more.
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if marked(pid, folder, wanted) && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil {
			killed++
		}
		closeAll(fd)
	}
	return killed
}

func marked(pid int, folder string, wanted func(folder string) bool) bool {
	environment, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false // gone, or somebody else's
	}
	for variable := range bytes.SplitSeq(environment, []byte{0}) {
		if value, ok := strings.CutPrefix(string(variable), Marker+"="); ok {
			return (value == folder || strings.HasPrefix(value, folder+"/")) && wanted(value)
		}
	}
	return false
}
