package cron

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/adhocore/gronx"
)

// This file is where gronx says what a part of an expression means: each value
// that a field can have is put to its checker, once, and the answers are kept
// as sets. Single values and * need no asking.

// ask reports whether gronx calls the part due at a time that has the value.
func ask(position int, text string, at time.Time) (bool, error) {
	checker := gronx.SegmentChecker{}
	checker.SetRef(at)
	due, err := checker.CheckDue(text, position)
	if err != nil {
		return false, fmt.Errorf("%q is not understood in the %s (%w)", text, fieldRules[position].name, err)
	}
	return due, nil
}

type meaningKey struct {
	position int
	text     string
}

// steps keeps what */n means, for each field and each n up to its highest value.
var steps sync.Map // meaningKey → uint64

// sample returns a time whose field has the value.
func sample(position, value int) time.Time {
	switch position {
	case secondField:
		return time.Date(2000, 1, 1, 0, 0, value, 0, time.UTC)
	case minuteField:
		return time.Date(2000, 1, 1, 0, value, 0, 0, time.UTC)
	case hourField:
		return time.Date(2000, 1, 1, value, 0, 0, 0, time.UTC)
	case dayField:
		return time.Date(2000, 1, value, 0, 0, 0, 0, time.UTC)
	case monthField:
		return time.Date(2000, time.Month(value), 1, 0, 0, 0, 0, time.UTC)
	default: // weekField; the 2nd was a Sunday
		return time.Date(2000, 1, 2+value, 0, 0, 0, 0, time.UTC)
	}
}

// valuesOf returns the set of values that a part without L, W and # names in a
// field other than the year.
func valuesOf(position int, entry part) (uint64, error) {
	rule := fieldRules[position]
	high := rule.high
	if position == weekField {
		high = 6
	}
	switch entry.kind {
	case partAny:
		return (uint64(1)<<uint(high+1) - 1) &^ (uint64(1)<<uint(rule.low) - 1), nil
	case partValue:
		if position == weekField {
			return 1 << uint(entry.low%7), nil
		}
		return 1 << uint(entry.low), nil
	case partRange, partStep, partModifier: // asked below
	}
	// */n is what most people write, and there are few of them.
	key := meaningKey{position, entry.text}
	common := strings.HasPrefix(entry.text, "*/") && entry.step <= rule.high
	if common {
		if known, ok := steps.Load(key); ok {
			return known.(uint64), nil
		}
	}
	var set uint64
	for value := rule.low; value <= high; value++ {
		due, err := ask(position, entry.text, sample(position, value))
		if err != nil {
			return 0, err
		}
		if due {
			set |= 1 << uint(value)
		}
	}
	if common {
		steps.Store(key, set)
	}
	return set, nil
}

// yearsOf returns the set of years from firstYear to lastYear that parts name;
// nil for all of them. It is plain arithmetic: gronx counts the steps of a year
// one by one from the first, which is slow from the year 1 on.
func yearsOf(parts []part) *yearSet {
	years := &yearSet{}
	for _, entry := range parts {
		if entry.kind == partAny {
			return nil
		}
		year, step := entry.low, max(entry.step, 1)
		if year < firstYear {
			year += (firstYear - year + step - 1) / step * step
		}
		for ; year <= min(entry.high, lastYear); year += step {
			years.add(year)
		}
	}
	return years
}

// shapeMonths holds a month of each shape, to put to gronx.
var shapeMonths = sync.OnceValue(func() *[monthShapes]time.Time {
	months := &[monthShapes]time.Time{}
	for year := 2000; year < 2040; year++ {
		for month := 1; month <= 12; month++ {
			shape := monthShape(monthLength(year, month), weekday(dayNumber(year, month, 1)))
			months[shape] = time.Date(year, time.Month(month), 1, 0, 0, 0, 0, time.UTC)
		}
	}
	return months
})

// modifiers keeps what L, W and # mean; the grammar lets 105 of them through.
// Each costs about 0.1 ms once.
var modifiers sync.Map // meaningKey → *[monthShapes]uint32

// modifierDays returns the days that L, L-3, LW, 15W, 5L or 1#2 names in a month of each shape.
func modifierDays(position int, text string) (*[monthShapes]uint32, error) {
	key := meaningKey{position, text}
	if known, ok := modifiers.Load(key); ok {
		return known.(*[monthShapes]uint32), nil
	}
	table := &[monthShapes]uint32{}
	for shape, first := range shapeMonths() {
		length := 28 + shape/7
		if date, known := beforeLast(text, length, shape%7); known {
			if date >= 1 {
				table[shape] = 1 << uint(date)
			}
			continue
		}
		for date := 1; date <= length; date++ {
			due, err := ask(position, text, first.AddDate(0, 0, date-1))
			if err != nil {
				return nil, err
			}
			if due {
				table[shape] |= 1 << uint(date)
			}
		}
	}
	known, _ := modifiers.LoadOrStore(key, table)
	return known.(*[monthShapes]uint32), nil
}

// beforeLast returns the date that L-3 or LW names in a month of that length, 0 or less if the month is too short for
// it, and whether text is one of these two: gronx does not know them. firstWeekday is 0 where the 1st is a Sunday.
func beforeLast(text string, length, firstWeekday int) (date int, known bool) {
	if text == "LW" {
		switch (firstWeekday + length - 1) % 7 {
		case 0: // Sunday
			return length - 2, true
		case 6: // Saturday
			return length - 1, true
		default:
			return length, true
		}
	}
	back, known := strings.CutPrefix(text, "L-")
	days, _ := parseDigits(back)
	return length - days, known
}

// compilePattern turns the parsed fields of an expression into sets.
func compilePattern(fields *[fieldCount][]part) (pattern, error) {
	var p pattern
	var sets [weekField + 1]uint64
	modified := false
	for position := secondField; position <= weekField; position++ {
		for _, entry := range fields[position] {
			if entry.kind == partModifier {
				modified = true
				continue
			}
			set, err := valuesOf(position, entry)
			if err != nil {
				return pattern{}, err
			}
			sets[position] |= set
		}
	}
	p.second, p.minute, p.hour = sets[secondField], sets[minuteField], uint32(sets[hourField])
	p.day, p.month, p.week = uint32(sets[dayField]), uint16(sets[monthField]), uint8(sets[weekField])
	p.either = eitherDay(fields[dayField], fields[weekField])
	p.years = yearsOf(fields[yearField])
	if !modified {
		return p, nil
	}
	p.shapes = &[monthShapes]uint32{}
	for shape := range p.shapes {
		day, week := p.day, weekDays(p.week, shape%7)
		for position, days := range [...]*uint32{dayField: &day, weekField: &week} {
			for _, entry := range fields[position] {
				if entry.kind != partModifier {
					continue
				}
				table, err := modifierDays(position, entry.text)
				if err != nil {
					return pattern{}, err
				}
				*days |= table[shape]
			}
		}
		p.shapes[shape] = combineDays(day, week, p.either) & monthDays(28+shape/7)
	}
	return p, nil
}

// eitherDay reports whether day of month and day of week are alternatives, by Vixie's rule: both restrict, and neither
// field begins with *.
func eitherDay(day, week []part) bool {
	return !strings.HasPrefix(week[0].text, "*") && !strings.HasPrefix(day[0].text, "*")
}
