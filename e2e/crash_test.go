package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tidewheel-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // its guardian and its jobs come from here
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if binary, err = Build(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func TestKilledServerLosesNoSlotAndStartsNoAttemptTwice(t *testing.T) {
	Crash(t, binary)
}

func TestOutageMissesExactlyTheSlotsThatTheLedgerNames(t *testing.T) {
	t.Parallel()
	Missed(t, binary)
}

func TestKilledServerEndsItsWaves(t *testing.T) {
	CrashDAG(t, binary)
}

func TestEveryEdgeOfALargeWaveIsRespected(t *testing.T) {
	LargeWave(t, binary)
}

func TestEveryLinkLeadsToAPage(t *testing.T) {
	t.Parallel()
	Tour(t, binary)
}
