package chaos

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// trace is what one attempt's program wrote.
type trace struct {
	run     string
	attempt int
	token   uint64
	start   int64 // nanoseconds; 0 if it never said so
	last    int64 // when it was last known to live
	ended   bool
	failed  bool // it ended as it was to fail
	starts  int
	ends    int
}

// readJournal reads what the programs wrote, attempt by attempt in the order of their beginnings.
func readJournal(path string) (traces []*trace, lines int, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	byAttempt := map[string]*trace{}
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		lines++
		words := strings.Fields(scanner.Text())
		if len(words) != 5 {
			return nil, 0, fmt.Errorf("the journal holds a torn line %q", scanner.Text())
		}
		attempt, errs0 := strconv.Atoi(words[2])
		token, errs1 := strconv.ParseUint(words[3], 10, 64)
		at, errs2 := strconv.ParseInt(words[4], 10, 64)
		if err := errors.Join(errs0, errs1, errs2); err != nil {
			return nil, 0, fmt.Errorf("the journal holds %q: %w", scanner.Text(), err)
		}
		key := words[1] + "/" + words[2]
		t := byAttempt[key]
		if t == nil {
			t = &trace{run: words[1], attempt: attempt, token: token}
			byAttempt[key] = t
			traces = append(traces, t)
		}
		switch words[0] {
		case "start":
			t.starts++
			if t.start == 0 {
				t.start = at
			}
		case "end", "fail":
			t.ends++
			t.ended, t.failed = words[0] == "end", words[0] == "fail"
		}
		t.last = max(t.last, at)
	}
	if err := scanner.Err(); err != nil {
		return nil, 0, err
	}
	slices.SortStableFunc(traces, func(a, b *trace) int { return cmp.Compare(a.start, b.start) })
	return traces, lines, nil
}
