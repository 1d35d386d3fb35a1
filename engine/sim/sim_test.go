package sim_test

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine/sim"
)

var (
	seeds   = flag.Int("seeds", 500, "how many seeds TestSeeds runs")
	first   = flag.Uint64("first", 0, "the first of them; 0 is 2001, and those that once failed")
	seed    = flag.Uint64("seed", 0, "run this seed alone")
	most    = flag.Int("most", 3, "stop after so many failures")
	without = flag.String("without", "", "with -seed: leave these choices out, as a shrunk replay says")
	trouble = flag.Duration("trouble", 0, "with -seed: end the trouble after this time")
	trace   = flag.Bool("trace", false, "with -seed: write the whole history to the test's log")
)

// TestSeeds runs worlds: of a range that is asked for, or always the same ones with those that once failed. In these it wants
// every kind of misfortune and of work to be reached: some are so rare that other worlds may lack them.
func TestSeeds(t *testing.T) {
	if *seed != 0 {
		one(t, *seed)
		return
	}
	if *first != 0 {
		t.Logf("the first seed is %d; again: make sim SEEDS=%d FIRST=%d", *first, *seeds, *first)
		runAll(t, seedsFrom(*first))
		return
	}
	reached := runAll(t, append(keptSeeds(t), seedsFrom(2001)...))
	if !t.Failed() && *seeds >= 500 {
		wantReached(t, reached)
	}
}

func seedsFrom(first uint64) []uint64 {
	list := make([]uint64, *seeds)
	for i := range list {
		list[i] = first + uint64(i)
	}
	return list
}

