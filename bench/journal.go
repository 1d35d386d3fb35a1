package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// entry is one start of startclock.
type entry struct {
	run   string
	slot  time.Time
	began time.Time
	lag   time.Duration // from the slot to the first line of the program
}

// newJournal makes an empty journal that any user may append to: jobs may run as another.
func newJournal(path string) error {
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		return err
	}
	return os.Chmod(path, 0o666)
}

func readJournal(path string) ([]entry, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var entries []entry
	for line := range strings.Lines(string(text)) {
		var run, planned string
		var began int64
		if _, err := fmt.Sscan(line, &run, &planned, &began); err != nil {
			return nil, fmt.Errorf("journal line %q: %w", line, err)
		}
		slot, err := time.Parse(time.RFC3339Nano, planned)
		if err != nil {
			return nil, fmt.Errorf("journal line %q: %w", line, err)
		}
		slot, at := slot.Local(), time.Unix(0, began)
		entries = append(entries, entry{run: run, slot: slot, began: at, lag: at.Sub(slot)})
	}
	return entries, nil
}

// lags drops the first seconds, in which caches fill, and what lies after until, and says which slots of how many jobs
// are missing or doubled in between.
func lags(entries []entry, jobs int, from, until time.Time) (s sample, lost, doubled int) {
	seen := map[string]int{}
	slots := map[time.Time]int{}
	for _, e := range entries {
		if e.slot.Before(from) || !e.slot.Before(until) {
			continue
		}
		s = append(s, e.lag)
		seen[e.run]++
		if seen[e.run] == 1 {
			slots[e.slot]++
		} else {
			doubled++
		}
	}
	for slot := from; slot.Before(until); slot = slot.Add(time.Second) {
		lost += jobs - slots[slot]
	}
	return s, lost, doubled
}
