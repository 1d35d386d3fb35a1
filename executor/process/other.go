//go:build !linux

package process

import (
	"errors"
	"io"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// What other systems have in place of Linux's: process groups, and no more.

const wideSize = 64 << 10

func pipe() (read, write int, err error) {
	var ends [2]int
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := unix.Pipe(ends[:]); err != nil {
		return 0, 0, err
	}
	unix.CloseOnExec(ends[0])
	unix.CloseOnExec(ends[1])
	return ends[0], ends[1], nil
}

func widen(int) {}

// openApart makes one pipe for both streams: of two pipes, this system does not say which had output first.
func openApart(stdout, _ io.Writer) (*streams, []int, error) { return openStreams(stdout, nil) }

func readable(int, []int) (int, error) { return 0, nil }

func keepFiles() {}

func attributes(folder *Folder, _ *group) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if folder.UID >= 0 {
		attributes.Credential = &syscall.Credential{Uid: uint32(folder.UID), Gid: uint32(folder.GID)}
	}
	return attributes
}

// awaitExit returns once the program has ended, and leaves it a zombie: the poller of these systems cannot tell, so
// that it asks.
func awaitExit(pid int, _ func()) {
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
		if err != nil || info.Proc.P_stat == zombie {
			return
		}
		pause(wait)
	}
}

const zombie = 5 // SZOMB of sys/proc.h

func maxRSS(usage *syscall.Rusage) int64 { return usage.Maxrss }

func groupLives(int) bool { return true }

func peakMemory(string) int64 { return 0 }

func changeTime(stat *syscall.Stat_t) syscall.Timespec { return stat.Ctimespec }

type groups struct{ memory, cpu bool }

type group struct{}

func openGroups(string) (*groups, error)      { return nil, errors.New("this system has none") }
func (g *groups) path() string                { return "" }
func (g *groups) take(Limits) (*group, error) { return nil, nil }
func (g *groups) put(*group)                  {}
func (g *groups) close()                      {}
func (one *group) kill()                      {}
func (one *group) clear()                     {}
func killGroup(string)                        {}
func removeGroups(string)                     {}

func killMarked(string, time.Duration) int          { return 0 }
func killEach(string, func(folder string) bool) int { return 0 }

// resourceLimits knows only what these systems keep: open files.
func (p *Process) resourceLimits() []resourceLimit {
	if p.limits.Memory > 0 || p.limits.CPU > 0 {
		p.host.log.Warn("this system cannot limit a program's memory or CPU")
	}
	if n := uint64(p.limits.OpenFiles); n > 0 {
		return []resourceLimit{{unix.RLIMIT_NOFILE, n, n}}
	}
	return nil
}

func (p *Process) limitFrom([]resourceLimit) {
	p.host.log.Warn("a limit of a program cannot be set: the executor needs its guardian for it")
}

func (p *Process) watchMemory() {}

func (p *Process) judge(*Exit) {}

// threads start programs as any thread does.
type threads struct{ hides error }

func openThreads() (*threads, error) {
	return &threads{hides: errors.New("this system cannot hide processes")}, nil
}

func (*threads) forkExec(path string, args []string, attributes *syscall.ProcAttr, _ int, before time.Time) (int, error) {
	if late(before) {
		return 0, ErrLate
	}
	return syscall.ForkExec(path, args, attributes)
}
func (*threads) close() {}

// domains are Linux's.
type domains struct{}

var errNoDomains = errors.New("only Linux has Landlock")

func openDomains(*threads, *Config) (*domains, error) { return nil, errNoDomains }
func (*domains) gaps() []string                       { return nil }
func (*domains) share(string) error                   { return nil }
func (*domains) ruleset(string) (int, error)          { return -1, errNoDomains }
func (*domains) close()                               {}

// namespaces are Linux's as well.
type namespaces struct{}

var errNoNamespaces = errors.New("only Linux has namespaces")

// initArgument is no argument of a guardian here.
const initArgument = "init"

func beInit() error { return errNoNamespaces }

func openNamespaces(*threads, *Config, *users) (*namespaces, error) { return nil, errNoNamespaces }
func (*namespaces) gaps() []string                                  { return nil }
func (*namespaces) share(string)                                    {}
func (*namespaces) orders([]resourceLimit, Command) *orders         { return nil }
func (*namespaces) start(*threads, *orders, *Folder, *group, [3]int) (*initProcess, error) {
	return nil, errNoNamespaces
}

type orders struct{}

// initProcess is never started here.
type initProcess struct{ pid int }

// said is what one would say.
type said struct {
	Status syscall.WaitStatus
	CPU    time.Duration
	MaxRSS int64
}

func (*initProcess) ended() (word said, known bool) { return word, false }

// CheckNamespaces reports that only Linux has namespaces.
func CheckNamespaces([]string) error { return errNoNamespaces }

// CheckOwnDomains reports that only Linux has domains.
func CheckOwnDomains() (gaps []string, err error) { return nil, errNoDomains }

// Shield does nothing here.
func Shield() error { return nil }

// CanOwnUsers reports that only Linux gives programs users of their own.
func CanOwnUsers() bool { return false }

func usersLive(int, int) bool                               { return false }
func idsMapped(int, int) bool                               { return false }
func killUser(int, time.Duration)                           {}
func killUsers(int, int, time.Duration, func(int) bool) int { return 0 }
func beganBefore(int, time.Duration) bool                   { return false }

func killMembers(string, time.Duration, time.Duration)      {}
func killMarkedBefore(string, time.Duration, time.Duration) {}

// clock is a time that is the same for all processes of the machine.
func clock() time.Duration { return time.Duration(time.Now().UnixNano()) }
