package process

import (
	"bytes"
	"errors"
	"math"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// wideSize is the size of the pipe of a program that prints much: fewer, larger reads.
const wideSize = 1 << 20

func pipe() (read, write int, err error) {
	var ends [2]int
	err = unix.Pipe2(ends[:], unix.O_CLOEXEC)
	return ends[0], ends[1], err
}

// widen makes the pipe of a program that prints much larger. It fails beyond the system's bound for a user, and all
// continues as before.
func widen(fd int) {
	if size, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0); err == nil && size < wideSize {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, wideSize)
	}
}

// keepFiles makes sure that programs do not inherit what this process has inherited itself, from a shell or a service
// manager that did not close it. What Go opens is not inherited anyway.
func keepFiles() {
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) // Linux before 5.11 cannot
}

func attributes(folder *Folder, group *group) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if folder.UID >= 0 {
		attributes.Credential = &syscall.Credential{Uid: uint32(folder.UID), Gid: uint32(folder.GID)}
	}
	if group != nil {
		attributes.UseCgroupFD, attributes.CgroupFD = true, group.fd
	}
	return attributes
}

// awaitExit returns once the program has ended, and leaves it a zombie. A long wait goes through the runtime's poller,
// so that a thousand programs do not hold a thousand threads; sample is then called from time to time.
func awaitExit(pid int, sample func()) {
	if sample != nil && awaitDescriptor(pid, sample) == nil {
		return
	}
	waitid(pid, 0)
}

func awaitDescriptor(pid int, sample func()) error {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), "pidfd")
	defer file.Close()
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	for wait := short; ; wait = min(2*wait, sampleMost) {
		sample()
		if err := file.SetReadDeadline(time.Now().Add(wait)); err != nil {
			return err
		}
		err := conn.Read(func(uintptr) bool { return waitid(pid, unix.WNOHANG) })
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
	}
}

// waitid reports whether the program has ended.
func waitid(pid, options int) bool {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, options|unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err != nil || info.Signo != 0
		}
	}
}

// sampleMost bounds the time between two looks at a program's memory.
const sampleMost = 5 * time.Second

// ownPeak is the most memory that this process was known to have used, in KiB.
var ownPeak atomic.Int64

// maxRSS returns the most memory that a program had in use, 0 if that is not known. The kernel counts what it finds in
// the address space that an exec replaces; a forked program shares ours until then, so that no program seems to have
// used less than we have. Such a number says nothing.
func maxRSS(usage *syscall.Rusage) int64 {
	if usage.Maxrss <= ownPeak.Load() {
		return 0
	}
	if peak := peakMemory("self") >> 10; usage.Maxrss <= peak {
		ownPeak.Store(peak)
		return 0
	}
	return usage.Maxrss << 10
}

// peakMemory returns the most memory that a living process has had in use, in bytes.
func peakMemory(pid string) int64 {
	data, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(data, []byte("VmHWM:"))
	fields := bytes.Fields(after[:min(len(after), 64)])
	if len(fields) == 0 {
		return 0
	}
	kibibytes, _ := strconv.ParseInt(string(fields[0]), 10, 64) // the kernel writes numbers
	return kibibytes << 10
}

func changeTime(stat *syscall.Stat_t) syscall.Timespec { return stat.Ctim }

// clock is a time that is the same for all processes of the machine, and continues while the machine sleeps.
func clock() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(now.Nano())
}
