package clustertest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// node is one process of the cluster, through all its lives. Its methods belong to the test's goroutine.
type node struct {
	t       *testing.T
	name    string
	command func() *exec.Cmd
	happens *happenings
	log     *os.File // of all its lives

	life *life // nil while it does not run
}

// life is what is known of one process; guarded by happens.
type life struct {
	process *os.Process
	ready   bool
	shards  int // that it says it owns
	ended   bool
	err     error // how
	at      time.Time
}

// newNode prepares a node. It is stopped at the test's end.
func newNode(t *testing.T, happens *happenings, dir, name string, command func() *exec.Cmd) *node {
	t.Helper()
	path := filepath.Join(dir, name+".log")
	if *logs != "" {
		path = filepath.Join(*logs, name+".log")
	}
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, name: name, command: command, happens: happens, log: log}
	t.Cleanup(func() {
		n.stop()
		_ = log.Close()
		if !t.Failed() || *logs != "" {
			return
		}
		if text, err := os.ReadFile(path); err == nil {
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			t.Logf("the last lines of %s:\n%s", name, strings.Join(lines[max(0, len(lines)-40):], "\n"))
		}
	})
	return n
}

// begin starts a process and does not wait for it.
func (n *node) begin() {
	n.t.Helper()
	made := &life{}
	command := n.command()
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	output, err := command.StdoutPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	errors, err := command.StderrPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // what is to die with this test dies with the thread that started it
		err := command.Start()
		made.process = command.Process
		started <- err
		if err != nil {
			return
		}
		read := make(chan struct{})
		go func() { n.hear(made, output); close(read) }()
		n.hear(made, errors)
		<-read
		err = command.Wait()
		n.happens.note(func() { made.ended, made.err, made.at, made.shards = true, err, time.Now(), 0 })
	}()
	if err := <-started; err != nil {
		n.t.Fatalf("start %s: %v", n.name, err)
	}
	n.life = made
}

// ownedShards is what an engine says when its shards change.
var ownedShards = regexp.MustCompile(`this engine's shards" count=(\d+)`)

// hear keeps what a process says, and notes what the test waits for.
func (n *node) hear(life *life, from io.Reader) {
	for lines := bufio.NewScanner(from); lines.Scan(); {
		_, _ = n.log.Write(append(lines.Bytes(), '\n'))
		line := lines.Text()
		if owned := ownedShards.FindStringSubmatch(line); owned != nil {
			count, _ := strconv.Atoi(owned[1])
			n.happens.note(func() { life.shards, life.at = count, time.Now() })
		}
		if strings.Contains(line, "is ready") && !strings.Contains(line, "level=") { // nodes log that MongoDB is
			n.happens.note(func() { life.ready = true })
		}
	}
}

// awaitReady returns once the process says that it is ready.
func (n *node) awaitReady() {
	n.t.Helper()
	life := n.life
	n.happens.await(n.t, n.name+" to be ready", startLimit, func() bool { return life.ready || life.ended })
	n.happens.look(func() {
		if life.ended {
			n.t.Fatalf("%s ended while it started: %v", n.name, life.err)
		}
	})
}

func (n *node) start() {
	n.t.Helper()
	n.begin()
	n.awaitReady()
}

func (n *node) signal(signal syscall.Signal) {
	n.t.Helper()
	if err := n.life.process.Signal(signal); err != nil {
		n.t.Errorf("%s to %s: %v", signal, n.name, err)
	}
}

// kill ends the process as a power cut would.
func (n *node) kill() {
	n.t.Helper()
	n.signal(syscall.SIGKILL)
	n.awaitEnd()
	n.life = nil
}

// stop ends the process in good order.
func (n *node) stop() {
	n.t.Helper()
	if n.life == nil {
		return
	}
	n.signal(syscall.SIGTERM)
	n.awaitEnd()
	if n.life.err != nil {
		n.t.Errorf("%s ended with %v", n.name, n.life.err)
	}
	n.life = nil
}

func (n *node) awaitEnd() {
	n.t.Helper()
	life := n.life
	if !n.happens.within(endLimit, func() bool { return life.ended }) {
		n.t.Errorf("%s did not end within %s", n.name, endLimit)
		_ = life.process.Kill()
		n.happens.within(endLimit, func() bool { return life.ended })
	}
}
