package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// threads start the programs of a Host. Much of what confines a program is inherited from the thread that starts it: so
// it is done to these few threads, once, instead of to each program, which would need a process more.
//
// No program gains privileges (set-user-id files, file capabilities), and none has the executor's. Where the executor may
// mount, each has a /proc that does not show the processes of other users.
type threads struct {
	starts  chan start
	closed  chan struct{}
	workers sync.WaitGroup
	// hides reports why programs see the processes of other users; nil if they do not.
	hides error
	mount *os.File // the mount namespace of all threads; nil: the executor's own
}

// start is a program to start.
type start struct {
	path       string
	args       []string
	attributes *syscall.ProcAttr
	domain     int // the Landlock ruleset of a domain of its own; negative: none
	before     time.Time
	started    chan<- started
}

type started struct {
	pid int
	err error
}

func openThreads() (*threads, error) {
	t := &threads{starts: make(chan start), closed: make(chan struct{})}
	ready := make(chan error)
	// Each is held by the kernel until its child has become the program.
	for range max(4, 2*runtime.GOMAXPROCS(0)) {
		t.workers.Go(func() { t.work(ready) })
		if err := <-ready; err != nil {
			t.close()
			return nil, fmt.Errorf("process: prepare a thread that starts programs: %w", err)
		}
	}
	return t, nil
}

// work is the life of a thread. It ends with its goroutine, as no other goroutine could use it. A thread that has started a
// program in a domain is in that domain, too: another one takes its place. ready, if there is one, gets how it began.
func (t *threads) work(ready chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// The main thread stands for the whole process under /proc, and stays as it is: another one does the work.
		t.workers.Go(func() { t.work(ready) })
		<-t.closed
		runtime.UnlockOSThread()
		return
	}
	confined := t.confine()
	if ready != nil {
		ready <- confined
		if confined != nil {
			return
		}
	}
	for one := range t.starts {
		err := confined
		if err == nil && one.domain >= 0 {
			err = restrict(one.domain)
		}
		if err != nil {
			one.started <- started{err: err}
			continue
		}
		if one.domain >= 0 {
			t.workers.Go(func() { t.work(nil) })
		}
		if late(one.before) {
			one.started <- started{err: ErrLate}
		} else {
			pid, err := syscall.ForkExec(one.path, one.args, one.attributes)
			one.started <- started{pid, err}
		}
		if one.domain >= 0 {
			return
		}
	}
}

// confine does to the calling thread what the programs that it starts inherit.
func (t *threads) confine() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	// A service manager may have given the executor some to keep; kernels before 4.3 know none.
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("clear capabilities: %w", err)
	}
	if t.mount == nil && t.hides == nil {
		t.hides = t.hide()
		return nil
	}
	if t.mount != nil {
		// To join one, a thread must have a working directory of its own.
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return fmt.Errorf("join mount namespace: %w", err)
		}
		if err := unix.Setns(int(t.mount.Fd()), unix.CLONE_NEWNS); err != nil {
			return fmt.Errorf("join mount namespace: %w", err)
		}
	}
	return nil
}

// hide puts a /proc that does not show the processes of other users in the place of the system's, in a mount namespace
// of the calling thread. Where that fails the thread is as it was, but for a namespace that shows all.
func (t *threads) hide() error {
	if !hasCapabilities(1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_SYS_CHROOT) {
		return errors.New("it needs CAP_SYS_ADMIN to make a mount namespace, and CAP_SYS_CHROOT to join it")
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("no mount namespace: %w", err)
	}
	// What the system mounts later is seen; what is mounted here is not seen elsewhere.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("no mount namespace of its own: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "hidepid=2"); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if !procHides() {
		return errors.New("the kernel does not hide processes in a /proc of its own: it needs Linux 5.8")
	}
	mount, err := os.Open("/proc/thread-self/ns/mnt")
	if err != nil {
		return err
	}
	t.mount = mount
	return nil
}

// procHides reports whether the uppermost /proc that the calling thread sees hides processes.
func procHides() bool {
	mounts, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return false
	}
	hides := false
	for line := range bytes.Lines(mounts) {
		if fields := bytes.Fields(line); len(fields) > 4 && string(fields[4]) == "/proc" { // the last one counts
			hides = bytes.Contains(line, []byte("hidepid=invisible")) || bytes.Contains(line, []byte("hidepid=2"))
		}
	}
	return hides
}

// forkExec is syscall.ForkExec on one of the threads, in a domain with that ruleset if it is not negative; ErrLate if it comes to that too
// late.
func (t *threads) forkExec(path string, args []string, attributes *syscall.ProcAttr, domain int, before time.Time) (int, error) {
	result := make(chan started, 1)
	t.starts <- start{path, args, attributes, domain, before, result}
	got := <-result
	return got.pid, got.err
}

func (t *threads) close() {
	if t == nil {
		return
	}
	close(t.starts)
	close(t.closed)
	t.workers.Wait()
	if t.mount != nil {
		_ = t.mount.Close() // it was only read
	}
}
