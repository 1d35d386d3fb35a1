package cron

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the same zones on every machine, with or without an operating system's own
)

// horizon is the first instant, in Unix seconds, at which nothing is scheduled
// any more: the start of lastYear+1, UTC.
var horizon = dayNumber(lastYear+1, 1, 1) * secondsPerDay

// A zone is a time zone as a list of periods of constant offset, ascending and
// without holes, from before 1970 to beyond the horizon. It is immutable.
type zone struct {
	location *time.Location
	starts   []int64 // first instant of period i, Unix seconds; starts[0] is before everything
	offsets  []int64 // wall time minus instant during period i, seconds
	// reached is the latest wall time that any instant before starts[i] has
	// shown. Walls up to it are past, even where the clock has gone back.
	reached []wall
}

const beginningOfTime = -1 << 60

// newZone tabulates a location: about 1 ms and up to 12 KB, once for each zone.
func newZone(location *time.Location) *zone {
	z := &zone{location: location}
	at := time.Unix(-2*366*secondsPerDay, 0).In(location)
	_, offset := at.Zone()
	z.add(beginningOfTime, int64(offset))
	for {
		_, end := at.ZoneBounds()
		if !end.IsZero() && !end.After(at) {
			// On the last day of a leap year beyond its table, package time takes
			// the year to have ended (seen in Go 1.26). Walk out of that day.
			end = at.Add(time.Hour)
		}
		if end.IsZero() || end.Unix() > horizon+2*secondsPerDay {
			break
		}
		at = end
		_, offset := at.Zone()
		if int64(offset) != z.offsets[len(z.offsets)-1] { // else only its name has changed
			z.add(end.Unix(), int64(offset))
		}
	}
	return z
}

// add appends a period.
func (z *zone) add(start, offset int64) {
	reached := wall(beginningOfTime)
	if last := len(z.starts) - 1; last >= 0 {
		reached = max(z.reached[last], start-1+z.offsets[last])
	}
	z.starts = append(z.starts, start)
	z.offsets = append(z.offsets, offset)
	z.reached = append(z.reached, reached)
}

