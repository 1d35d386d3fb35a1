package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Command is a program to start.
type Command struct {
	Path   string   // of the file to execute; absolute
	Args   []string // with the program's own name first
	Env    []string // the whole environment
	Folder *Folder
	Stdin  []byte // what the program may read; nil for nothing at all
	Limits Limits
}

// Limits bound a program; zero is no limit.
type Limits struct {
	Memory    int64         // bytes
	CPU       float64       // cores
	Time      time.Duration // what the program may last; turns CPU into seconds where there is no cgroup
	OpenFiles int
}

// Exit is how a program ended.
type Exit struct {
	Code   int            // of a program that ended by itself
	Signal syscall.Signal // of one that was killed, else 0
	CPU    time.Duration  // user and system
	MaxRSS int64          // bytes; 0 if it is not known
	Over   Over           // the limit that ended it
}

// Over is a limit that was passed.
type Over uint8

// The limits that can end a program.
const (
	OverNone Over = iota
	OverMemory
	OverCPU
)

const (
	// short is how long a program may live before it gets a watcher of its own. Most live shorter, and need none.
	short = 20 * time.Millisecond
	// The output of a program that has ended is awaited so long, before and after what keeps it open was killed.
	drainFirst = 50 * time.Millisecond
	drainLast  = 2 * time.Second
	// readSize is what is read at once.
	readSize = 128 << 10
	// busyTries bounds how often a file that is still open for writing somewhere is tried again.
	busyTries = 60
)

// Process is a program that was started. Wait must be called, once.
type Process struct {
	host   *Host
	pid    int
	folder *Folder
	group  *group // nil without cgroups
	limits Limits
	out    *os.File
	sink   io.Writer
	input  sync.WaitGroup // who writes to the program
	began  time.Time

	watched bool          // its memory is watched
	watch   chan struct{} // closed to end that; nil without it
	watchs  sync.WaitGroup

	mu     sync.Mutex
	gone   bool // nothing may be signalled any more: the ids may be somebody else's soon
	killed bool
	told   bool // the guardian knows of it
	over   Over
	peak   int64 // memory in use, as far as it was looked at
}

// sample looks at the memory that the program has used so far: at its end it cannot always be told.
func (p *Process) sample() {
	peak := peakMemory(strconv.Itoa(p.pid))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.peak = max(p.peak, peak)
}

// Start starts a program. What it prints goes to sink, from the goroutine that calls Wait.
func (h *Host) Start(command Command, sink io.Writer) (_ *Process, err error) {
	p := &Process{host: h, folder: command.Folder, limits: command.Limits, sink: sink}
	if p.group, err = h.groups.take(command.Limits); err != nil {
		return nil, fmt.Errorf("process: make cgroup: %w", err)
	}
	in, feed, err := h.stdin(command.Stdin)
	if err != nil {
		h.groups.put(p.group)
		return nil, fmt.Errorf("process: make pipe: %w", err)
	}
	read, write, err := pipe()
	if err != nil {
		h.groups.put(p.group)
		h.closeInput(in, feed)
		return nil, fmt.Errorf("process: make pipe: %w", err)
	}
	_ = unix.SetNonblock(read, true) // cannot fail on a pipe; the program's end stays as it is
	h.enter(p.folder)
	attributes := &syscall.ProcAttr{
		Dir: command.Folder.Path, Env: command.Env,
		Files: []uintptr{uintptr(in), uintptr(write), uintptr(write)},
		Sys:   h.attributes(p.group),
	}
	wanted, report := p.resourceLimits(), -1
	if len(wanted) > 0 && len(h.config.Guardian) > 0 {
		p.pid, report, err = h.forkLimited(wanted, command, attributes)
	} else {
		p.pid, err = fork(command, attributes)
	}
	closeAll(write)
	h.closeInput(in, nil)
	if err == nil && report >= 0 {
		if err = awaitShim(report); err != nil {
			_, _ = syscall.Wait4(p.pid, nil, 0, nil) // it ends at once
			err = &StartError{Path: command.Path, Err: err}
		}
	}
	if err != nil {
		h.leave(p.folder)
		h.groups.put(p.group)
		closeAll(read)
		if feed != nil {
			_ = feed.Close() // nobody reads
		}
		return nil, err
	}
	p.began = time.Now()
	p.out = os.NewFile(uintptr(read), "output")
	if feed != nil {
		p.input.Go(func() {
			_, _ = feed.Write(command.Stdin) // a program need not read
			_ = feed.Close()
		})
	}
	if len(wanted) > 0 && report < 0 {
		p.limitFrom(wanted)
	}
	if p.watched {
		p.watch = make(chan struct{})
		p.watchs.Go(p.watchMemory)
	}
	return p, nil
}

