package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
)

// Folder returns a folder of the test that jobs can pass through, as they may run as nobody.
func Folder(t *testing.T) string {
	t.Helper()
	return passable(t, t.TempDir())
}

func passable(t *testing.T, dir string) string {
	t.Helper()
	for _, closed := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(closed, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Root is the folder of this repository.
func Root(ctx context.Context) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Root}}", "github.com/tidewheel/tidewheel/engine").Output()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	return strings.TrimSpace(string(root)), nil
}

// Build makes the program from the source of this repository, into a folder of the test, with more flags for go build.
func Build(ctx context.Context, dir string, flags ...string) (string, error) {
	return BuildOf(ctx, dir, "cmd/tidewheel", flags...)
}

// BuildOf makes any program of this repository, from the package in a folder of it, with more flags for go build.
func BuildOf(ctx context.Context, dir, of string, flags ...string) (string, error) {
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, filepath.Base(of))
	build := exec.CommandContext(ctx, "go", slices.Concat([]string{"build", "-o", program}, flags, []string{"./" + of})...)
	build.Dir = root
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, text)
	}
	return program, nil
}

// Server is a `tidewheel server` that can be killed and started again on the same data and the same address.
type Server struct {
	t       *testing.T
	program string
	args    []string
	address string
	state   string
	token   string // "" is that of the data folder

	// As is whom the server runs as, and whose its folders must be; nil is the user of this test.
	As *syscall.Credential

	process *exec.Cmd
	exited  chan error // of the process
	log     *lineBuffer
}

// startLimit is how long a server may take to be ready on a busy machine; the budget is below one second.
const startLimit = 30 * time.Second

// NewServer prepares a server with flags beyond those of its data and address. It is stopped at the test's end.
func NewServer(t *testing.T, program string, args ...string) *Server {
	t.Helper()
	return NewServerIn(t, t.TempDir(), program, args...)
}

// NewServerIn is NewServer in a folder of the test, whose folder data may be there already.
func NewServerIn(t *testing.T, dir, program string, args ...string) *Server {
	t.Helper()
	passable(t, dir)
	address := freeAddress(t)
	s := &Server{
		t: t, program: program, address: address, state: filepath.Join(dir, "state"), log: &lineBuffer{},
		args: append([]string{"server", "--data", filepath.Join(dir, "data"), "--http", address}, args...),
	}
	t.Cleanup(func() {
		if s.process != nil {
			s.Stop()
		}
		if t.Failed() {
			t.Logf("the server's log:\n%s", s.log)
		}
	})
	return s
}

// freeAddress finds a free address.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// Start starts the server and returns once it is ready.
func (s *Server) Start() {
	s.t.Helper()
	output := &readyWriter{ready: make(chan struct{})}
	// Not bound to the test: it is ended in good order when the test has ended.
	s.process = exec.CommandContext(context.WithoutCancel(s.t.Context()), s.program, s.args...)
	s.process.Env = append(os.Environ(), "XDG_STATE_HOME="+s.state)
	s.process.Stdout, s.process.Stderr = output, s.log
	if s.As != nil {
		s.process.SysProcAttr = &syscall.SysProcAttr{Credential: s.As}
		s.process.Dir = filepath.Dir(s.state) // the folder of the tests may be closed to that user
		if err := os.Chown(filepath.Dir(s.state), int(s.As.Uid), int(s.As.Gid)); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.exited = make(chan error, 1)
	go func(process *exec.Cmd, exited chan<- error) { exited <- process.Wait() }(s.process, s.exited)
	select {
	case <-output.ready:
	case err := <-s.exited:
		s.process = nil
		s.t.Fatalf("the server ended while it started: %v\n%s", err, s.log)
	case <-time.After(startLimit):
		s.t.Fatalf("the server is not ready after %s\n%s", startLimit, s.log)
	}
}

// Kill ends the server as a power cut would, and waits until it is gone.
func (s *Server) Kill() {
	s.t.Helper()
	if err := s.process.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	<-s.exited
	s.process = nil
}

// Stop ends the server in good order.
func (s *Server) Stop() {
	s.t.Helper()
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Error(err)
	}
	select {
	case err := <-s.exited:
		if err != nil {
			s.t.Errorf("the server ended with %v", err)
		}
	case <-time.After(startLimit):
		s.t.Errorf("the server did not end after %s", startLimit)
		_ = s.process.Process.Kill()
		<-s.exited
	}
	s.process = nil
}

// URL is where the server is reached.
func (s *Server) URL() string { return "http://" + s.address }

// Client speaks to the server.
func (s *Server) Client() *client.Client {
	s.t.Helper()
	made, err := client.New(client.Config{URL: s.URL(), Token: s.Token()})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(made.Close)
	return made
}

// Token opens everything.
func (s *Server) Token() string {
	s.t.Helper()
	if s.token != "" {
		return s.token
	}
	token, err := os.ReadFile(filepath.Join(s.args[2], "token"))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(token))
}

// Logged returns what all lives of the server have logged.
func (s *Server) Logged() string { return s.log.String() }

// Command runs the program's command line against the server and returns what it wrote to standard output, and its exit
// status.
func (s *Server) Command(ctx context.Context, args ...string) (string, int) {
	s.t.Helper()
	out, errs, exit := s.run(ctx, args)
	if errs != "" {
		s.t.Logf("tidewheel %s: %s", strings.Join(args, " "), errs)
	}
	return out, exit
}

// Say runs the program's command line against the server and returns what it wrote to standard error, and its exit status.
func (s *Server) Say(ctx context.Context, args ...string) (string, int) {
	s.t.Helper()
	_, errs, exit := s.run(ctx, args)
	return errs, exit
}

func (s *Server) run(ctx context.Context, args []string) (out, errs string, exit int) {
	s.t.Helper()
	command := exec.CommandContext(ctx, s.program, args...)
	command.Env = append(os.Environ(), "XDG_STATE_HOME="+s.state, "TIDEWHEEL_URL="+s.URL())
	var written, said bytes.Buffer
	command.Stdout, command.Stderr = &written, &said
	err := command.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		s.t.Fatal(err)
	}
	return written.String(), strings.TrimSpace(said.String()), command.ProcessState.ExitCode()
}

// readyWriter notices the line by which a server says that it is ready.
type readyWriter struct {
	once  sync.Once
	text  bytes.Buffer
	ready chan struct{}
}

func (w *readyWriter) Write(p []byte) (int, error) {
	w.text.Write(p)
	if bytes.Contains(w.text.Bytes(), []byte("is ready")) {
		w.once.Do(func() { close(w.ready) })
	}
	return len(p), nil
}

// lineBuffer keeps what was logged, by all lives of a server.
type lineBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lineBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lineBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
