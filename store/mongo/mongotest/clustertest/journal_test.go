package clustertest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// witness is the program of all jobs: it says when it begins and when it ends, and works for $WORK seconds in between.
const witness = `#!/bin/sh
line="$NAME $TIDEWHEEL_RUN_ID $TIDEWHEEL_ATTEMPT $TIDEWHEEL_FENCING_TOKEN $TIDEWHEEL_SLOT"
echo "start $line" >"$JOURNAL"
[ "$WORK" = 0 ] || sleep "$WORK"
echo "end $line" >"$JOURNAL"
`

// entry is a line of the journal.
type entry struct {
	kind    string // start or end
	job     string // $NAME
	run     string
	attempt int
	token   uint64
	slot    time.Time // zero for a manual run
	at      time.Time // when it was read
}

// journal is a pipe that the test holds open and programs write to: a line in it is whole, the lines are in the order in
// which they were written, and the test hears of each at once.
type journal struct {
	path    string
	happens *happenings
	entries []entry             // guarded by happens
	latest  map[string]lateness // of each job's last slot that began; likewise
	late    time.Time           // when a program began late last; likewise
}

// lateness is by how much the program of a slot was late.
type lateness struct {
	slot time.Time
	late time.Duration
}

func newJournal(t *testing.T, happens *happenings) *journal {
	t.Helper()
	j := &journal{path: filepath.Join(folder(t), "journal"), happens: happens, latest: map[string]lateness{}}
	if err := syscall.Mkfifo(j.path, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(j.path, 0o666); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(j.path, os.O_RDWR, 0) // for writing too: it never ends
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			e, err := parseEntry(lines.Text())
			if err != nil {
				t.Error(err)
				continue
			}
			j.add(e)
		}
	}()
	t.Cleanup(func() {
		_ = pipe.Close() // ends the reader
		<-read
	})
	return j
}

func (j *journal) add(e entry) {
	j.happens.note(func() {
		e.at = time.Now()
		j.entries = append(j.entries, e)
		if e.kind == "start" && e.attempt == 1 && !e.slot.IsZero() {
			last := lateness{e.slot, e.at.Sub(e.slot)}
			if last.late > inTime {
				j.late = e.at
			}
			if !e.slot.Before(j.latest[e.job].slot) {
				j.latest[e.job] = last
			}
		}
	})
}

func parseEntry(line string) (entry, error) {
	words := strings.Fields(line)
	if len(words) != 5 && len(words) != 6 {
		return entry{}, fmt.Errorf("the journal holds a torn line %q", line)
	}
	e := entry{kind: words[0], job: words[1], run: words[2]}
	var errs [3]error
	e.attempt, errs[0] = strconv.Atoi(words[3])
	e.token, errs[1] = strconv.ParseUint(words[4], 10, 64)
	if len(words) == 6 {
		e.slot, errs[2] = time.Parse(time.RFC3339Nano, words[5])
	}
	if err := errors.Join(errs[:]...); err != nil {
		return entry{}, fmt.Errorf("the journal holds %q: %w", line, err)
	}
	return e, nil
}

// awaitStarts returns once so many more programs have begun.
func (j *journal) awaitStarts(t *testing.T, more int) {
	t.Helper()
	from := -1
	j.happens.await(t, fmt.Sprintf("%d programs to begin", more), startLimit, func() bool {
		if from < 0 {
			from = len(j.entries)
		}
		return len(j.entries)-from >= 2*more // each begins and ends
	})
}
