package process

import (
	"errors"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Command is a program to start.
type Command struct {
	Path   string   // of the file to execute; absolute
	Args   []string // with the program's own name first
	Env    []string // the whole environment
	Folder *Folder
	Files  []string // what it reads and executes of Config.Closed and Config.Readable: without them, nothing where it has namespaces
	Stdin  []byte   // what the program may read; nil for nothing at all
	Limits Limits
	// Before is when the program must have begun, or it does not begin: ErrLate. The zero time is never.
	Before time.Time
}

// ErrLate means that a program was not started, because the time by which it must begin was over.
var ErrLate = errors.New("process: the time is over by which the program must begin")

// late reports whether it is too late for a program that must begin before an instant. The caller checks at the last
// moment: an executor may be stopped at any point, and continue long after.
func late(before time.Time) bool { return !before.IsZero() && !time.Now().Before(before) }

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
	// busyTries bounds how often a file that is still open for writing somewhere is retried.
	busyTries = 60
)

// Process is a program that was started. Wait must be called, once.
type Process struct {
	host   *Host
	pid    int
	folder *Folder
	group  *group       // nil without cgroups
	init   *initProcess // in whose namespaces the program is, and whose id is pid; nil without namespaces
	limits Limits
	output *streams
	input  sync.WaitGroup // who writes to the program
	began  time.Time

	watched bool          // its memory is watched
	watch   chan struct{} // closed to end that; nil without it
	watchs  sync.WaitGroup

	mu        sync.Mutex
	gone      bool // nothing may be signalled any more: another process may get the ids
	killed    bool
	announced bool // the guardian knows of it
	over      Over
	peak      int64 // memory in use, as far as it was looked at
}

// sample looks at the memory that the program has used so far: at its end it cannot always be measured.
func (p *Process) sample() {
	if p.init != nil {
		return // it looks itself
	}
	peak := peakMemory(strconv.Itoa(p.pid))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.peak = max(p.peak, peak)
}

// Started returns when the program was started.
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
