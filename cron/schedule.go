package cron

import (
	"fmt"
	"iter"
	"strings"
	"time"
)

// Definition is what a user asked for. At most one of Cron, Every, After and At
// may be set; a definition with none of them is started manually only.
type Definition struct {
	Cron     []string      // expressions; the schedule is the union of their slots
	Every    time.Duration // fixed rate: slots at Anchor + k × Every, for every whole k
	After    time.Duration // fixed delay: the next slot is the end of the last run + After
	At       time.Time     // one-off
	Timezone string        // IANA name; "" is UTC
	Key      string        // what H spreads by: namespace/name of the job
	Anchor   time.Time     // where fixed rates count from: the job's creation; zero is the Unix epoch

	// Since is when the definition was written. A definition that has no firing
	// slot after it is refused; an At may be past. Zero is Anchor.
	Since time.Time

	From, Until time.Time   // active window [From, Until); zero is open
	Exclude     []Exclusion // slots that are recorded as skipped instead of fired
}

// Exclusion is a blackout: either an expression or a window [From, To).
type Exclusion struct {
	Cron     string
	From, To time.Time
}

// Kind is the kind of a schedule. The zero value is invalid.
type Kind uint8

// The kinds of schedule.
const (
	KindManual Kind = iota + 1 // never by itself
	KindCron                   // Definition.Cron
	KindEvery                  // Definition.Every
	KindAfter                  // Definition.After
	KindAt                     // Definition.At
)

// String returns the key that a job document uses for the kind.
func (k Kind) String() string {
	switch k {
	case KindManual:
		return "manual"
	case KindCron:
		return "cron"
	case KindEvery:
		return "every"
	case KindAfter:
		return "after"
	case KindAt:
		return "at"
	default:
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
}

// Schedule is a compiled definition: immutable, safe for concurrent use.
type Schedule struct {
	kind        Kind
	zone        *zone
	zoneName    string
	expressions []expression // of KindCron
	interval    int64        // milliseconds, of KindEvery and KindAfter
	anchor      int64        // milliseconds since the epoch
	at          time.Time
	from, until time.Time
	exclusions  []exclusion
}

// Kind returns which way of planning the schedule follows.
func (s *Schedule) Kind() Kind { return s.kind }

// Location returns the time zone in which the schedule reads the wall clock.
func (s *Schedule) Location() *time.Location { return s.zone.location }

// Next returns the first slot strictly after the given instant inside the
// active window, in UTC; excluded slots are included, for they too are recorded.
// False means never again. For [KindAfter] the instant is the end of the last
// run and the slot lies After later, rounded up to the millisecond.
func (s *Schedule) Next(after time.Time) (time.Time, bool) {
	if after.Before(s.from) && s.kind != KindAfter {
		after = s.from.Add(-1)
	}
	var slot time.Time
	switch s.kind {
	case KindCron:
		slot = s.nextOf(after)
	case KindEvery:
		slot = s.nextEvery(s.interval, after)
	case KindAfter:
		slot = ceilMilli(after.Add(time.Duration(s.interval) * time.Millisecond))
		if slot.Before(s.from) {
			slot = ceilMilli(s.from)
		}
	case KindAt:
		if !after.Before(s.at) {
			return time.Time{}, false
		}
		return s.at, true
	default:
		return time.Time{}, false
	}
	if slot.IsZero() || slot.Unix() >= horizon || !s.until.IsZero() && !slot.Before(s.until) {
		return time.Time{}, false
	}
	return slot, true
}

// nextOf returns the first slot of any expression after the instant, or zero.
func (s *Schedule) nextOf(after time.Time) time.Time {
	var first time.Time
	second := clampSecond(after)
	earliest, found := int64(0), false
	for i := range s.expressions {
		e := &s.expressions[i]
		if e.every != 0 {
			if slot := s.nextEvery(e.every, after); first.IsZero() || slot.Before(first) {
				first = slot
			}
			continue
		}
		if instant, ok := s.zone.nextSlot(e, second); ok && (!found || instant < earliest) {
			earliest, found = instant, true
		}
	}
	if found {
		if slot := time.Unix(earliest, 0).UTC(); first.IsZero() || slot.Before(first) {
			first = slot
		}
	}
	return first
}

// nextSlot returns the first slot of an expression with fields after the instant.
func (z *zone) nextSlot(e *expression, after int64) (int64, bool) {
	if e.fixed {
		return z.nextFixed(&e.pattern, after)
	}
	return z.nextElapsed(&e.pattern, after)
}

func (s *Schedule) nextEvery(interval int64, after time.Time) time.Time {
	milli := int64(-1)
	if after.Unix() >= 0 {
		milli = clampSecond(after)*1000 + int64(after.Nanosecond())/int64(time.Millisecond)
	}
	return time.UnixMilli(s.anchor + (floorDivide(milli-s.anchor, interval)+1)*interval).UTC()
}

// clampSecond returns the second that the instant lies in, kept within the
// years that schedules are kept for, so that no arithmetic can overflow.
func clampSecond(instant time.Time) int64 {
	return min(max(instant.Unix(), -1), horizon)
}

func floorDivide(a, b int64) int64 {
	quotient := a / b
	if a%b < 0 {
		quotient--
	}
	return quotient
}

func ceilMilli(instant time.Time) time.Time {
	if rest := instant.Nanosecond() % int(time.Millisecond); rest != 0 {
		instant = instant.Add(time.Millisecond - time.Duration(rest))
	}
	return instant.UTC()
}

// Between returns the slots in (from, to], excluded ones included, ascending.
// For [KindAfter] they are those of runs that take no time.
func (s *Schedule) Between(from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for slot, ok := s.Next(from); ok && !slot.After(to); slot, ok = s.Next(slot) {
			if !yield(slot) {
				return
			}
		}
	}
}

