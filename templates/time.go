package templates

import (
	"fmt"
	"strconv"
	"time"
)

// The words below are those of static/src/js/time.js, so that nothing on the page changes when the script begins.

func machineTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func utcTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }

// relativeTime is how far an instant is from now: "42 s ago", "in 3 min".
func relativeTime(t, now time.Time) string {
	past := now.Sub(t)
	switch {
	case past.Abs() < time.Second:
		return "now"
	case past > 0:
		return roughly(past) + " ago"
	}
	return "in " + roughly(-past)
}

func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d d", d/(24*time.Hour))
}

// elapsedTime is how long something has gone on, to the second.
func elapsedTime(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", d/time.Minute, d/time.Second%60)
	}
	return fmt.Sprintf("%d h %02d min", d/time.Hour, d/time.Minute%60)
}

// Span is how long something took, as exactly as is worth reading: "8 ms", "4.2 s", "3 min 05 s".
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "0 ms"
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 1, 64) + " ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d/time.Millisecond)
	case d < time.Minute:
		return strconv.FormatFloat(float64(d/(100*time.Millisecond))/10, 'f', 1, 64) + " s"
	}
	return elapsedTime(d)
}

// Size is a number of bytes for people: "812 bytes", "4.6 MiB".
func Size(bytes int64) string {
	if bytes == 1 {
		return "1 byte"
	}
	if bytes < 1024 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	n, unit := float64(bytes)/1024, 0
	for n >= 1024 && unit < 4 {
		n /= 1024
		unit++
	}
	return fmt.Sprintf("%.1f %ciB", n, "KMGTP"[unit])
}

// Plural is a number with its noun.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + many
}
