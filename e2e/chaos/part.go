package chaos

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// restartAfter is how soon a part that has ended is started again, as a service manager would.
const restartAfter = 300 * time.Millisecond

// endLimit is how long a part may take to end in good order.
const endLimit = 90 * time.Second

// part is one process of the system, that is started again whenever it ends until it is to stay ended.
type part struct {
	t       *testing.T
	name    string
	command func() *exec.Cmd
	log     *os.File // of all its lives

	mu      sync.Mutex
	process *os.Process
	away    time.Time // not started again before
	ending  bool      // not started again at all
	lives   int
	ready   chan struct{} // closed when it was ready for the first time
	wake    chan struct{} // closed when it is to stay ended
	ended   chan struct{}
}

func startPart(t *testing.T, dir, name string, command func() *exec.Cmd) *part {
	t.Helper()
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	p := &part{
		t: t, name: name, command: command, log: log,
		ready: make(chan struct{}), wake: make(chan struct{}), ended: make(chan struct{}),
	}
	go p.keep()
	t.Cleanup(func() {
		p.stop()
		_ = log.Close()
		if t.Failed() {
			p.tellErrors()
		}
	})
	return p
}

// tellErrors copies the last errors that the part logged to the test's log, since its own log is removed with the folder.
func (p *part) tellErrors() {
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		p.t.Logf("the log of %s: %v", p.name, err)
		return
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "level=ERROR") || strings.HasPrefix(line, "panic:") {
			lines = append(lines, line)
		}
	}
	for _, line := range lines[max(0, len(lines)-10):] {
		p.t.Logf("%s logged: %s", p.name, strings.TrimSpace(line))
	}
}

// keep runs one life after another.
func (p *part) keep() {
	defer close(p.ended)
	runtime.LockOSThread() // what is to die with this test dies with the thread that started it
	for {
		process := p.command()
		dieWithUs(process)
		process.Stderr = p.log
		process.Stdout = &readyWriter{log: p.log, ready: p.ready}
		p.mu.Lock()
		if p.ending {
			p.mu.Unlock()
			return
		}
		err := process.Start()
		if err == nil {
			p.process = process.Process
			p.lives++
		}
		p.mu.Unlock()
		if err != nil {
			p.t.Errorf("start %s: %v", p.name, err)
		} else {
			_ = process.Wait() // how it ended is in its log, or was this test's doing
		}
		p.mu.Lock()
		p.process = nil
		wait := max(time.Until(p.away), restartAfter)
		p.mu.Unlock()
		select {
		case <-time.After(wait):
		case <-p.wake:
			return
		}
	}
}

// awaitReady returns once the part was ready for the first time.
func (p *part) awaitReady(ctx context.Context) {
	p.t.Helper()
	select {
	case <-p.ready:
	case <-ctx.Done():
		p.t.Fatalf("%s is not ready: %v", p.name, context.Cause(ctx))
	}
}

// signal sends a signal to the process if there is one, and keeps it away for a while if it ends by that.
func (p *part) signal(signal syscall.Signal, away time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = time.Now().Add(away)
	if p.process != nil {
		_ = p.process.Signal(signal) // it may have ended just now
	}
}

// id returns the process's id, 0 while there is none.
func (p *part) id() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process == nil {
		return 0
	}
	return p.process.Pid
}

// stop ends the part in good order, for good. It may be called twice.
func (p *part) stop() {
	p.mu.Lock()
	if !p.ending {
		p.ending = true
		close(p.wake)
	}
	if p.process != nil {
		_ = p.process.Signal(syscall.SIGCONT)
		_ = p.process.Signal(syscall.SIGTERM)
	}
	p.mu.Unlock()
	select {
	case <-p.ended:
	case <-time.After(endLimit):
		p.t.Errorf("%s did not end in good order within %s", p.name, endLimit)
		p.signal(syscall.SIGKILL, 0)
		<-p.ended
	}
}

// readyWriter notices the line by which a part says that it is ready.
type readyWriter struct {
	log   *os.File
	text  bytes.Buffer
	ready chan struct{}
	said  bool
}

// Write takes what the part prints.
func (w *readyWriter) Write(p []byte) (int, error) {
	if !w.said {
		w.text.Write(p)
		if bytes.Contains(w.text.Bytes(), []byte("is ready")) {
			w.said = true
			select {
			case <-w.ready: // in an earlier life
			default:
				close(w.ready)
			}
		}
	}
	return w.log.Write(p)
}
