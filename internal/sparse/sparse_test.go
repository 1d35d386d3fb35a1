package sparse

import (
	"testing"
	"time"
)

func TestTheSameIsSaidOnceASecond(t *testing.T) {
	var s Sayings
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	want := func(what string, after time.Duration, passed int, say bool) {
		t.Helper()
		now = now.Add(after)
		if p, ok := s.Say(what, now); p != passed || ok != say {
			t.Errorf("%s: %d passed, %t; want %d, %t", what, p, ok, passed, say)
		}
	}
	want("publish", 0, 0, true)
	want("publish", time.Millisecond, 0, false)
	want("inspect", 0, 0, true)
	want("publish", time.Millisecond, 0, false)
	want("publish", Every, 2, true)
	want("publish", time.Hour, 0, true)
}
