package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// becomeTimeout bounds how long processes are waited for that show no environment: on a busy machine it may take so long
// until one that has just become another program shows it.
const becomeTimeout = 500 * time.Millisecond

// calmLooks is how many looks in a row have to find nothing before nothing is left.
const calmLooks = 3

// killMarked kills all processes whose marker names folder or something below it, and those that they make meanwhile.
// It returns how many there were once none is left, or after timeout.
func killMarked(folder string, timeout time.Duration) (killed int) {
	return killMarkedIf(folder, timeout, func(int) bool { return true })
}

// killMarkedBefore is killMarked for those that began before an instant of clock.
func killMarkedBefore(folder string, timeout, instant time.Duration) {
	killMarkedIf(folder, timeout, func(pid int) bool { return beganBefore(pid, instant) })
}

func killMarkedIf(folder string, timeout time.Duration, wanted func(pid int) bool) (killed int) {
	now := time.Now()
	deadline, patience := now.Add(timeout), now.Add(becomeTimeout)
	calm := 0 // looks in a row that found nothing: while a process becomes another program, one may not see it at all
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		found, unsure := killAndDoubt(folder, func(pid int, _ string) bool { return wanted(pid) })
		killed += found
		now := time.Now()
		calm++
		if found > 0 || unsure > 0 {
			calm = 0
		}
		if calm >= calmLooks || found == 0 && now.After(patience) || now.After(deadline) {
			return killed
		}
		pause(wait) // they take a moment to go, and are counted once more if they have not
	}
}

// killEach kills the processes whose marker names folder or something below it, and for which wanted agrees, and the
// process groups that they lead.
func killEach(folder string, wanted func(folder string) bool) (killed int) {
	killed, _ = killAndDoubt(folder, func(_ int, folder string) bool { return wanted(folder) })
	return killed
}

// killAndDoubt is killEach, and returns how many processes did not show what their environment is.
func killAndDoubt(folder string, wanted func(pid int, folder string) bool) (killed, unsure int) {
	self := os.Getpid()
	for pid := range pids() {
		if pid == self {
			continue
		}
		agree := func(folder string) bool { return wanted(pid, folder) }
		is, known := marked(pid, folder, agree)
		if !known {
			unsure++
		}
		if !is {
			continue
		}
		// The id may have passed on since: what the descriptor stands for is looked at once more.
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if is, known := marked(pid, folder, agree); !known {
			unsure++
		} else if is {
			// Its group may hold some that have cleared their environment. Only a group that it leads is its own.
			if leader, err := unix.Getpgid(pid); err == nil && leader == pid {
				_ = unix.Kill(-pid, unix.SIGKILL) // it may be gone already
				killed++
			} else if unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil {
				killed++
			}
		}
		closeAll(fd)
	}
	return killed, unsure
}

// marked reports whether a process has a marker like that. known is false while it becomes another program (execve): for
// that moment it shows no environment.
func marked(pid int, folder string, wanted func(folder string) bool) (is, known bool) {
	proc := "/proc/" + strconv.Itoa(pid)
	environment, err := os.ReadFile(proc + "/environ")
	if err != nil {
		return false, true // gone, or of another user
	}
	if len(environment) == 0 {
		stat, err := os.ReadFile(proc + "/stat")
		return false, err != nil || bare(stat)
	}
	for variable := range bytes.SplitSeq(environment, []byte{0}) {
		if value, ok := strings.CutPrefix(string(variable), Marker+"="); ok {
			return (value == folder || strings.HasPrefix(value, folder+"/")) && wanted(value), true
		}
	}
	return false, true
}

// bare reports from a process's stat, as in proc_pid_stat(5), whether it has no environment for good: it has ended, it is a
// thread of the kernel, or its environment is empty.
func bare(stat []byte) bool {
	const kernelThread = 0x00200000 // PF_KTHREAD
	// The name, in brackets, may hold anything; then come the third field and those after it.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 49 {
		return true // an old kernel, which does not report it
	}
	flags, _ := strconv.ParseUint(fields[6], 10, 64)
	from, to := fields[47], fields[48]
	return fields[0] == "Z" || fields[0] == "X" || flags&kernelThread != 0 || (from == to && to != "0")
}

// tick is the unit of a process's beginning in its stat: the kernel's USER_HZ is 100 for all programs.
const tick = 10 * time.Millisecond

// beganBefore reports whether a process began before an instant of clock, by a tick at least: its beginning is known to a
// tick only.
func beganBefore(pid int, instant time.Duration) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false // gone
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // as in bare
	if len(fields) < 20 {
		return true
	}
	ticks, err := strconv.ParseInt(fields[19], 10, 64)
	return err != nil || time.Duration(ticks+1)*tick <= instant
}
