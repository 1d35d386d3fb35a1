package wheel_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidewheel/tidewheel/engine/wheel"
)

var start = time.Date(2026, time.March, 29, 1, 59, 59, 999_999_999, time.UTC)

// fired collects what an Advance fires, as "offset value".
func fired(w *wheel.Wheel[string], now time.Time) []string {
	var got []string
	w.Advance(now, func(at time.Time, value string) {
		got = append(got, fmt.Sprint(at.Sub(start), " ", value))
	})
	return got
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("fired (-want +got):\n%s", diff)
	}
}

func TestFiresNoNanosecondEarly(t *testing.T) {
	w := wheel.New[string](start)
	for _, offset := range []time.Duration{1, 2, time.Millisecond, time.Hour, 400 * 24 * time.Hour} {
		w.Schedule(start.Add(offset), "")
	}
	for _, offset := range []time.Duration{1, 2, time.Millisecond, time.Hour, 400 * 24 * time.Hour} {
		expect(t, fired(w, start.Add(offset-1)))
		expect(t, fired(w, start.Add(offset)), offset.String()+" ")
	}
	if w.Len() != 0 {
		t.Errorf("Len = %d after all fired", w.Len())
	}
}

func TestOrderIsInstantThenSchedule(t *testing.T) {
	w := wheel.New[string](start)
	w.Schedule(start.Add(time.Minute), "a")
	w.Schedule(start.Add(7), "b")
	w.Schedule(start.Add(time.Minute), "c")
	w.Schedule(start.Add(5), "d")
	w.Schedule(start.Add(7), "e")
	w.Schedule(start.Add(-time.Minute), "f")
	expect(t, fired(w, start.Add(time.Hour)), "-1m0s f", "5ns d", "7ns b", "7ns e", "1m0s a", "1m0s c")
}

func TestPastFiresAtTheNextAdvance(t *testing.T) {
	w := wheel.New[string](start)
	w.Schedule(start.AddDate(-1000, 0, 0), "")
	if next, ok := w.Next(); !ok || !next.Before(start) {
		t.Errorf("Next = %v, %v; want the instant that has passed", next, ok)
	}
	if got := fired(w, start); len(got) != 1 {
		t.Errorf("fired %q, want one timer", got)
	}
}

func TestTimeGoesBack(t *testing.T) {
	w := wheel.New[string](start)
	w.Schedule(start.Add(time.Hour), "a")
	w.Schedule(start.Add(2*time.Hour), "b")
	expect(t, fired(w, start.Add(time.Hour)), "1h0m0s a")
	expect(t, fired(w, start.Add(-time.Hour)))

	// What is scheduled while the clock is behind keeps its own instant.
	w.Schedule(start.Add(30*time.Minute), "c")
	w.Schedule(start.Add(10*time.Minute), "d")
	expect(t, fired(w, start))
	expect(t, fired(w, start.Add(20*time.Minute)), "10m0s d")
	expect(t, fired(w, start.Add(3*time.Hour)), "30m0s c", "2h0m0s b")
}

// Walking the ticks of ten thousand years would take this test days.
func TestTimeJumpsByMillennia(t *testing.T) {
	w := wheel.New[string](start)
	far := start.AddDate(10_000, 0, 0)
	w.Schedule(far, "")
	w.Advance(far.Add(-1), func(time.Time, string) { t.Fatal("fired early") })
	count := 0
	w.Advance(far.AddDate(10_000, 0, 0), func(time.Time, string) { count++ })
	if count != 1 {
		t.Errorf("fired %d times, want 1", count)
	}
}

func TestEveryInstantThereIs(t *testing.T) {
	instants := []time.Time{
		time.Unix(math.MinInt64/2, 0), time.Unix(-1<<60, 1), {}, time.Unix(-1, 999_999_999), time.Unix(0, 0),
		start, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		time.Unix(1<<60, 0), time.Unix(1<<60, 1), time.Unix(1<<61, 0),
	}
	for _, origin := range instants {
		w := wheel.New[int](origin)
		for i := range slices.Backward(instants) {
			w.Schedule(instants[i], i)
		}
		for i, instant := range instants {
			w.Advance(instant, func(at time.Time, value int) {
				// All that is past at the start, and then each in its turn.
				if at.After(instant) || value > i {
					t.Errorf("start %v: %v fired at %v", origin, at, instant)
				}
			})
			if want := len(instants) - i - 1; w.Len() != want {
				t.Errorf("start %v: %d timers left after %v, want %d", origin, w.Len(), instant, want)
			}
		}
	}
}

func TestFireSchedulesAndCancels(t *testing.T) {
	w := wheel.New[string](start)
	var victim *wheel.Timer[string]
	var got []string
	w.Schedule(start.Add(time.Second), "first")
	victim = w.Schedule(start.Add(2*time.Second), "victim")
	w.Schedule(start.Add(3*time.Second), "last")
	w.Advance(start.Add(3*time.Second), func(at time.Time, value string) {
		got = append(got, fmt.Sprint(at.Sub(start), " ", value))
		if value != "first" {
			return
		}
		if !w.Cancel(victim) {
			t.Error("Cancel of a due timer that has not fired = false")
		}
		w.Schedule(start.Add(2*time.Second), "due")
		w.Schedule(start.Add(-time.Second), "past")
		w.Schedule(start.Add(3*time.Second+1), "later")
		if next, ok := w.Next(); !ok || !next.Equal(start.Add(-time.Second)) {
			t.Errorf("Next inside fire = %v, %v", next, ok)
		}
	})
	expect(t, got, "1s first", "-1s past", "2s due", "3s last")
	expect(t, fired(w, start.Add(4*time.Second)), "3.000000001s later")
}

func TestCancel(t *testing.T) {
	w := wheel.New[string](start)
	if w.Cancel(nil) {
		t.Error("Cancel(nil) = true")
	}
	timer := w.Schedule(start.Add(time.Hour), "a")
	if other := wheel.New[string](start); other.Cancel(timer) {
		t.Error("another wheel cancelled the timer")
	}
	if !w.Cancel(timer) || w.Cancel(timer) {
		t.Error("Cancel is true once")
	}
	if _, ok := w.Next(); ok || w.Len() != 0 {
		t.Error("the cancelled timer is still there")
	}
	timer = w.Schedule(start, "b")
	expect(t, fired(w, start), "0s b")
	if w.Cancel(timer) {
		t.Error("Cancel of a fired timer = true")
	}
}

// A clock reading carries a monotonic part that must not decide: the wall clock may have been set since.
func TestMonotonicReadingIsDropped(t *testing.T) {
	reading := time.Now()
	w := wheel.New[string](reading)
	w.Schedule(reading, "")
	w.Advance(reading, func(at time.Time, _ string) {
		if at != reading.Round(0) {
			t.Errorf("fired at %v, want %v", at, reading.Round(0))
		}
	})
}

func TestScheduleAllocatesOnce(t *testing.T) {
	w := wheel.New[int](start)
	now := start
	allocations := testing.AllocsPerRun(1000, func() {
		w.Schedule(now.Add(time.Minute), 0)
		w.Cancel(w.Schedule(now.Add(time.Hour), 0))
		now = now.Add(time.Second)
		w.Advance(now, func(time.Time, int) {})
		w.Next()
	})
	if allocations != 2 {
		t.Errorf("%v allocations for two timers", allocations)
	}
}
