package cron

import (
	"fmt"
	"strings"
	"time"
)

// Slot is a slot with what there is to say about it.
type Slot struct {
	Slot     time.Time // UTC
	Local    time.Time // the same instant in the schedule's time zone
	Note     string    // what is unusual about it, in words; mostly empty
	Excluded bool      // it is recorded as skipped, and does not fire
}

// Preview returns the next n firing slots after the given instant, fewer when
// the schedule ends before. Gaps, repeats and excluded slots that were passed
// over are in the notes. The slots are those that NextFire returns.
func (s *Schedule) Preview(after time.Time, n int) []Slot {
	var slots []Slot
	for len(slots) < n {
		next, ok := s.NextFire(after)
		if !ok {
			break
		}
		slot := s.Explain(next)
		if passed := s.passedOver(after, next); passed != "" {
			slot.Note = joinNotes(slot.Note, passed)
		}
		slots = append(slots, slot)
		after = next
	}
	return slots
}

// Explain returns a slot of the schedule with words for what is unusual about it.
func (s *Schedule) Explain(slot time.Time) Slot {
	explained := Slot{Slot: slot.UTC(), Local: slot.In(s.zone.location), Excluded: s.Excluded(slot)}
	if s.kind == KindCron {
		explained.Note = joinNotes(s.gapNote(slot.Unix()), s.repeatNote(slot.Unix()))
	}
	if explained.Excluded {
		explained.Note = joinNotes("excluded by "+s.excludedBy(slot), explained.Note)
	}
	return explained
}

func joinNotes(notes ...string) string {
	var said []string
	for _, note := range notes {
		if note != "" {
			said = append(said, note)
		}
	}
	return strings.Join(said, "; ")
}

// gapNote returns a note on what a gap has done to the slot: moved it there, or dropped
// what would have come just before it.
func (s *Schedule) gapNote(instant int64) string {
	i := s.zone.period(instant)
	start := s.zone.starts[i]
	resumed := start + s.zone.offsets[i]
	last, gap := s.zone.gapBefore(start)
	if !gap {
		return ""
	}
	var moved, dropped wallSpan
	for e := range s.expressions {
		e := &s.expressions[e]
		switch {
		case e.every != 0:
		case e.fixed && instant == start:
			moved.addAll(&e.pattern, last+1, resumed)
		case !e.fixed && s.firstSince(e, start) == instant:
			dropped.addAll(&e.pattern, last+1, resumed)
		}
	}
	shown := instant + s.zone.offsets[i]
	var notes []string
	if moved.count > 0 {
		how := "runs at"
		if moved.count > 1 {
			how = "runs once, at"
		}
		notes = append(notes, fmt.Sprintf("%s on this day (clocks go forward): %s %s instead", moved.missing(shown), how, clockText(shown, shown)))
	}
	if dropped.count > 0 {
		notes = append(notes, dropped.missing(shown)+" on this day (clocks go forward): nothing runs in its place")
	}
	return joinNotes(notes...)
}

// firstSince returns the first slot of an expression at or after start.
func (s *Schedule) firstSince(e *expression, start int64) int64 {
	if first, ok := s.zone.nextSlot(e, start-1); ok {
		return first
	}
	return -1 << 62
}

// A wallSpan is the first and last of some wall times.
type wallSpan struct {
	count       int
	first, last wall
}

func (w *wallSpan) addAll(p *pattern, from, to wall) {
	for at, ok := p.next(from); ok && at < to; at, ok = p.next(at + 1) {
		if w.count == 0 || at < w.first {
			w.first = at
		}
		if w.count == 0 || at > w.last {
			w.last = at
		}
		if w.first != w.last || w.count == 0 {
			w.count++
		}
	}
}

func (w *wallSpan) missing(shown wall) string {
	if w.count == 1 {
		return clockText(w.first, shown) + " does not exist"
	}
	return clockText(w.first, shown) + " to " + clockText(w.last, shown) + " do not exist"
}

// repeatNote returns a note on a wall time that comes twice.
func (s *Schedule) repeatNote(instant int64) string {
	z := s.zone
	i := z.period(instant)
	shown := instant + z.offsets[i]
	elapsed, planned := false, false
	for e := range s.expressions {
		e := &s.expressions[e]
		if e.every == 0 && e.pattern.matches(shown) {
			planned = true
			elapsed = elapsed || !e.fixed
		}
	}
	switch {
	case !planned:
		return ""
	case elapsed && shown <= z.reached[i]:
		return "second pass of the repeated " + lengthText(z.offsets[i-1]-z.offsets[i]) + " (clocks go back)"
	case i+1 == len(z.starts) || shown < z.starts[i+1]+z.offsets[i+1]:
		return ""
	case elapsed:
		return "first pass of the repeated " + lengthText(z.offsets[i]-z.offsets[i+1]) + " (clocks go back)"
	default:
		return fmt.Sprintf("first of two %s (clocks go back); the second does not run", clockText(shown, shown))
	}
}

func lengthText(seconds int64) string {
	if seconds == 3600 {
		return "hour"
	}
	return durationText(time.Duration(seconds) * time.Second)
}

// mostPassed bounds what Preview counts between two firing slots.
const mostPassed = 1000

// passedOver returns a note on the excluded slots between an instant and the firing slot after it.
func (s *Schedule) passedOver(after, fires time.Time) string {
	if len(s.exclusions) == 0 {
		return ""
	}
	var first, last time.Time
	count := 0
	for slot := range s.Between(after, fires.Add(-1)) {
		if count == mostPassed {
			count++
			break
		}
		if count++; count == 1 {
			first = slot
		}
		last = slot
	}
	local := func(slot time.Time) string { return slot.In(s.zone.location).Format("2006-01-02 15:04") }
	switch {
	case count == 0:
		return ""
	case count == 1:
		return fmt.Sprintf("passes over the slot of %s, excluded by %s", local(first), s.excludedBy(first))
	case count > mostPassed:
		return fmt.Sprintf("passes over more than %d excluded slots from %s on, the first excluded by %s", mostPassed, local(first), s.excludedBy(first))
	default:
		return fmt.Sprintf("passes over %d excluded slots from %s to %s, the first excluded by %s", count, local(first), local(last), s.excludedBy(first))
	}
}

// excludedBy names an exclusion that holds the excluded slot.
func (s *Schedule) excludedBy(slot time.Time) string {
	shown := s.zone.wall(clampSecond(slot))
	for i := range s.exclusions {
		x := &s.exclusions[i]
		if x.holds(slot) || x.expression != nil && x.expression.pattern.matches(shown) {
			return x.String()
		}
	}
	return "the time it was planned for"
}

// clockText spells a wall time, with its date where that is not the day of near.
func clockText(at, near wall) string {
	moment := time.Unix(at, 0).UTC()
	layout := "15:04"
	if moment.Second() != 0 {
		layout = "15:04:05"
	}
	day, _ := splitWall(at)
	if nearDay, _ := splitWall(near); day != nearDay {
		layout = "2006-01-02 " + layout
	}
	return moment.Format(layout)
}

// durationText spells a duration without the zeros that time.Duration ends in.
func durationText(d time.Duration) string {
	text := d.String()
	if d >= time.Minute {
		if shorter, ok := strings.CutSuffix(text, "m0s"); ok {
			text = shorter + "m"
		}
		if shorter, ok := strings.CutSuffix(text, "h0m"); ok {
			text = shorter + "h"
		}
	}
	return text
}