const (
	mostExpressions = 32
	mostExclusions  = 256
	mostText        = 2048 // bytes of all expressions of a schedule, and of its exclusions
)

// Compile checks a definition whole. Its error is an [Errors] with every fault.
func Compile(d Definition) (*Schedule, error) {
	var faults Errors
	s := &Schedule{kind: kindOf(&d, &faults), from: d.From, until: d.Until, zoneName: d.Timezone}
	if s.zoneName == "" {
		s.zoneName = "UTC"
	}
	if !d.Anchor.IsZero() {
		s.anchor = min(max(d.Anchor.Unix(), 0), horizon)*1000 + int64(d.Anchor.Nanosecond())/int64(time.Millisecond)
	}
	var err error
	if s.zone, err = loadZone(d.Timezone); err != nil {
		faults.add("timezone", "%s", err)
	}
	spread := newHash(d.Key)
	switch s.kind {
	case KindManual:
	case KindCron:
		s.expressions = compileCron(d.Cron, spread, &faults)
	case KindEvery:
		if fault := checkInterval(d.Every, shortestRate); fault != "" {
			faults.add("every", "%s", fault)
		}
		s.interval = d.Every.Milliseconds()
	case KindAfter:
		if fault := checkInterval(d.After, shortestDelay); fault != "" {
			faults.add("after", "%s", fault)
		}
		s.interval = d.After.Milliseconds()
	case KindAt:
		s.at = d.At.UTC().Truncate(time.Millisecond)
		if s.at.Unix() >= horizon {
			faults.add("at", "%s is beyond the year %d, until which schedules are kept", d.At.Format(time.RFC3339), lastYear)
		}
	}
	if !d.From.IsZero() && !d.Until.IsZero() && !d.From.Before(d.Until) {
		faults.add("active.until", "%s is not after active.from (%s), so nothing can fire; swap them, or leave one open", d.Until.Format(time.RFC3339), d.From.Format(time.RFC3339))
	}
	s.exclusions = compileExclusions(d.Exclude, spread, &faults)
	if len(faults) > 0 {
		return nil, faults
	}
	since := d.Since
	if since.IsZero() {
		since = d.Anchor
	}
	if reason := s.neverFires(since); reason != "" {
		faults.add(s.field(), "never fires: %s", reason)
		return nil, faults
	}
	return s, nil
}

func kindOf(d *Definition, faults *Errors) Kind {
	kind, given := KindManual, []string(nil)
	for _, choice := range []struct {
		given bool
		kind  Kind
		key   string
	}{
		{len(d.Cron) > 0, KindCron, "schedule"},
		{d.Every != 0, KindEvery, "every"},
		{d.After != 0, KindAfter, "after"},
		{!d.At.IsZero(), KindAt, "at"},
	} {
		if choice.given {
			kind, given = choice.kind, append(given, choice.key)
		}
	}
	if len(given) > 1 {
		faults.add("schedule", "give one of schedule, every, after and at, not %s together", strings.Join(given, " and "))
	}
	return kind
}

// field returns the key that the schedule was written under.
func (s *Schedule) field() string {
	if s.kind == KindCron {
		return "schedule"
	}
	return s.kind.String()
}

func compileCron(sources []string, spread hash, faults *Errors) []expression {
	if len(sources) > mostExpressions || totalLength(sources) > mostText {
		faults.add("schedule", "has %d expressions of %d bytes; at most %d of together %d bytes make a schedule: use ranges and steps, or several jobs", len(sources), totalLength(sources), mostExpressions, mostText)
		return nil
	}
	compiled := make([]expression, 0, len(sources))
	for i, source := range sources {
		e, wrong := compileExpression(source, spread)
		for _, message := range wrong {
			faults.add(fmt.Sprintf("schedule[%d]", i), "%s", message)
		}
		if len(wrong) == 0 {
			compiled = append(compiled, e)
		}
	}
	return compiled
}

func totalLength(texts []string) int {
	total := 0
	for _, text := range texts {
		total += len(text)
	}
	return total
}

// neverFires returns why a schedule has no firing slot after since, or nothing.
func (s *Schedule) neverFires(since time.Time) string {
	if s.kind == KindManual {
		return ""
	}
	if s.kind == KindAt {
		switch {
		case s.at.Before(s.from), !s.until.IsZero() && !s.at.Before(s.until):
			return "its instant lies outside the active window; move one of them"
		case s.Excluded(s.at):
			return "its instant is excluded; move it or drop the exclusion"
		}
		return ""
	}
	if _, ok := s.NextFire(since); ok {
		return ""
	}
	if _, ok := s.Next(since); ok {
		return "every slot is excluded; drop an exclusion"
	}
	always := *s
	always.from, always.until = time.Time{}, time.Time{}
	if _, ok := always.Next(since); ok {
		if s.until.IsZero() || s.until.After(since) {
			return "no slot lies in the active window; widen it"
		}
		return fmt.Sprintf("the active window ended at %s; move active.until", s.until.Format(time.RFC3339))
	}
	return fmt.Sprintf("no slot comes after %s; the years it names are over", since.UTC().Format(time.RFC3339))
}
