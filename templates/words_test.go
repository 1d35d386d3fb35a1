package templates

import (
	"strings"
	"testing"
	"time"
)

func TestRelativeTime(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for past, want := range map[time.Duration]string{
		0: "now", 900 * time.Millisecond: "now", -900 * time.Millisecond: "now",
		time.Second: "1 s ago", 59*time.Second + 999*time.Millisecond: "59 s ago", time.Minute: "1 min ago",
		59*time.Minute + 59*time.Second: "59 min ago", time.Hour: "1 h ago", 47 * time.Hour: "47 h ago", 48 * time.Hour: "2 d ago",
		-42 * time.Second: "in 42 s", -3 * time.Hour: "in 3 h", -30 * 24 * time.Hour: "in 30 d",
	} {
		if got := relativeTime(now.Add(-past), now); got != want {
			t.Errorf("%v ago is %q, want %q", past, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 ms", 0: "0.0 ms", 1250 * time.Microsecond: "1.2 ms", 42 * time.Millisecond: "42 ms", 999 * time.Millisecond: "999 ms",
		1234 * time.Millisecond: "1.2 s", 59_990 * time.Millisecond: "59.9 s", 65 * time.Second: "1 min 05 s", 2*time.Hour + 5*time.Minute: "2 h 05 min",
	} {
		if got := Span(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 1023: "1023 bytes", 1024: "1.0 KiB", 5 << 20: "5.0 MiB", 3 << 30: "3.0 GiB", 1 << 60: "1024.0 PiB"} {
		if got := Size(bytes); got != want {
			t.Errorf("%d is %q, want %q", bytes, got, want)
		}
	}
}

// A status has a word and a shape besides its colour, and each shape is drawn.
func TestEveryStatusHasAShape(t *testing.T) {
	var drawn strings.Builder
	if err := shapes().Render(t.Context(), &drawn); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, status := range []string{
		"scheduled", "queued", "running", "retrying", "succeeded", "failed", "timed_out", "cancelled", "lost", "dead", "skipped", "missed", "paused",
	} {
		l := statusLook(status)
		if !strings.Contains(drawn.String(), `id="shape-`+l.shape+`"`) {
			t.Errorf("%s has the shape %q, which is not drawn", status, l.shape)
		}
		if other, taken := seen[l.shape]; taken {
			t.Errorf("%s and %s have the same shape", status, other)
		}
		seen[l.shape] = status
	}
}

func TestShortID(t *testing.T) {
	for id, want := range map[string]string{"abc-s1795176000000": "s…76000000", "abc-k12": "k12", "odd": "odd"} {
		if got := shortID(id); got != want {
			t.Errorf("%s is %q, want %q", id, got, want)
		}
	}
}