// fork starts the program.
func fork(command Command, attributes *syscall.ProcAttr) (pid int, err error) {
	err = retryBusy(func() error {
		pid, err = syscall.ForkExec(command.Path, command.Args, attributes)
		return err
	})
	if err != nil {
		return 0, &StartError{Path: command.Path, Err: err}
	}
	return pid, nil
}

// forkLimited starts the program by way of the shim; what comes from report tells how that goes on.
func (h *Host) forkLimited(limits []resourceLimit, command Command, attributes *syscall.ProcAttr) (pid, report int, err error) {
	path, arguments, err := h.shim(limits, command)
	if err != nil {
		return 0, -1, err
	}
	report, write, err := pipe()
	if err != nil {
		return 0, -1, fmt.Errorf("process: make pipe: %w", err)
	}
	defer closeAll(write)
	attributes.Files = append(attributes.Files, uintptr(write))
	if pid, err = fork(Command{Path: path, Args: arguments}, attributes); err != nil {
		closeAll(report)
		return 0, -1, err
	}
	return pid, report, nil
}

// retryBusy starts a program again that is busy. A file that was just written may still be open in a child of this
// process that has not come to its exec: such a file is busy for moments.
func retryBusy(start func() error) error {
	wait := 200 * time.Microsecond
	for try := 1; ; try++ {
		err := start()
		if !errors.Is(err, syscall.ETXTBSY) || try == busyTries {
			return err
		}
		pause(wait)
		wait = min(2*wait, 20*time.Millisecond)
	}
}

// closeAll closes descriptors of pipes and folders, which cannot fail in a way that matters.
func closeAll(descriptors ...int) {
	for _, fd := range descriptors {
		_ = unix.Close(fd)
	}
}

// StartError says why the system did not start a program.
type StartError struct {
	Path string
	Err  error // a syscall.Errno
}

func (e *StartError) Error() string { return fmt.Sprintf("process: start %s: %v", e.Path, e.Err) }

// Unwrap gives the system's error.
func (e *StartError) Unwrap() error { return e.Err }

// stdin gives the file descriptor that the program reads from, and, if it does not hold all of the input, the file to
// write it to.
func (h *Host) stdin(input []byte) (in int, feed *os.File, err error) {
	if input == nil {
		return int(h.null.Fd()), nil, nil
	}
	read, write, err := pipe()
	if err != nil {
		return 0, nil, err
	}
	// What fits into the pipe needs nobody to wait for the program to read it.
	if len(input) <= unixPipeSize {
		_ = unix.SetNonblock(write, true) // cannot fail on a pipe
		if n, err := unix.Write(write, input); err == nil && n == len(input) {
			closeAll(write)
			return read, nil, nil
		} else if n > 0 {
			closeAll(read, write)
			if read, write, err = pipe(); err != nil {
				return 0, nil, err
			}
		}
	}
	_ = unix.SetNonblock(write, true) // so that closing it ends a write
	return read, os.NewFile(uintptr(write), "input"), nil
}

const unixPipeSize = 64 << 10

func (h *Host) closeInput(in int, feed *os.File) {
	if in != int(h.null.Fd()) {
		closeAll(in)
	}
	if feed != nil {
		_ = feed.Close() // nobody reads
	}
}

// Started tells when the program was started.
func (p *Process) Started() time.Time { return p.began }

// Signal sends a signal to the program's process group. After the program's end it does nothing.
func (p *Process) Signal(signal syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		_ = syscall.Kill(-p.pid, signal) // it may be gone already
	}
}

// Kill ends the program and all that it has started.
func (p *Process) Kill() { p.kill(OverNone) }

func (p *Process) kill(over Over) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return
	}
	if over != OverNone && !p.killed {
		p.over = over
	}
	p.killed = true
	_ = syscall.Kill(-p.pid, syscall.SIGKILL) // it may be gone already
	if p.group != nil {
		p.group.kill()
	}
}

// Wait reads what the program prints until it and all that it has started are gone.
func (p *Process) Wait() Exit {
	var ended chan struct{}
	reader, err := p.out.SyscallConn()
	if err == nil {
		_ = p.out.SetReadDeadline(p.began.Add(short)) // pipes have deadlines
	}
	for killed := false; err == nil; {
		err = p.read(reader)
		switch {
		case err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded):
		case ended == nil:
			ended = make(chan struct{})
			err = p.out.SetReadDeadline(time.Time{})
			p.announce()
			go p.awaitEnd(ended)
		case !killed && p.group == nil:
			// Somebody keeps the output open who has left the group.
			killed, err = true, p.out.SetReadDeadline(time.Now().Add(drainLast))
			killMarked(p.folder.Path, settleTimeout)
		default:
			p.readRest(reader)
		}
	}
	if ended != nil {
		<-ended
	} else {
		awaitExit(p.pid, nil)
		p.end()
	}
	_ = p.out.Close() // it was only read
	return p.reap()
}

