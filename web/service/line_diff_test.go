package service

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func linesOf(text string) (lines []LogLine) {
	for i, line := range strings.Split(text, "\n") {
		lines = append(lines, LogLine{Number: int64(i), Text: []byte(line)})
	}
	return lines
}

// Each side of a comparison is its output, whole and in order: nothing is left out but what the gaps count.
func TestComparisonKeepsBothSides(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 300 {
		var sides [2]string
		for i := range sides {
			var words []string
			for range random.IntN(60) {
				words = append(words, fmt.Sprintf("%c%d", 'a'+random.IntN(5), random.IntN(3)))
			}
			sides[i] = strings.Join(words, "\n")
		}
		a, b := linesOf(sides[0]), linesOf(sides[1])
		rows, removed, added := compareLines(a, b, round%2 == 0)
		at := [2]int{}
		for _, row := range rows {
			if row.Kind == DiffGap {
				at[0], at[1] = at[0]+row.Gap, at[1]+row.Gap
				continue
			}
			for i, side := range []struct {
				line  int64
				text  []byte
				lines []LogLine
			}{{row.LineA, row.TextA, a}, {row.LineB, row.TextB, b}} {
				if side.line == 0 {
					continue
				}
				if side.line != int64(at[i]+1) || string(side.text) != string(side.lines[at[i]].Text) {
					t.Fatalf("side %d: row %+v where line %d is due", i, row, at[i]+1)
				}
				at[i]++
			}
		}
		if at[0] != len(a) || at[1] != len(b) || len(a)-removed != len(b)-added {
			t.Fatalf("got %v of %d and %d lines, %d removed, %d added", at, len(a), len(b), removed, added)
		}
	}
}

func TestNumbersAndTimesArePassedOver(t *testing.T) {
	for _, pair := range [][2]string{
		{"at 2026-11-21T09:00:00.123Z read 3 files", "at 2026-11-22T10:17:31.9Z read 41 files"},
		{"commit 0f3a9b8c1d2e took 12ms", "commit 9a8b7c6d5e4f took 7ms"}, {"\x1b[31mred\x1b[0m 0xdeadbeef", "red 0xcafe"},
	} {
		rows, _, _ := compareLines(linesOf(pair[0]), linesOf(pair[1]), false)
		if len(rows) != 0 && rows[0].Kind != DiffSame && rows[0].Kind != DiffGap {
			t.Errorf("%q and %q differ: %+v", pair[0], pair[1], rows)
		}
		if rows, _, _ := compareLines(linesOf(pair[0]), linesOf(pair[1]), true); rows[0].Kind != DiffChanged {
			t.Errorf("exactly, %q and %q do not differ", pair[0], pair[1])
		}
	}
}
