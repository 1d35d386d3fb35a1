package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// settleTimeout bounds how long killed processes are waited for: one that hangs in the kernel cannot be killed.
const settleTimeout = 5 * time.Second

// Guard is the whole life of a guardian: it reads the process groups that the executor sends, and when the executor
// has gone, ends what it has left. When the executor is there but has not spoken by the instant that it named itself, as
// one that is stopped or starved, the guardian ends its programs as well, having said so, and watches on. The arguments
// are those that the executor appends to Config.Guardian, in and out are the standard input and output. It returns once
// nothing is left. With other arguments, also the executor's, it sets limits and becomes a program, or is the init of
// one, instead; so nothing may be read or printed before it is called.
func Guard(arguments []string, in io.Reader, out io.Writer) error {
	if len(arguments) > 0 && arguments[0] == shimArgument {
		return become(arguments[1:])
	}
	if len(arguments) == 1 && arguments[0] == initArgument {
		return beInit()
	}
	if len(arguments) != 3 {
		return errors.New("process: guard: it is started by an executor only")
	}
	// A signal to the executor's terminal or session must not take the guardian with it.
	// Nor is a word to an executor that has just died.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	if err := Shield(); err != nil {
		return err
	}
	life, group := arguments[0], arguments[1]
	firstUser, users := parseUsers(arguments[2])
	living := make(map[int]struct{})
	input, failed := make(chan string), make(chan error, 1)
	go func() { // ends with the input, which ends with the executor
		defer close(input)
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			input <- lines.Text()
		}
		failed <- lines.Err()
	}()
	silent := time.NewTimer(0)
	silent.Stop()
	for {
		select {
		case line, ok := <-input:
			if !ok {
				if group != "" {
					killGroup(group)
				}
				killGroups(living)
				killMarked(life, settleTimeout)
				killUsers(firstUser, users, settleTimeout, anyProcess)
				return <-failed
			}
			if until, ok := strings.CutPrefix(line, untilWord); ok {
				setAlarm(silent, until)
				continue
			}
			pid, err := strconv.Atoi(line)
			switch {
			case err != nil:
			case pid > 0:
				living[pid] = struct{}{}
			default:
				delete(living, -pid)
			}
		case <-silent.C:
			// What begins from now on is not ours to end: the executor is back.
			now := clock()
			_, _ = fmt.Fprintf(out, "%d\n", now) // before the first kill: an executor that sees a dead program must know who killed it
			killGroups(living)
			if group != "" {
				killMembers(group, settleTimeout, now)
			}
			killMarkedBefore(life, settleTimeout, now)
			killUsers(firstUser, users, settleTimeout, func(pid int) bool { return beganBefore(pid, now) })
		}
	}
}

func killGroups(leaders map[int]struct{}) {
	for pid := range leaders {
		_ = syscall.Kill(-pid, syscall.SIGKILL) // gone already is as good
	}
}

// untilWord begins a line that says when the executor will have spoken again, in nanoseconds of clock; 0 is never.
const untilWord = "until "

func setAlarm(alarm *time.Timer, until string) {
	alarm.Stop()
	if at, err := strconv.ParseInt(until, 10, 64); err == nil && at > 0 {
		alarm.Reset(time.Duration(at) - clock())
	}
}

// guardian is the executor's end of the pipe.
type guardian struct {
	command []string
	users   *os.File // stays locked until the guardian has ended, too
	log     *slog.Logger
	ended   chan struct{} // closed when the last guardian has gone and none follows

	mu       sync.Mutex
	stopping bool
	pipe     *os.File
	says     *os.File // when it ended programs, in nanoseconds of clock, a line each
	living   map[int]struct{}
	until    time.Duration // of clock; 0 is never
	acted    time.Duration // when it ended programs last, of clock; 0 is never
}

func startGuardian(command []string, life, group string, users *users, log *slog.Logger) (*guardian, error) {
	g := &guardian{
		command: append(append([]string(nil), command...), life, group, users.String()), users: users.file(),
		log: log, ended: make(chan struct{}), living: make(map[int]struct{}),
	}
	process, err := g.start()
	if err != nil {
		return nil, fmt.Errorf("process: start guardian: %w", err)
	}
	go g.keep(process)
	return g, nil
}

