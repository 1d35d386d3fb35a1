package core_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/spec"
)

// TestBackoffBounds draws many waits: none leaves its bound, and they use all of the room below it.
func TestBackoffBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		delay, most time.Duration
		failures    int
		bound       time.Duration
	}{
		{time.Second, time.Minute, 1, time.Second},
		{time.Second, time.Minute, 2, 2 * time.Second},
		{time.Second, time.Minute, 5, 16 * time.Second},
		{time.Second, time.Minute, 7, time.Minute},
		{time.Second, time.Minute, 1000, time.Minute},
		{time.Second, 0, 3, 4 * time.Second},
		{time.Minute, time.Second, 1, time.Second},
		{0, time.Minute, 3, 0},
	} {
		retry := spec.Retry{Delay: spec.Duration(c.delay), MaxDelay: spec.Duration(c.most)}
		least, most := time.Duration(1<<62), time.Duration(-1)
		for range 2000 {
			wait := core.Backoff(retry, c.failures, random)
			least, most = min(least, wait), max(most, wait)
		}
		if least < 0 || most > c.bound {
			t.Errorf("%+v: waits from %s to %s", c, least, most)
		}
		if least > c.bound/100 || most < c.bound-c.bound/100 {
			t.Errorf("%+v: waits from %s to %s: not the full jitter", c, least, most)
		}
	}
	if wait := core.Backoff(spec.Retry{Delay: spec.Duration(time.Second)}, 1<<20, random); wait < 0 || wait > 2*365*24*time.Hour {
		t.Errorf("without a bound, after many failures: %s", wait)
	}
}

func TestRetriableExit(t *testing.T) {
	own := spec.Retry{On: []int{64}, NotOn: []int{1}}
	for _, c := range []struct {
		code     int
		plain    bool
		withOwns bool
	}{
		{0, false, false}, {1, true, false}, {64, false, true}, {65, false, false}, {75, true, true}, {77, false, false},
		{78, false, false}, {124, true, true}, {137, true, true}, {2, true, true},
	} {
		if got := core.RetriableExit(c.code, spec.Retry{}); got != c.plain {
			t.Errorf("exit %d: %v", c.code, got)
		}
		if got := core.RetriableExit(c.code, own); got != c.withOwns {
			t.Errorf("exit %d with the job's own lists: %v", c.code, got)
		}
	}
}

// A letter says that trying again did not help (ADR 33): with one try there was nothing to use up.
func TestRunThatIsTriedOnceLeavesNoDeadLetter(t *testing.T) {
	for tries, want := range map[string]engine.Status{"tries=1": engine.StatusFailed, "tries=2": engine.StatusDead} {
		b := newBench(t)
		b.do([]string{"define", "at=5s", tries})
		b.do([]string{"at", "4.75s"})
		b.do([]string{"at", "5s"})
		for _, attempt := range []string{"5s/1", "5s/2"} {
			b.do([]string{"started", attempt})
			b.do([]string{"finished", attempt, "1"})
			b.do([]string{"at", "10s"})
		}
		run, err := b.store.Run(t.Context(), b.runID("5s"))
		if err != nil {
			t.Fatal(err)
		}
		letters, _, err := b.store.DeadLetters(t.Context(), "default", "", 10)
		if err != nil {
			t.Fatal(err)
		}
		if run.Status != want || len(letters) != map[engine.Status]int{engine.StatusDead: 1}[want] {
			t.Errorf("%s: the run is %s, and there are %d letters", tries, run.Status, len(letters))
		}
	}
}
