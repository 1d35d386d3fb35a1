package chaos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/e2e"
)

// Passed on by `make test-chaos`.
var (
	length = flag.Duration("chaos", 0, "how long the long chaos lasts; 0 leaves it out")
	seed   = flag.Uint64("seed", 0, "decides what goes wrong, and when, in the long and the short form; 0 draws one")
	keep   = flag.String("keep", "", "a new folder for all files of the long chaos, which stays")
)

// The programs under test, built once.
var program, witness string

func TestMain(m *testing.M) {
	is, err := Helper(os.Args[1:], os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	case !is:
		os.Exit(run(m))
	}
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tidewheel-chaos-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func build(dir string) (err error) {
	if err := os.Chmod(dir, 0o755); err != nil { // its guardian and its jobs come from here
		return err
	}
	if program, err = e2e.Build(context.Background(), dir); err != nil {
		return err
	}
	witness, err = e2e.BuildOf(context.Background(), dir, "e2e/chaos/witness")
	return err
}

// chosenSeed is the one that was asked for, or a new one; chaos prints it.
func chosenSeed() uint64 {
	if *seed != 0 {
		return *seed
	}
	return 1 + rand.Uint64N(1<<32)
}

// A short chaos, which needs no rights. Each run has another seed: -args -seed=N replays one.
func TestShortChaosLosesNothing(t *testing.T) {
	t.Parallel()
	Run(t, program, witness, Config{
		Seed: chosenSeed(), Length: 12 * time.Second, Pace: 700 * time.Millisecond, Jobs: 40, Period: 3, DAGs: 2, Executors: 3, Slots: 16, Lockers: 2,
		Drain: 2 * time.Second, Settle: 2 * time.Minute,
	})
}

// TestChaosLosesNothing is `make test-chaos`.
func TestChaosLosesNothing(t *testing.T) {
	if *length == 0 {
		t.Skip("it lasts long: make test-chaos")
	}
	skewed, err := e2e.BuildSkewed(t.Context(), t.TempDir(), 7*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	Run(t, program, witness, Config{
		Seed: chosenSeed(), Length: *length, Pace: 1500 * time.Millisecond, Jobs: 200, Period: 10, DAGs: 6, Executors: 4, Slots: 32, Lockers: 3,
		Drain: 3 * time.Second, Namespaces: true, Disks: true, Settle: 5 * time.Minute, Keep: *keep, Skewed: skewed,
	})
}