// period returns the index of the period that holds the instant.
func (z *zone) period(instant int64) int {
	low, high := 0, len(z.starts)
	for high-low > 1 {
		middle := int(uint(low+high) >> 1)
		if z.starts[middle] <= instant {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// end returns the first instant after period i.
func (z *zone) end(i int) int64 {
	if i+1 < len(z.starts) {
		return z.starts[i+1]
	}
	return 1 << 60
}

// wall returns what a clock in the zone shows at the instant.
func (z *zone) wall(instant int64) wall { return instant + z.offsets[z.period(instant)] }

// furthest is no less than any offset from UTC, in either direction: bounds of
// a search by wall time are widened by it.
const furthest = 16 * 60 * 60

// nextElapsed returns the first instant after the given one whose wall time the
// pattern names: the rule for hours with a wildcard or a step.
func (z *zone) nextElapsed(p *pattern, after int64) (int64, bool) {
	from := after + 1
	for {
		i := z.period(from)
		at, ok := p.next(from + z.offsets[i])
		if !ok {
			return 0, false
		}
		end := z.end(i)
		if instant := at - z.offsets[i]; instant < end {
			return instant, true
		}
		// All wall times from here to the one found are known to be unnamed, so
		// leap to just before it; but after a short stretch step to the next
		// period only, for walls from before the stretch may come again.
		if end-from > 2*furthest {
			end = max(end, at-furthest)
		}
		from = end
	}
}

// nextFixed returns the first instant after the given one at which the wall
// clock reaches a wall time that the pattern names: the rule for fixed hours.
// In a gap that is the first instant after it, of a repeated time the first.
func (z *zone) nextFixed(p *pattern, after int64) (int64, bool) {
	i := z.period(after)
	at, ok := p.next(max(after+z.offsets[i], z.reached[i]) + 1)
	if !ok {
		return 0, false
	}
	if start := at - furthest; start > after {
		i = z.period(start)
	}
	for ; ; i++ {
		if instant := max(z.starts[i], at-z.offsets[i]); instant < z.end(i) {
			return instant, true
		}
	}
}

// gapBefore reports whether the clock jumped forward to show the instant, and
// the last wall time before the gap.
func (z *zone) gapBefore(instant int64) (wall, bool) {
	i := z.period(instant)
	if z.starts[i] != instant || i == 0 || z.reached[i]+1 >= instant+z.offsets[i] {
		return 0, false
	}
	return z.reached[i], true
}

var utcZone = &zone{
	location: time.UTC,
	starts:   []int64{beginningOfTime}, offsets: []int64{0}, reached: []wall{beginningOfTime},
}

// zones keeps each zone that was asked for. Only names that exist are kept, so
// it is bounded by their number.
var zones sync.Map // string → *zone

//go:embed zones.txt
var zoneText string

var zoneNames = sync.OnceValue(func() []string { return strings.Fields(zoneText) })

var zoneSet = sync.OnceValue(func() map[string]bool {
	set := make(map[string]bool, len(zoneNames()))
	for _, name := range zoneNames() {
		set[name] = true
	}
	return set
})

// loadZone returns the zone of an IANA name; the error is for the user. Names
// are taken exactly as they are listed, so that what one machine accepts no
// other refuses.
func loadZone(name string) (*zone, error) {
	if name == "" || name == "UTC" {
		return utcZone, nil
	}
	if known, ok := zones.Load(name); ok {
		return known.(*zone), nil
	}
	if !zoneSet()[name] {
		return nil, unknownZone(name)
	}
	location, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone %q cannot be read: %w", name, err)
	}
	known, _ := zones.LoadOrStore(name, newZone(location))
	return known.(*zone), nil
}

// zoneAbbreviations are names that people write and that name no zone, for
// their offset changes in the year or several places use them.
var zoneAbbreviations = map[string]string{
	"PST": "America/Los_Angeles", "PDT": "America/Los_Angeles", "MDT": "America/Denver",
	"CST": "America/Chicago", "CDT": "America/Chicago", "EDT": "America/New_York",
	"BST": "Europe/London", "CEST": "Europe/Berlin", "EEST": "Europe/Athens", "MSK": "Europe/Moscow",
	"IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "KST": "Asia/Seoul", "SGT": "Asia/Singapore",
	"AEST": "Australia/Sydney", "AEDT": "Australia/Sydney", "NZST": "Pacific/Auckland", "NZDT": "Pacific/Auckland",
	"BRT": "America/Sao_Paulo", "Z": "UTC",
}

func unknownZone(name string) error {
	if name == "Local" {
		return fmt.Errorf("time zone \"Local\" differs from machine to machine; name the zone, such as Asia/Dhaka, or UTC")
	}
	if len(name) > 64 {
		return fmt.Errorf("time zone %q… is too long; write an IANA name such as Asia/Dhaka, or UTC", name[:min(32, len(name))])
	}
	if known, ok := zoneAbbreviations[strings.ToUpper(name)]; ok {
		return fmt.Errorf("unknown time zone %q; did you mean %s?", name, known)
	}
	if near, ok := nearestZone(name); ok {
		return fmt.Errorf("unknown time zone %q; did you mean %s?", name, near)
	}
	return fmt.Errorf("unknown time zone %q; write an IANA name such as Asia/Dhaka, or UTC", name)
}

// nearestZone returns the zone whose name, or whose last part, is nearest.
func nearestZone(name string) (string, bool) {
	wanted := strings.ToLower(strings.ReplaceAll(name, " ", "_"))
	best, nearest := "", 3+len(wanted)/8
	for _, candidate := range zoneNames() {
		lower := strings.ToLower(candidate)
		distance := editDistance(wanted, lower, nearest)
		if !strings.Contains(wanted, "/") {
			city := lower[strings.LastIndexByte(lower, '/')+1:]
			distance = min(distance, editDistance(wanted, city, nearest))
		}
		if distance < nearest {
			best, nearest = candidate, distance
		}
	}
	return best, best != ""
}

// editDistance is the Levenshtein distance of two short names, or any number
// from limit on when it is no less than limit.
func editDistance(a, b string, limit int) int {
	if difference := len(a) - len(b); difference >= limit || -difference >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
