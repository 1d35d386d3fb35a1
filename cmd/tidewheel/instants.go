package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// dayPattern: days and weeks are for people; definitions know none, because a day may have 23 hours there.
var longUnits = map[byte]time.Duration{'d': 24 * time.Hour, 'w': 7 * 24 * time.Hour}

// parseSpan reads a duration such as 90s, 24h, 30d or 2w.
func parseSpan(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	if n := len(text); n > 1 {
		if unit, long := longUnits[text[n-1]]; long {
			count, err := strconv.ParseFloat(text[:n-1], 64)
			if err == nil && count >= 0 && count*float64(unit) < float64(1<<62) {
				return time.Duration(count * float64(unit)), nil
			}
		}
	}
	span, err := time.ParseDuration(text)
	if err != nil || span < 0 {
		return 0, fmt.Errorf("%q is no duration: write 90s, 10m, 24h, 30d or 2w", text)
	}
	return span, nil
}

// parseInstant reads an instant: RFC 3339, or a date with or without a time of day, in the zone given.
func parseInstant(text string, zone *time.Location) (time.Time, error) {
	text = strings.TrimSpace(text)
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	for _, layout := range []string{"2006-01-02", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: write 2026-12-31T15:04:05Z, or 2026-12-31, or 2026-12-31 15:04", text)
}

// parseSince reads how far back to look: a duration before now, or an instant.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if span, err := parseSpan(text); err == nil {
		return now.Add(-span), nil
	}
	at, err := parseInstant(text, time.UTC)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is neither a duration (24h, 7d) nor a time (2026-12-31T15:04:05Z)", text)
	}
	return at, nil
}

// parseWhen reads when to begin: a duration from now on, or an instant.
func parseWhen(text string, now time.Time) (time.Time, error) {
	if text == "" || text == "now" {
		return time.Time{}, nil
	}
	if span, err := parseSpan(strings.TrimPrefix(text, "+")); err == nil {
		return now.Add(span), nil
	}
	at, err := parseInstant(text, time.UTC)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is neither a time (2026-12-31T15:04:05Z) nor a duration from now (10m)", text)
	}
	return at, nil
}

// ago reports how far an instant lies from now, roughly: "3m ago", "in 20s".
func (c *cli) ago(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	span := c.now().Sub(at)
	switch {
	case span >= time.Second:
		return roughly(span) + " ago"
	case span <= -time.Second:
		return "in " + roughly(-span)
	}
	return "now"
}

// roughly returns a duration in its two largest units.
func roughly(span time.Duration) string {
	switch {
	case span < 0:
		return ""
	case span < time.Second:
		return span.Round(time.Millisecond).String()
	case span < 10*time.Second:
		return span.Round(100 * time.Millisecond).String()
	case span < time.Minute:
		return span.Round(time.Second).String()
	case span < time.Hour:
		return pair(span, time.Minute, "m", time.Second, "s")
	case span < 48*time.Hour:
		return pair(span, time.Hour, "h", time.Minute, "m")
	}
	return pair(span, 24*time.Hour, "d", time.Hour, "h")
}

func pair(span, large time.Duration, largeUnit string, small time.Duration, smallUnit string) string {
	text := fmt.Sprintf("%d%s", span/large, largeUnit)
	if rest := span % large / small; rest > 0 && span/large < 10 {
		text += fmt.Sprintf("%d%s", rest, smallUnit)
	}
	return text
}

// stamp returns an instant as users read it, in UTC.
func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	at = at.UTC()
	if at.Nanosecond() == 0 {
		return at.Format("2006-01-02 15:04:05Z")
	}
	return at.Format("2006-01-02 15:04:05.000Z")
}

// bytesOf returns a size as users read it.
func bytesOf(size int64) string {
	switch {
	case size < 1<<10:
		return fmt.Sprintf("%d B", size)
	case size < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(size)/(1<<10))
	case size < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(size)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(size)/(1<<30))
}
