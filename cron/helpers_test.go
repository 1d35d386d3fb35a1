package cron

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func mustCompile(t testing.TB, d Definition) *Schedule {
	t.Helper()
	s, err := Compile(d)
	if err != nil {
		t.Fatalf("Compile(%+v): %v", d, err)
	}
	return s
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return instant
}

// wallOf is a wall time taken apart.
type wallOf struct{ second, minute, hour, day, month, week, year int }

func wallOfTime(local time.Time) wallOf {
	return wallOf{local.Second(), local.Minute(), local.Hour(), local.Day(), int(local.Month()), int(local.Weekday()), local.Year()}
}

// A randomExpression is a text together with what it means, made by another way
// than parsing the text.
type randomExpression struct {
	text  string
	fixed bool
	due   func(wallOf) bool
}

type randomField struct {
	text       string
	due        func(int) bool
	wild, step bool
}

func randomFieldOf(r *rand.Rand, low, high int) randomField {
	pick := func() int { return low + r.IntN(high-low+1) }
	switch r.IntN(6) {
	case 0:
		return randomField{"*", func(int) bool { return true }, true, false}
	case 1:
		n := pick()
		return randomField{fmt.Sprint(n), func(v int) bool { return v == n }, false, false}
	case 2:
		list := []int{pick(), pick(), pick()}
		return randomField{fmt.Sprintf("%d,%d,%d", list[0], list[1], list[2]), func(v int) bool { return slices.Contains(list, v) }, false, false}
	case 3:
		a, b := pick(), pick()
		a, b = min(a, b), max(a, b)
		return randomField{fmt.Sprintf("%d-%d", a, b), func(v int) bool { return a <= v && v <= b }, false, false}
	case 4:
		n := 1 + r.IntN(high)
		return randomField{fmt.Sprintf("*/%d", n), func(v int) bool { return (v-low)%n == 0 }, true, true}
	default:
		a, b, n := pick(), pick(), 1+r.IntN(5)
		a, b = min(a, b), max(a, b)
		return randomField{fmt.Sprintf("%d-%d/%d", a, b, n), func(v int) bool { return a <= v && v <= b && (v-a)%n == 0 }, false, true}
	}
}

// randomExpressionOf makes an expression whose day fields are mostly open, so
// that it has slots on a given day; seconds adds a seconds field.
func randomExpressionOf(r *rand.Rand, seconds bool) randomExpression {
	open := randomField{"*", func(int) bool { return true }, true, false}
	second := randomField{"0", func(v int) bool { return v == 0 }, false, false}
	if seconds {
		second = randomFieldOf(r, 0, 59)
	}
	minute, hour := randomFieldOf(r, 0, 59), randomFieldOf(r, 0, 5)
	if r.IntN(4) == 0 {
		hour = randomFieldOf(r, 0, 23)
	}
	day, month, week := open, open, open
	if r.IntN(3) == 0 {
		day = randomFieldOf(r, 1, 28)
	}
	if r.IntN(8) == 0 {
		month = randomFieldOf(r, 1, 12)
	}
	if r.IntN(3) == 0 {
		week = randomFieldOf(r, 0, 6)
	}
	texts := []string{minute.text, hour.text, day.text, month.text, week.text}
	if seconds {
		texts = append([]string{second.text}, texts...)
	}
	return randomExpression{
		text:  strings.Join(texts, " "),
		fixed: hour.text != "*" && !hour.step,
		due: func(w wallOf) bool {
			dayDue := day.due(w.day) && week.due(w.week)
			if !day.wild && !week.wild {
				dayDue = day.due(w.day) || week.due(w.week)
			}
			return second.due(w.second) && minute.due(w.minute) && hour.due(w.hour) && month.due(w.month) && dayDue
		},
	}
}
