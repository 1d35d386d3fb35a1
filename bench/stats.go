package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sample is a set of durations.
type sample []time.Duration

// at returns the value below which the share p of the sample lies; p in [0, 1].
func (s sample) at(p float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Clone(s)
	slices.Sort(sorted)
	return sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 2, 64) + " ms"
}

// clockTicks is the unit of the CPU times in /proc: USER_HZ, which is 100 on every Linux that Go runs on.
const clockTicks = 100

// cpuTime is what a process has used: its own threads, and the children that it has reaped.
func cpuTime(pid int) (own, children time.Duration, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	// The name in parentheses may hold anything; the fields that count follow its last parenthesis.
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')'):]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return 0, 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	ticks := func(i int) time.Duration {
		n, _ := strconv.ParseInt(fields[i], 10, 64)
		return time.Duration(n) * time.Second / clockTicks
	}
	return ticks(11) + ticks(12), ticks(13) + ticks(14), nil
}

// residentMemory is what a process has in memory, in MiB.
func residentMemory(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status does not tell the memory", pid)
}