// start starts a guardian and sends it everything known so far.
func (g *guardian) start() (*exec.Cmd, error) {
	in, pipe, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	says, out, err := os.Pipe()
	if err != nil {
		_ = pipe.Close() // nothing was written
		return nil, err
	}
	defer out.Close()
	// It outlives every context: it ends when the pipe is closed.
	process := exec.CommandContext(context.Background(), g.command[0], g.command[1:]...)
	process.Stdin, process.Stdout, process.Env, process.Dir = in, out, []string{}, "/"
	process.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if g.users != nil {
		process.ExtraFiles = []*os.File{g.users}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	err = errors.New("stopping")
	if !g.stopping {
		err = process.Start()
	}
	if err != nil {
		_, _ = pipe.Close(), says.Close() // nothing was written
		return nil, err
	}
	g.pipe, g.says = pipe, says
	for pid := range g.living {
		g.tell(pid)
	}
	if g.until > 0 {
		g.tellUntil()
	}
	return process, nil
}

// keep puts a new guardian in the place of one that has gone.
func (g *guardian) keep(process *exec.Cmd) {
	defer close(g.ended)
	for {
		err := process.Wait()
		g.mu.Lock()
		_ = g.pipe.Close() // it has no reader any more
		g.hear()
		_ = g.says.Close() // it was only read
		stopping := g.stopping
		g.mu.Unlock()
		if stopping {
			return
		}
		g.log.Warn("the guardian of this executor has gone; starting another", "error", err)
		for {
			if process, err = g.start(); err == nil {
				break
			}
			g.mu.Lock()
			stopping := g.stopping
			g.mu.Unlock()
			if stopping {
				return
			}
			g.log.Error("no guardian can be started: programs would outlive this executor if it were killed", "error", err)
			pause(time.Second)
		}
	}
}

// began reports to the guardian that a process group exists, ended that it is about to go.
func (g *guardian) began(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.living[pid] = struct{}{}
	g.tell(pid)
}

func (g *guardian) gone(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.living, pid)
	g.tell(-pid)
}

// speak says by when it is spoken again; the zero time is never.
func (g *guardian) speak(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.until = 0
	if !until.IsZero() {
		g.until = max(clock()+time.Until(until), 1)
	}
	g.tellUntil()
	g.hear() // or what it says would fill its pipe
}

// tell sends a pid to the guardian. The caller must hold the lock. If the guardian has gone, start sends everything again.
func (g *guardian) tell(pid int) { g.write(strconv.AppendInt(nil, int64(pid), 10)) }

// tellUntil sends the instant until which programs may live. The caller must hold the lock.
func (g *guardian) tellUntil() { g.write(strconv.AppendInt([]byte(untilWord), int64(g.until), 10)) }

func (g *guardian) write(line []byte) {
	_ = g.pipe.SetWriteDeadline(time.Now().Add(time.Second)) // pipes have deadlines
	_, _ = g.pipe.Write(append(line, '\n'))
}

// endedSince reports whether the guardian has ended programs at an instant of clock or later.
func (g *guardian) endedSince(at time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hear()
	return g.acted >= at
}

// hear takes what the guardian has said. It must be called with the lock, and does not wait.
func (g *guardian) hear() {
	reader, err := g.says.SyscallConn()
	if err != nil {
		return
	}
	var text [4096]byte
	for n := len(text); n == len(text); { // what it says at one time is shorter
		n = 0
		_ = reader.Read(func(fd uintptr) bool {
			n, _ = unix.Read(int(fd), text[:]) // nothing is as good as an error
			return true
		})
		for line := range strings.Lines(string(text[:max(n, 0)])) {
			if at, err := strconv.ParseInt(strings.TrimSuffix(line, "\n"), 10, 64); err == nil {
				g.acted = max(g.acted, time.Duration(at))
			}
		}
	}
}

// stop ends the guardian, which looks once more for what may be left.
func (g *guardian) stop() {
	g.mu.Lock()
	g.stopping = true
	_ = g.pipe.Close() // the closed pipe asks it to end
	g.mu.Unlock()
	<-g.ended
}

// pause waits; what it is used for has no event to wait for.
func pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}