// awaitEnd waits for the program beside the reader, because what it has started may keep the output open.
func (p *Process) awaitEnd(ended chan struct{}) {
	defer close(ended)
	awaitExit(p.pid, p.sample)
	p.end()
	wait := drainLast
	if p.group == nil {
		wait = drainFirst
	}
	_ = p.out.SetReadDeadline(time.Now().Add(wait)) // fails only if the reader has finished
}

// announce tells the guardian of a program that lives longer. In a cgroup it need not know.
func (p *Process) announce() {
	if p.host.guardian == nil || p.group != nil {
		return
	}
	p.told = true
	p.host.guardian.began(p.pid)
}

// end kills what the program has left behind. The program itself is a zombie still, so that its id and its group's
// are nobody else's.
func (p *Process) end() {
	p.mu.Lock()
	_ = syscall.Kill(-p.pid, syscall.SIGKILL) // the zombie, at least
	p.gone = true
	killed := p.killed
	p.mu.Unlock()
	if p.told {
		p.host.guardian.gone(p.pid)
	}
	if p.group != nil {
		p.group.clear()
	} else if killed {
		killMarked(p.folder.Path, settleTimeout)
	}
}

// reap takes the program's last words from the system.
func (p *Process) reap() Exit {
	if p.watch != nil {
		close(p.watch)
		p.watchs.Wait()
	}
	var status syscall.WaitStatus
	var usage syscall.Rusage
	for {
		if _, err := syscall.Wait4(p.pid, &status, 0, &usage); err != syscall.EINTR {
			break
		}
	}
	p.settle()
	// The readers of its input are dead, so that this ends.
	p.input.Wait()
	p.host.leave(p.folder)
	exit := Exit{
		Code:   status.ExitStatus(),
		CPU:    time.Duration(usage.Utime.Nano() + usage.Stime.Nano()),
		MaxRSS: max(maxRSS(&usage), p.peak),
		Over:   p.over,
	}
	if status.Signaled() {
		exit.Code, exit.Signal = 0, status.Signal()
	}
	p.judge(&exit)
	p.host.groups.put(p.group)
	return exit
}

// settle waits until nothing lives in the process group: killed processes take a moment to go.
func (p *Process) settle() {
	if p.group != nil {
		return // clear has waited for more
	}
	var waited time.Duration
	for wait := 50 * time.Microsecond; syscall.Kill(-p.pid, 0) == nil && waited < settleTimeout; wait = min(2*wait, 10*time.Millisecond) {
		// Zombies count as members until somebody buries them, which may take long.
		if waited > time.Millisecond && !groupLives(p.pid) {
			return
		}
		pause(wait)
		waited += wait
	}
}

var buffers = sync.Pool{New: func() any { return new([readSize]byte) }}

// read waits for output and passes on what there is. It holds a buffer only while there is something to read: most
// long programs are silent.
func (p *Process) read(reader syscall.RawConn) error {
	var failed error
	err := reader.Read(func(fd uintptr) bool {
		buffer := buffers.Get().(*[readSize]byte)
		defer buffers.Put(buffer)
		n, err := unix.Read(int(fd), buffer[:])
		for err == unix.EINTR {
			n, err = unix.Read(int(fd), buffer[:])
		}
		switch {
		case err == unix.EAGAIN:
			return false
		case err != nil:
			failed = err
		case n == 0:
			failed = io.EOF
		default:
			if n >= unixPipeSize {
				p.widen(int(fd))
			}
			_, _ = p.sink.Write(buffer[:n]) // a sink that fails has said so elsewhere; the program goes on
		}
		return true
	})
	if err != nil {
		return err
	}
	return failed
}

// readRest takes what is in the pipe although somebody still holds it, and gives up then.
func (p *Process) readRest(reader syscall.RawConn) {
	_ = reader.Control(func(fd uintptr) {
		buffer := buffers.Get().(*[readSize]byte)
		defer buffers.Put(buffer)
		for left := wideSize; left > 0; {
			n, err := unix.Read(int(fd), buffer[:])
			if err != nil || n == 0 {
				return
			}
			left -= n
			_, _ = p.sink.Write(buffer[:n]) // as above
		}
	})
}
