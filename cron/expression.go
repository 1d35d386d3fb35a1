package cron

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adhocore/gronx"
)

// longestExpression bounds what has to be read: a list of all minutes and all
// seconds fits.
const longestExpression = 512

// An expression is one entry of a schedule or of its exclusions, compiled.
type expression struct {
	source    string // as the user wrote it
	canonical string // seven fields, tags, names and H resolved; "" of @every
	pattern   pattern
	fixed     bool  // fixed hours: a gap moves a slot, a repeat drops one
	every     int64 // milliseconds, of @every
}

// compileExpression reads one expression. On failure it returns the faults.
func compileExpression(source string, spread hash) (expression, []string) {
	if len(source) > longestExpression {
		return expression{}, []string{fmt.Sprintf("is %d bytes long; an expression has at most %d: write ranges and steps, or several expressions", len(source), longestExpression)}
	}
	texts, every, err := splitExpression(source)
	if err != nil {
		return expression{}, []string{err.Error()}
	}
	if every != 0 {
		return expression{source: source, every: every.Milliseconds()}, nil
	}
	var fields [fieldCount][]part
	var faults []string
	canonical := make([]string, fieldCount)
	for position, text := range texts {
		parts, wrong := parseField(position, text, spread)
		fields[position] = parts
		faults = append(faults, wrong...)
		written := make([]string, len(parts))
		for i, entry := range parts {
			written[i] = entry.text
		}
		canonical[position] = strings.Join(written, ",")
	}
	if len(faults) > 0 {
		return expression{}, faults
	}
	compiled, err := compilePattern(&fields)
	if err != nil {
		return expression{}, []string{err.Error()}
	}
	e := expression{source: source, canonical: strings.Join(canonical, " "), pattern: compiled, fixed: true}
	for _, entry := range fields[hourField] {
		if entry.kind == partAny || entry.kind == partStep {
			e.fixed = false
		}
	}
	if reason := neverComes(&e.pattern, &fields); reason != "" {
		return expression{}, []string{reason}
	}
	return e, nil
}

// splitExpression returns the seven fields of an expression, seconds first, or
// the interval of an @every.
func splitExpression(source string) (texts [fieldCount]string, every time.Duration, err error) {
	trimmed := strings.TrimSpace(source)
	if trimmed == "" {
		return texts, 0, fmt.Errorf("is empty; write an expression such as \"0 3 * * *\" or @daily")
	}
	if strings.HasPrefix(trimmed, "TZ=") || strings.HasPrefix(trimmed, "CRON_TZ=") {
		return texts, 0, fmt.Errorf("a zone cannot stand in the expression; write it under timezone")
	}
	if trimmed[0] == '@' {
		if trimmed, every, err = expandTag(trimmed); err != nil || every != 0 {
			return texts, every, err
		}
	}
	written := strings.Fields(trimmed)
	switch {
	case len(written) == 5, len(written) == 6 && isYear(written[5]):
		texts[secondField] = "0"
		copy(texts[minuteField:], written)
	case len(written) == 6, len(written) == 7:
		copy(texts[:], written)
	default:
		return texts, 0, fmt.Errorf("has %d fields; an expression has 5 (minute hour day month weekday), 6 (second first) or 7 (second first, year last)", len(written))
	}
	if texts[yearField] == "" {
		texts[yearField] = "*"
	}
	return texts, 0, nil
}

// isYear distinguishes a year from a day of week as gronx does: four digits in a row.
func isYear(text string) bool {
	digits := 0
	for _, octet := range []byte(text) {
		if octet < '0' || octet > '9' {
			digits = 0
			continue
		}
		if digits++; digits == 4 {
			return true
		}
	}
	return false
}

// tagNames are the tags that gronx knows, for suggestions, and @midnight.
var tagNames = []string{
	"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", "@always",
	"@5minutes", "@10minutes", "@15minutes", "@30minutes", "@everysecond", "@every",
}

func expandTag(text string) (string, time.Duration, error) {
	tag, rest, _ := strings.Cut(strings.ToLower(text), " ")
	rest = strings.TrimSpace(rest)
	if tag == "@every" {
		interval, err := time.ParseDuration(rest)
		if err != nil {
			return "", 0, fmt.Errorf("%q is not understood; write an interval such as @every 90s or @every 1h30m", clip(text))
		}
		if fault := checkInterval(interval, shortestRate); fault != "" {
			return "", 0, errors.New(fault)
		}
		return "", interval, nil
	}
	if tag == "@midnight" && rest == "" {
		tag = "@daily"
	}
	if rest == "" {
		if segments, err := gronx.Segments(tag); err == nil {
			return strings.Join(segments, " "), 0, nil
		}
	}
	if tag == "@reboot" {
		return "", 0, fmt.Errorf("@reboot names no time; run the job manually, or give it a schedule")
	}
	for _, known := range tagNames {
		if editDistance(tag, known, 3) < 3 {
			return "", 0, fmt.Errorf("unknown tag %q; did you mean %s?", clip(text), known)
		}
	}
	return "", 0, fmt.Errorf("unknown tag %q; the tags are %s", clip(text), strings.Join(tagNames, ", "))
}

const (
	// shortestRate bounds fixed rates: each slot is stored and queued on its own, so a shorter one would be a loop
	// rather than a schedule.
	shortestRate  = time.Second
	shortestDelay = 10 * time.Millisecond
)

// checkInterval returns what is wrong with a fixed rate or a fixed delay.
func checkInterval(interval, shortest time.Duration) string {
	switch {
	case interval < 0:
		return fmt.Sprintf("%s is negative; write an interval such as 90s", interval)
	case interval < shortest:
		return fmt.Sprintf("%s is too short; the shortest interval is %s", interval, shortest)
	case interval%time.Millisecond != 0:
		return fmt.Sprintf("%s is not a whole number of milliseconds; write %s", interval, interval.Round(time.Millisecond))
	}
	return ""
}

// neverComes returns why an expression names no day at all, or nothing.
func neverComes(p *pattern, fields *[fieldCount][]part) string {
	if p.years != nil && p.years.empty() {
		return fmt.Sprintf("never fires: the years %s lie outside %d-%d, in which schedules are kept", partsText(fields[yearField]), firstYear, lastYear)
	}
	if _, ok := p.nextDay(0); ok {
		return ""
	}
	ever := *p
	ever.years = nil
	if _, ok := ever.nextDay(0); ok {
		return fmt.Sprintf("never fires: %s does not come in the years %s", dayText(fields), partsText(fields[yearField]))
	}
	return "never fires: " + dayText(fields) + " never comes"
}

// dayText spells the day of an impossible date: "30 February".
func dayText(fields *[fieldCount][]part) string {
	var month []string
	for _, entry := range fields[monthField] {
		if entry.kind == partValue {
			month = append(month, time.Month(entry.low).String())
		} else {
			month = append(month, "month "+entry.text)
		}
	}
	text := partsText(fields[dayField]) + " " + strings.Join(month, ", ")
	if week := partsText(fields[weekField]); week != "*" {
		text += " on weekday " + week
	}
	return text
}

func partsText(parts []part) string {
	texts := make([]string, len(parts))
	for i, entry := range parts {
		texts[i] = entry.text
	}
	return strings.Join(texts, ",")
}
