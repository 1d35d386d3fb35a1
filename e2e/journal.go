package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// entry is a line of the journal, written by a job's program itself.
type entry struct {
	kind    string // start or end
	run     string
	attempt int
	slot    time.Time
	token   uint64
}

// journal is a pipe that the test holds open and jobs write to: it outlives the server, a line in it is whole, and the
// test hears of it at once. A second pipe is held open by each program as long as it lives.
type journal struct {
	path, life string
	pipe       *os.File
	alive      *os.File
	lines      chan entry
	entries    []entry // those that were read
}

func newJournal(t *testing.T) *journal {
	t.Helper()
	dir := Folder(t)
	j := &journal{path: filepath.Join(dir, "journal"), life: filepath.Join(dir, "life"), lines: make(chan entry, 10_000)}
	for _, path := range []string{j.path, j.life} {
		if err := syscall.Mkfifo(path, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o666); err != nil { // jobs may run as nobody
			t.Fatal(err)
		}
	}
	var err error
	if j.pipe, err = os.OpenFile(j.path, os.O_RDWR, 0); err != nil { // for writing too: it never ends
		t.Fatal(err)
	}
	if j.alive, err = os.OpenFile(j.life, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(j.pipe); lines.Scan(); {
			e, err := parseEntry(lines.Text())
			if err != nil {
				t.Error(err)
				continue
			}
			j.lines <- e
		}
	}()
	t.Cleanup(func() {
		_ = j.pipe.Close() // ends the reader
		<-read
		_ = j.alive.Close()
	})
	return j
}

// read reads until so many programs have begun, and returns just after the last one has.
func (j *journal) read(t *testing.T, starts int) {
	t.Helper()
	limit := time.After(settleLimit)
	for starts > 0 {
		select {
		case e := <-j.lines:
			j.entries = append(j.entries, e)
			if e.kind == "start" {
				starts--
			}
		case <-limit:
			t.Fatalf("no program has begun for %s", settleLimit)
		}
	}
}

// readRest reads what is there; to be called when no program is alive any more.
func (j *journal) readRest() {
	for {
		select {
		case e := <-j.lines:
			j.entries = append(j.entries, e)
		default:
			return
		}
	}
}

func parseEntry(line string) (entry, error) {
	words := strings.Fields(line)
	if len(words) != 5 {
		return entry{}, fmt.Errorf("the journal holds a torn line %q", line)
	}
	e := entry{kind: words[0], run: words[1]}
	var errs [3]error
	e.attempt, errs[0] = strconv.Atoi(words[2])
	e.slot, errs[1] = time.Parse(time.RFC3339Nano, words[3])
	e.token, errs[2] = strconv.ParseUint(words[4], 10, 64)
	if err := errors.Join(errs[:]...); err != nil {
		return entry{}, fmt.Errorf("the journal holds %q: %w", line, err)
	}
	return e, nil
}

// program is a job that says when it begins and when it ends, and works for $WORK seconds in between.
const program = `#!/bin/sh
exec 9>"$LIFE"
line="$TIDEWHEEL_RUN_ID $TIDEWHEEL_ATTEMPT $TIDEWHEEL_SLOT $TIDEWHEEL_FENCING_TOKEN"
echo "start $line" >"$JOURNAL"
sleep "$WORK"
echo "end $line" >"$JOURNAL"
`

// awaitDeath returns once no program is alive any more.
func (j *journal) awaitDeath(t *testing.T, limit time.Duration) {
	t.Helper()
	if err := j.alive.SetReadDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	// A pipe ends when its last writer has closed it.
	if _, err := io.Copy(io.Discard, j.alive); err != nil {
		t.Fatalf("programs live on %s after their server was killed: %v", limit, err)
	}
}

// orphans lists the processes that know of this journal, by their environment.
func (j *journal) orphans(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(text), "JOURNAL="+j.path) {
			found = append(found, filepath.Dir(file))
		}
	}
	return found
}
