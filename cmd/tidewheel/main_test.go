package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The executor of a server under test starts this program as its guardian.
func TestMain(m *testing.M) {
	if status, is := guardian(os.Args[1:]); is {
		syscall.Exit(status) // os.Exit waits for a second for other threads' races
	}
	os.Exit(m.Run())
}

// result is what a call of the command line did.
type result struct {
	status   int
	out, err string
}

// testCLI is the command line with a state folder of its own, far from the user's.
type testCLI struct {
	t   *testing.T
	env map[string]string
	now time.Time // zero: the real time

	terminal bool // standard input and output are one
}

func newTestCLI(t *testing.T) *testCLI {
	return &testCLI{t: t, env: map[string]string{"XDG_STATE_HOME": t.TempDir()}}
}

// run calls the command line as main does.
func (c *testCLI) run(args ...string) result {
	c.t.Helper()
	return c.runWith("", args...)
}

func (c *testCLI) runWith(stdin string, args ...string) result {
	c.t.Helper()
	var out, errs safeBuffer
	called := newCLI(strings.NewReader(stdin), &out, &errs)
	called.getenv = func(name string) string { return c.env[name] }
	if !c.now.IsZero() {
		called.now = func() time.Time { return c.now }
	}
	called.asks, called.coloured = func() bool { return c.terminal }, func() bool { return c.terminal }
	status := called.run(c.t.Context(), args)
	return result{status, out.String(), errs.String()}
}

// must calls the command line and wants it to succeed.
func (c *testCLI) must(args ...string) string {
	c.t.Helper()
	return c.mustWith("", args...)
}

func (c *testCLI) mustWith(stdin string, args ...string) string {
	c.t.Helper()
	got := c.runWith(stdin, args...)
	if got.status != exitDone {
		c.t.Fatalf("tidewheel %s: exit %d\n%s%s", strings.Join(args, " "), got.status, got.out, got.err)
	}
	return got.out
}

// refused calls the command line and wants it to end with a status and to say some words.
func (c *testCLI) refused(status int, words string, args ...string) {
	c.t.Helper()
	c.refusedWith("", status, words, args...)
}

func (c *testCLI) refusedWith(stdin string, status int, words string, args ...string) {
	c.t.Helper()
	got := c.runWith(stdin, args...)
	if got.status != status || !strings.Contains(got.err, words) {
		c.t.Errorf("tidewheel %s: exit %d and %q; want exit %d and words like %q", strings.Join(args, " "), got.status, got.err, status, words)
	}
}

// safeBuffer may be written to from several goroutines, as a terminal may.
type safeBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

var _ io.Writer = (*safeBuffer)(nil)

// golden compares a text with a file, or writes the file with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s has changed (go test ./cmd/tidewheel -update rewrites it):\n%s", path, got)
	}
}

// transcript renders calls of the command line with all that they said.
func (c *testCLI) transcript(stdin string, calls ...[]string) string {
	var text strings.Builder
	for _, call := range calls {
		got := c.runWith(stdin, call...)
		fmt.Fprintf(&text, "$ tidewheel %s\n%s", strings.Join(call, " "), got.out)
		if got.err != "" {
			text.WriteString("--- stderr\n" + got.err)
		}
		fmt.Fprintf(&text, "--- exit %d\n\n", got.status)
	}
	return text.String()
}
