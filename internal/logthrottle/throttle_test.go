package logthrottle

import (
	"testing"
	"time"
)

func TestLinesAboutOneSubjectAreLoggedOnceASecondWithTheNumberSuppressed(t *testing.T) {
	var throttle Throttle
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	want := func(subject string, after time.Duration, suppressed int, ok bool) {
		t.Helper()
		now = now.Add(after)
		if n, allowed := throttle.Allow(subject, now); n != suppressed || allowed != ok {
			t.Errorf("%s: %d suppressed, %t; want %d, %t", subject, n, allowed, suppressed, ok)
		}
	}
	want("publish", 0, 0, true)
	want("publish", time.Millisecond, 0, false)
	want("inspect", 0, 0, true)
	want("publish", time.Millisecond, 0, false)
	want("publish", Interval, 2, true)
	want("publish", time.Hour, 0, true)
}
