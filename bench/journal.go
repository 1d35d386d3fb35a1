package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// entry is one start of startclock.
type entry struct {
	run  string
	slot time.Time
	lag  time.Duration // from the slot to the process's first instruction
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
		var run string
		var slot, began int64
		if _, err := fmt.Sscan(line, &run, &slot, &began); err != nil {
			return nil, fmt.Errorf("journal line %q: %w", line, err)
		}
		entries = append(entries, entry{run: run, slot: time.Unix(0, slot), lag: time.Duration(began - slot)})
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
