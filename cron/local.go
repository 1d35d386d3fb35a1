package cron

import (
	"fmt"
	"time"
)

// Local returns the instant at which the clocks of a zone show a date and a time of day; the zone of wall is not looked at. It goes by
// the rule of schedules with a fixed hour: a time in a gap stands for the first instant after the gap, and a repeated time
// for its first pass. The note says which was taken, for people; it is "" where there is only one.
func Local(wall time.Time, location *time.Location) (at time.Time, note string) {
	year, month, day := wall.Date()
	hour, minute, second := wall.Clock()
	at = time.Date(year, month, day, hour, minute, second, wall.Nanosecond(), location)
	const form = "2006-01-02 15:04:05"
	shown := wall.Format(form)
	if at.Format(form) != shown {
		// time.Date has taken the offset of one side of the gap: the gap is the nearer end of the period that it has come to.
		start, end := at.ZoneBounds()
		gap := start
		if start.IsZero() || !end.IsZero() && end.Sub(at) < at.Sub(start) {
			gap = end
		}
		return gap, fmt.Sprintf("%s does not exist in %s: the clocks go forward then. %s is taken, the first moment after.",
			wall.Format("2006-01-02 15:04"), location, gap.Format("15:04"))
	}
	first, last := at, at
	start, end := at.ZoneBounds()
	if before := sameWall(at, start.Add(-1)); !start.IsZero() && before.Before(start) && before.Format(form) == shown {
		first = before
	}
	if after := sameWall(at, end); !end.IsZero() && !after.Before(end) && after.Format(form) == shown {
		last = after
	}
	if first.Equal(last) {
		return at, ""
	}
	return first, fmt.Sprintf("%s happens twice in %s: the clocks go back then. The first is taken, at %s UTC.",
		wall.Format("2006-01-02 15:04"), location, first.UTC().Format("15:04"))
}

// sameWall returns the instant that shows the same time as at on clocks with the offset of another instant.
func sameWall(at, other time.Time) time.Time {
	_, offset := at.Zone()
	_, otherOffset := other.Zone()
	return at.Add(time.Duration(offset-otherOffset) * time.Second)
}
