package attempt_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine/attempt"
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
			wait := attempt.Backoff(retry, c.failures, random)
			least, most = min(least, wait), max(most, wait)
		}
		if least < 0 || most > c.bound {
			t.Errorf("%+v: waits from %s to %s", c, least, most)
		}
		if least > c.bound/100 || most < c.bound-c.bound/100 {
			t.Errorf("%+v: waits from %s to %s: not the full jitter", c, least, most)
		}
	}
	if wait := attempt.Backoff(spec.Retry{Delay: spec.Duration(time.Second)}, 1<<20, random); wait < 0 || wait > 2*365*24*time.Hour {
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
		if got := attempt.RetriableExit(c.code, spec.Retry{}); got != c.plain {
			t.Errorf("exit %d: %v", c.code, got)
		}
		if got := attempt.RetriableExit(c.code, own); got != c.withOwns {
			t.Errorf("exit %d with the job's own lists: %v", c.code, got)
		}
	}
}
