package cron

import (
	"fmt"
	"strings"
	"time"
)

// An exclusion is compiled from an [Exclusion]: a window, or an expression
// whose seconds are all set where the user gave none.
type exclusion struct {
	from, to   time.Time
	expression *expression
}

func (x *exclusion) String() string {
	if x.expression != nil {
		return fmt.Sprintf("%q", x.expression.source)
	}
	return fmt.Sprintf("%s to %s", x.from.Format(time.RFC3339), x.to.Format(time.RFC3339))
}

func compileExclusions(given []Exclusion, spread hash, faults *Errors) []exclusion {
	expressions := make([]string, 0, len(given))
	for _, x := range given {
		if x.Cron != "" {
			expressions = append(expressions, x.Cron)
		}
	}
	if len(given) > mostExclusions || len(expressions) > mostExpressions || totalLength(expressions) > mostText {
		faults.add("exclude", "has %d entries, %d of them expressions; at most %d entries and %d expressions of together %d bytes are kept: use windows, ranges and steps", len(given), len(expressions), mostExclusions, mostExpressions, mostText)
		return nil
	}
	compiled := make([]exclusion, 0, len(given))
	for i, x := range given {
		field := fmt.Sprintf("exclude[%d]", i)
		window := !x.From.IsZero() || !x.To.IsZero()
		switch {
		case x.Cron != "" && window:
			faults.add(field, "give an expression or from and to, not both")
		case x.Cron != "":
			if e, ok := compileExclusion(x.Cron, field, spread, faults); ok {
				compiled = append(compiled, exclusion{expression: e})
			}
		case x.From.IsZero() && x.To.IsZero():
			faults.add(field, "is empty; give an expression such as \"* * 25 12 *\", or from and to")
		case x.From.IsZero():
			faults.add(field+".from", "is missing; give the instant at which the exclusion begins")
		case x.To.IsZero():
			faults.add(field+".to", "is missing; give the instant at which the exclusion ends, or use active.until for no end")
		case !x.From.Before(x.To):
			faults.add(field+".to", "%s is not after from (%s); swap them", x.To.Format(time.RFC3339), x.From.Format(time.RFC3339))
		default:
			compiled = append(compiled, exclusion{from: x.From, to: x.To})
		}
	}
	return compiled
}

func compileExclusion(source, field string, spread hash, faults *Errors) (*expression, bool) {
	e, wrong := compileExpression(source, spread)
	for _, message := range wrong {
		faults.add(field, "%s", message)
	}
	if len(wrong) > 0 {
		return nil, false
	}
	if e.every != 0 {
		faults.add(field, "@every names no time of the clock; write an expression with fields, or from and to")
		return nil, false
	}
	if !namesSeconds(source) {
		e.pattern.second = allSixty
	}
	return &e, true
}

// namesSeconds reports whether a valid expression has a seconds field of its own.
func namesSeconds(source string) bool {
	written := strings.Fields(source)
	return len(written) == 7 || len(written) == 6 && !isYear(written[5]) || len(written) == 1 && strings.EqualFold(written[0], "@everysecond")
}

// Excluded reports whether a slot falls into an exclusion. It works for any
// instant, as if it were a slot.
func (s *Schedule) Excluded(slot time.Time) bool {
	if len(s.exclusions) == 0 {
		return false
	}
	for i := range s.exclusions {
		if s.exclusions[i].holds(slot) {
			return true
		}
	}
	return s.plannedAreExcluded(slot)
}

func (x *exclusion) holds(slot time.Time) bool {
	return x.expression == nil && !slot.Before(x.from) && slot.Before(x.to)
}

func (s *Schedule) wallExcluded(at wall) bool {
	for i := range s.exclusions {
		if e := s.exclusions[i].expression; e != nil && e.pattern.matches(at) {
			return true
		}
	}
	return false
}

// plannedAreExcluded reports whether every wall time for which the slot was
// planned is named by an exclusion. Only the first instant after a gap may have
// several, and others than the clock shows.
func (s *Schedule) plannedAreExcluded(slot time.Time) bool {
	instant := clampSecond(slot)
	shown := s.zone.wall(instant)
	last, gap := s.zone.gapBefore(instant)
	if !gap || s.kind != KindCron {
		return s.wallExcluded(shown)
	}
	planned := false
	for i := range s.expressions {
		e := &s.expressions[i]
		if !e.fixed {
			// It plans for what the clock shows, if it plans for this instant at all.
			if s.meets(e, slot, shown) {
				planned = true
				if !s.wallExcluded(shown) {
					return false
				}
			}
			continue
		}
		for at, ok := e.pattern.next(last + 1); ok && at <= shown; at, ok = e.pattern.next(at + 1) {
			planned = true
			if !s.wallExcluded(at) {
				return false
			}
		}
	}
	return planned || s.wallExcluded(shown)
}

// meets reports whether the slot is one of an expression that follows elapsed time.
func (s *Schedule) meets(e *expression, slot time.Time, shown wall) bool {
	if e.every == 0 {
		return e.pattern.matches(shown)
	}
	return (slot.UnixMilli()-s.anchor)%e.every == 0
}

// mostLeaps bounds the search for a slot that is not excluded. Each leap passes
// over a whole stretch of one exclusion, so only exclusions that take turns, or
// that hit a schedule slot by slot for decades, come near it.
const mostLeaps = 10_000

// NextFire returns the first slot strictly after the given instant that is
// inside the active window and not excluded, in UTC. False means never again;
// the search also ends after passing over 10,000 stretches of excluded slots.
// [Compile] refuses a definition that never fires in this sense.
func (s *Schedule) NextFire(after time.Time) (time.Time, bool) {
	slot, ok := s.Next(after)
	for range mostLeaps {
		if !ok || !s.Excluded(slot) {
			return slot, ok
		}
		leap := s.exclusionEnd(slot)
		if s.kind == KindAfter {
			slot, ok = s.leapAfter(slot, leap)
		} else {
			slot, ok = s.Next(leap.Add(-1))
		}
	}
	return time.Time{}, false
}

// exclusionEnd returns an instant after an excluded slot up to which,
// exclusively, one of the exclusions certainly excludes every slot.
func (s *Schedule) exclusionEnd(slot time.Time) time.Time {
	end := slot.Add(1)
	second := clampSecond(slot)
	period := s.zone.period(second)
	shown := second + s.zone.offsets[period]
	for i := range s.exclusions {
		x := &s.exclusions[i]
		if x.expression == nil {
			if x.holds(slot) && x.to.After(end) {
				end = x.to
			}
			continue
		}
		if !x.expression.pattern.matches(shown) {
			continue
		}
		until := min(s.zone.end(period), horizon)
		if free, ok := x.expression.pattern.nextUnnamed(shown); ok {
			until = min(until, free-s.zone.offsets[period])
		}
		if instant := time.Unix(until, 0); instant.After(end) {
			end = instant
		}
	}
	return end
}

// leapAfter returns the first of the slots slot + k × After that is not before
// leap: with a fixed delay a skipped slot is where the next one counts from.
func (s *Schedule) leapAfter(slot, leap time.Time) (time.Time, bool) {
	missing := leap.UnixMilli() - slot.UnixMilli()
	steps := max(1, (missing+s.interval-1)/s.interval)
	return s.Next(time.UnixMilli(slot.UnixMilli() + (steps-1)*s.interval))
}
