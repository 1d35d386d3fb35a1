package cron

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/adhocore/gronx"
)

// What gronx calls due and what a pattern names must be the same, wall time by
// wall time: the fields are gronx's, only their walk is ours.
func TestPatternsAgreeWithGronx(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	parts := [fieldCount][]string{
		secondField: {"*", "0", "*/15", "5-40/7", "10/20", "0,30,45-50", "*/60"},
		minuteField: {"*", "0", "*/15", "5-40/7", "10/20", "0,30,45-50", "0/13", "?"},
		hourField:   {"*", "3", "*/5", "2-22/3", "10/5", "0,12,15-17", "?"},
		dayField: {
			"*", "?", "*/2", "*/9", "0/5", "13", "1,15", "10-20", "10-20/3", "25/3", "L", "15W", "1W", "31W", "30W", "L,1", "1W,15W,L", "2,31W",
		},
		monthField: {"*", "?", "2", "JAN", "*/5", "2-10/2", "APR,JUN,SEP-NOV", "7/2", "0/3"},
		weekField: {
			"*", "?", "*/2", "*/7", "0", "7", "SUN", "MON-FRI", "4-7/3", "0-7/2", "7/2", "4/3", "5-7", "7-2", "FRIL", "0L", "7L", "1#1", "7#5", "0#2,3L", "MON,WED#3",
		},
		yearField: {"*", "?", "2024", "*/3", "2020-2030/4", "2000/7", "2023,2025-2028", "0/5", "1-9999", "1971/1"},
	}
	for range 3000 {
		var fields []string
		for position := range fieldCount {
			fields = append(fields, parts[position][r.IntN(len(parts[position]))])
		}
		text := strings.Join(fields, " ")
		e, faults := compileExpression(text, 0)
		if len(faults) > 0 {
			if strings.HasPrefix(faults[0], "never fires") {
				continue
			}
			t.Fatalf("%s: %v", text, faults)
		}
		from := int64(r.IntN(60 * 366 * secondsPerDay))
		for i := range 60 {
			at := from + int64(i)*int64(r.IntN(100_000))
			if i%2 == 0 { // and a time that is due, for most are not
				if due, ok := e.pattern.next(at); ok {
					at = due
				}
			}
			due, err := gronx.New().IsDue(text, time.Unix(at, 0).UTC())
			if err != nil {
				t.Fatalf("gronx refuses %s: %v", text, err)
			}
			if got := e.pattern.matches(at); got != due {
				t.Fatalf("%s at %s: matches is %t, gronx says %t", text, time.Unix(at, 0).UTC(), got, due)
			}
		}
	}
}

// Where nothing is special about the clock, the next slot is gronx's next tick.
func TestNextAgreesWithGronxInUTC(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 1500 {
		e := randomExpressionOf(r, r.IntN(2) == 0)
		if impossible([]randomExpression{e}) {
			continue
		}
		s := mustCompile(t, Definition{Cron: []string{e.text}})
		after := time.Unix(int64(r.IntN(1<<31)), 0).UTC()
		want, err := gronx.NextTickAfter(e.text, after, false)
		if err != nil {
			continue // gronx has given up; the oracle and the walk below have not
		}
		if got, ok := s.Next(after); !ok || !got.Equal(want) {
			t.Fatalf("%s after %s: %s, gronx says %s", e.text, after, got, want)
		}
	}
}

// The first named wall time is found by looking at each.
func TestPatternNextMissesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for range 400 {
		random := randomExpressionOf(r, true)
		e, faults := compileExpression(random.text, 0)
		if len(faults) > 0 {
			continue
		}
		from := int64(r.IntN(60 * 366 * secondsPerDay))
		next, ok := e.pattern.next(from)
		for at := from; at < from+7200; at++ {
			due := random.due(wallOfTime(time.Unix(at, 0).UTC()))
			if due && (!ok || at < next) {
				t.Fatalf("%s from %d: next is %d, yet %d is named", random.text, from, next, at)
			}
			if due != e.pattern.matches(at) {
				t.Fatalf("%s at %d: matches is %t", random.text, at, !due)
			}
		}
	}
}

// What nextUnnamed leaps over is named, each second of it.
func TestPatternLeapsOverNamedTimesOnly(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	leaps := 0
	for range 1000 {
		random := randomExpressionOf(r, true)
		e, faults := compileExpression(random.text, 0)
		if len(faults) > 0 {
			continue
		}
		if r.IntN(2) == 0 {
			e.pattern.second = allSixty
			if r.IntN(2) == 0 {
				e.pattern.minute = allSixty
			}
		}
		at, ok := e.pattern.next(int64(r.IntN(60 * 366 * secondsPerDay)))
		for steps := 0; ok && steps < 20; steps++ {
			free, some := e.pattern.nextUnnamed(at)
			if !some {
				free = at + 7200
			}
			if free <= at {
				t.Fatalf("%s at %d: leaps to %d", random.text, at, free)
			}
			for between := at; between < min(free, at+7200); between++ {
				if !e.pattern.matches(between) {
					t.Fatalf("%s at %d: leaps to %d over %d, which is not named", random.text, at, free, between)
				}
			}
			if free > at+1 {
				leaps++
			}
			at, ok = e.pattern.next(free)
		}
	}
	if leaps < 100 {
		t.Errorf("only %d leaps", leaps)
	}
}

// The known faults of gronx that this package answers for. When one of these
// goes, the ADR and some code here can go too.
func TestWhatGronxGetsWrong(t *testing.T) {
	if !gronx.IsValid("0 0 30 2 *") {
		t.Error("gronx refuses 30 February now")
	}
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	spring := time.Date(2026, 3, 8, 0, 0, 0, 0, newYork)
	if tick, err := gronx.NextTickAfter("30 2 * * *", spring, false); err == nil && tick.Day() == 8 {
		t.Errorf("gronx runs at %s on the spring day now", tick)
	}
	autumn := time.Date(2026, 11, 1, 1, 0, 0, 0, newYork)
	if tick, err := gronx.NextTickAfter("0 * * * *", autumn, false); err == nil && tick.Hour() == 1 {
		t.Errorf("gronx runs at %s, the second pass of an hour, now", tick)
	}
}

func TestTagsAreGronxs(t *testing.T) {
	for _, tag := range tagNames {
		switch tag {
		case "@every", "@midnight":
			continue
		}
		segments, err := gronx.Segments(tag)
		if err != nil {
			t.Errorf("gronx does not know %s", tag)
			continue
		}
		e, faults := compileExpression(tag, 0)
		if len(faults) > 0 || !strings.HasPrefix(e.canonical, strings.Join(segments, " ")) {
			t.Errorf("%s is %q, gronx has %q (%v)", tag, e.canonical, fmt.Sprint(segments), faults)
		}
	}
}
