package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"
)

// bench is one run of the benchmarks.
type bench struct {
	binary      string // bin/tidewheel
	startclock  string
	trueProgram string
	root        string  // every scenario has a folder below it
	forks       float64 // the machine's own limit, starts a second
	clockForks  float64 // the same, of startclock
	quick       bool
	mongodb     string // its URI; "" is SQLite
}

func main() {
	os.Exit(mainStatus())
}

func mainStatus() int {
	only := flag.String("only", "", "scenarios, separated by commas: lag, burst, throughput, engine, rates, instant, waves, pages, batches, retention, traces, soak, registered, takeover (default all but soak; takeover only with -mongodb-uri)")
	repeat := flag.Int("repeat", 1, "how often each scenario is run")
	quick := flag.Bool("quick", false, "shorter runs, to see that the benchmark works")
	profile := flag.String("cpuprofile", "", "write a CPU profile of this process here; of use with -only engine")
	binary := flag.String("server", "bin/tidewheel", "the program to measure")
	mongodb := flag.String("mongodb-uri", "", "engine, rates, instant, pages, registered, batches and retention on this empty database instead of SQLite")
	var size sizes
	flag.IntVar(&size.jobs, "jobs", 0, "how many jobs pages and registered have (default 10,000 and 100,000)")
	flag.DurationVar(&size.soak, "soak", 0, "how long soak takes (default 15m)")
	flag.IntVar(&size.runs, "runs", 0, "how many runs pages, batches and retention have (default 1,000,000, 50,000 and 1,000,000)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := profiled(*profile, func() error { return run(ctx, *binary, *only, *repeat, *quick, *mongodb, size) })
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

// profiled runs f, and writes its CPU profile if a file is named.
func profiled(file string, f func() error) error {
	if file == "" {
		return f()
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(out); err != nil {
		return errors.Join(err, out.Close())
	}
	err = f()
	pprof.StopCPUProfile()
	return errors.Join(err, out.Close())
}

// sizes are what a caller may ask for; 0 is what each scenario has by itself.
type sizes struct {
	jobs, runs int
	soak       time.Duration
}

func run(ctx context.Context, binary, only string, repeat int, quick bool, mongodb string, size sizes) (err error) {
	b := &bench{quick: quick, mongodb: mongodb}
	if b.binary, err = filepath.Abs(binary); err != nil {
		return err
	}
	if b.root, err = os.MkdirTemp("", "tidewheel-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.root)
	// Jobs may run as another user, who must reach the journals.
	if err := os.Chmod(b.root, 0o755); err != nil {
		return err
	}
	if err := b.buildWitness(ctx); err != nil {
		return err
	}
	if b.trueProgram, err = exec.LookPath("true"); err != nil {
		return err
	}
	seconds := func(n int) time.Duration {
		if quick {
			n = max(n/10, 3)
		}
		return time.Duration(n) * time.Second
	}
	scale := 1
	if quick {
		scale = 10
	}
	scenarios := []struct {
		name string
		run  func(context.Context) error
	}{
		{"lag", func(ctx context.Context) error { return b.lag(ctx, 1, seconds(40)) }},
		{"burst", func(ctx context.Context) error { return b.lag(ctx, 100, seconds(20)) }},
		{"throughput", func(ctx context.Context) error { return b.throughput(ctx, 20, 1000/scale) }},
		{"engine", func(ctx context.Context) error { return b.engine(ctx, 40, 1000/scale) }},
		{"rates", func(ctx context.Context) error { return b.rates(ctx, seconds(20)) }},
		{"instant", func(ctx context.Context) error { return b.instant(ctx, 1000/scale, 8/min(scale, 4)) }},
		{"waves", func(ctx context.Context) error { return b.waves(ctx, 50, 1000/scale, max(10/scale, 2)) }},
		{"pages", func(ctx context.Context) error {
			return b.pages(ctx, cmp.Or(size.jobs, 10_000/scale), cmp.Or(size.runs, 1_000_000/scale))
		}},
		{"batches", func(ctx context.Context) error { return b.batches(ctx, cmp.Or(size.runs, 50_000/scale)) }},
		{"retention", func(ctx context.Context) error {
			return b.retention(ctx, cmp.Or(size.runs, 1_000_000/scale), seconds(180))
		}},
		{"traces", func(ctx context.Context) error { return b.traces(ctx, 4, seconds(30)) }},
		{"soak", func(ctx context.Context) error { return b.soak(ctx, cmp.Or(size.soak, seconds(900))) }},
		{"takeover", func(ctx context.Context) error { return b.takeover(ctx, cmp.Or(size.runs, 10_000/scale)) }},
		{"registered", func(ctx context.Context) error { return b.registered(ctx, cmp.Or(size.jobs, 100_000/scale)) }},
	}
	wanted := func(name string) bool {
		return only == "" && name != "soak" && (name != "takeover" || mongodb != "") || slices.Contains(strings.Split(only, ","), name)
	}
	fmt.Printf("%s, %d cores, %s\n", time.Now().UTC().Format(time.RFC3339), runtime.NumCPU(), runtime.Version())
	for range repeat {
		if slices.ContainsFunc([]string{"lag", "burst", "throughput", "waves"}, wanted) {
			if err := b.machine(ctx, seconds(5)); err != nil {
				return err
			}
		}
		for _, scenario := range scenarios {
			if !wanted(scenario.name) {
				continue
			}
			if err := scenario.run(ctx); err != nil {
				return fmt.Errorf("%s: %w", scenario.name, err)
			}
		}
	}
	return nil
}

// machine measures what this machine can do by itself, of which scenarios with processes are a share.
func (b *bench) machine(ctx context.Context, d time.Duration) (err error) {
	if b.forks, err = forkRate("true", []string{}, d); err != nil {
		return err
	}
	b.print("the machine: fork, exec and reap of `true`, two workers, with a pipe", fmt.Sprintf("%.0f a second", b.forks), "")
	journal := filepath.Join(b.root, "bare")
	if err := newJournal(journal); err != nil {
		return err
	}
	b.clockForks, err = forkRate(b.startclock, []string{"JOURNAL=" + journal, "TIDEWHEEL_SLOT=none"}, d)
	if err != nil {
		return err
	}
	b.print("the same of the program that measures the lag", fmt.Sprintf("%.0f a second", b.clockForks), "")
	bare, err := bareStarts(ctx, b.startclock, journal, 100)
	if err != nil {
		return err
	}
	b.print("the machine: from the wish to start the program that measures the lag to its first line, one at a time",
		fmt.Sprintf("p50 %s, p99 %s", milliseconds(bare.at(0.5)), milliseconds(bare.at(0.99))), "")
	return nil
}

func (b *bench) print(what, measured, budget string) {
	fmt.Printf("\n%s\n    %s\n", what, measured)
	if budget != "" {
		fmt.Printf("    budget: %s\n", budget)
	}
}

// folder makes a folder for one scenario.
func (b *bench) folder() (string, error) {
	dir, err := os.MkdirTemp(b.root, "")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

func (b *bench) stop(s *server) {
	if err := s.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "bench: stop the server:", err)
	}
}