func keptSeeds(t *testing.T) []uint64 {
	t.Helper()
	file, err := os.Open("testdata/seeds.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var list []uint64
	for lines := bufio.NewScanner(file); lines.Scan(); {
		number, _, _ := strings.Cut(lines.Text(), "#")
		if number = strings.TrimSpace(number); number == "" {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			t.Fatalf("testdata/seeds.txt: %v", err)
		}
		list = append(list, n)
	}
	return list
}

// TestReplay holds the simulator to its promise: one seed, one history.
func TestReplay(t *testing.T) {
	for n := uint64(1); n <= 12; n++ { // among them are DAGs, and several engines
		var before, after bytes.Buffer
		sim.Run(n, sim.Options{Trace: &before})
		sim.Run(n, sim.Options{Trace: &after})
		if before.Len() == 0 || !bytes.Equal(before.Bytes(), after.Bytes()) {
			t.Errorf("seed %d gave two histories, of %d and %d bytes", n, before.Len(), after.Len())
		}
	}
}

// TestChoicesAreLeftOut holds shrinking to what it does: what is left out does not happen, and what is bounded ends.
func TestChoicesAreLeftOut(t *testing.T) {
	faults := sim.Faults()
	var without []int
	for choice, name := range sim.Choices() {
		if slices.Contains(faults, name) {
			without = append(without, choice)
		}
	}
	const bound = 5 * time.Second // no trouble is as short
	more, less := 0, 0
	for n := uint64(1); n <= 20; n++ {
		whole, calm := sim.Run(n, sim.Options{}), sim.Run(n, sim.Options{Without: without, Trouble: bound})
		if whole.Failure != nil || calm.Failure != nil {
			t.Fatalf("seed %d: %v, %v", n, whole.Failure, calm.Failure)
		}
		for _, c := range calm.Counts {
			if c.Kind == "fault" {
				t.Errorf("seed %d: %s happened %d times", n, c.What, c.Times)
			}
		}
		more, less = more+whole.Steps, less+calm.Steps
	}
	if less > more*3/4 {
		t.Errorf("with less trouble it took %d steps, instead of %d", less, more)
	}
}

func one(t *testing.T, n uint64) {
	options := sim.Options{Stack: debug.Stack, Trouble: *trouble}
	for number := range strings.SplitSeq(*without, ",") {
		if choice, err := strconv.Atoi(number); err == nil {
			options.Without = append(options.Without, choice)
		}
	}
	if *trace {
		options.Trace = t.Output()
	}
	report := sim.Run(n, options)
	t.Logf("seed %d: %d steps, %s of virtual time", n, report.Steps, report.Elapsed)
	if report.Failure != nil {
		tell(t, report)
	}
}

// runAll runs seeds in parallel, stops at the first few that fail, and adds up what was reached.
func runAll(t *testing.T, list []uint64) map[sim.Count]int {
	t.Helper()
	var next, failed, steps atomic.Int64
	var mu sync.Mutex
	reached := map[sim.Count]int{}
	began, printed, done := time.Now(), time.Now(), 0
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // worlds are small, and there are many
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for failed.Load() < int64(*most) {
				i := next.Add(1) - 1
				if i >= int64(len(list)) {
					return
				}
				report := sim.Run(list[i], sim.Options{Stack: debug.Stack})
				steps.Add(int64(report.Steps))
				mu.Lock()
				for _, c := range report.Counts {
					reached[sim.Count{Kind: c.Kind, What: c.What}] += c.Times
				}
				if report.Failure != nil {
					failed.Add(1)
					tellShrunk(t, report)
				}
				if done++; len(list) > 1000 && time.Since(printed) > 10*time.Second {
					printed = time.Now()
					rate := float64(done) / printed.Sub(began).Seconds()
					fmt.Fprintf(os.Stderr, "%d of %d seeds, %.0f a second, %s to go\n", done, len(list), rate,
						time.Duration(float64(len(list)-done)/rate*float64(time.Second)).Round(time.Second))
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	t.Logf("%d seeds, %d steps, %s", len(list), steps.Load(), time.Since(began).Round(time.Millisecond))
	if testing.Verbose() && len(list) > 1 {
		t.Log(table(reached))
	}
	return reached
}

func tell(t *testing.T, report sim.Report) {
	t.Helper()
	t.Errorf("seed %d: %s: %s\n%s\nreplay: go test ./engine/sim -count=1 -v -run '^TestSeeds$' -args -seed=%d -trace",
		report.Seed, report.Failure.Invariant, report.Failure.Detail, strings.Join(report.Trace[max(0, len(report.Trace)-60):], "\n"), report.Seed)
}

// tellShrunk reports a failure, and the smallest world that still fails.
func tellShrunk(t *testing.T, report sim.Report) {
	t.Helper()
	worlds := min(120, 1+20_000_000/report.Steps) // one that does not come to rest takes seconds
	options, least := sim.Shrink(report, sim.Options{Stack: debug.Stack}, worlds)
	tell(t, least)
	left := make([]string, len(options.Without))
	for i, choice := range options.Without {
		left[i] = strconv.Itoa(choice)
	}
	var kept []string
	for choice, name := range sim.Choices() {
		if !slices.Contains(options.Without, choice) {
			kept = append(kept, name)
		}
	}
	t.Logf("shrunk to the %d choices that it needs: %s\nreplay: go test ./engine/sim -count=1 -v -run '^TestSeeds$' -args -seed=%d -trace -without=%s -trouble=%s",
		len(kept), strings.Join(kept, "; "), report.Seed, strings.Join(left, ","), options.Trouble)
}

func table(reached map[sim.Count]int) string {
	var lines []string
	for c, times := range reached {
		lines = append(lines, fmt.Sprintf("%-12s %-62s %9d", c.Kind, c.What, times))
	}
	slices.Sort(lines)
	return "reached:\n" + strings.Join(lines, "\n")
}

// wantReached fails where something that can happen never did: then its handling is not tested.
func wantReached(t *testing.T, reached map[sim.Count]int) {
	t.Helper()
	for _, c := range sim.Reachable() {
		if reached[c] == 0 {
			t.Errorf("in all these worlds this never happened: %s: %s", c.Kind, c.What)
		}
	}
}
