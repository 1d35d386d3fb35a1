package service

import (
	"bytes"
	"regexp"

	"github.com/aymanbagabas/go-udiff/lcs"
)

const (
	// diffLineBytes is how much of a line is compared.
	diffLineBytes = 1 << 10
	// diffContext is how many equal lines are shown around those that differ.
	diffContext = 3
)

// LineDiff is the difference of two texts, line by line: of two outputs, or of two versions of a script.
type LineDiff struct {
	Rows []DiffRow
	// How many lines of A, and of B, were not compared: of outputs those before the last DiffLines, of scripts those
	// after the first SourceLines.
	SkippedA, SkippedB int64
	// Missing says in words why nothing could be compared.
	Missing string
	// Removed and Added count lines that are in A alone, and in B alone.
	Removed, Added int
}

// DiffKind is how a row of two texts differs.
type DiffKind string

// The kinds.
const (
	DiffSame    DiffKind = "same"
	DiffChanged DiffKind = "changed" // a line of A has become one of B
	DiffRemoved DiffKind = "removed" // in A alone
	DiffAdded   DiffKind = "added"   // in B alone
	DiffGap     DiffKind = "gap"     // so many lines that are alike are left out
)

// DiffRow is a line of each side, side by side; a number is 0 where that side has none.
type DiffRow struct {
	Kind         DiffKind
	LineA, LineB int64 // from 1
	TextA, TextB []byte
	Gap          int
	differsAtAll bool // of a same row: the numbers in it differ
}

// Differs reports whether the numbers differ in a row that counts as the same.
func (r *DiffRow) Differs() bool { return r.differsAtAll }

// volatile is what changes from run to run and means nothing: numbers, times, hashes; colours mean nothing at all.
var (
	colours  = regexp.MustCompile(`\x1b\[[0-9;]*m`)
	volatile = regexp.MustCompile(`0[xX][0-9a-fA-F]+|\b[0-9a-fA-F]{8,}\b|[0-9]+([.:,_-]?[0-9]+)*`)
)

// compareLines lays two texts side by side. Each line stands for a character, so that the comparison is one of texts.
func compareLines(a, b []LogLine, exact bool) (rows []DiffRow, removed, added int) {
	numbers := map[string]rune{}
	code := func(lines []LogLine) []rune {
		codes := make([]rune, len(lines))
		for i := range lines {
			key := string(lines[i].Text)
			if !exact {
				key = volatile.ReplaceAllString(colours.ReplaceAllString(key, ""), "#")
			}
			if numbers[key] == 0 {
				numbers[key] = rune(len(numbers) + 1)
			}
			codes[i] = numbers[key]
		}
		return codes
	}
	at := [2]int{}
	same := func(until int) {
		for at[0] < until {
			x, y := &a[at[0]], &b[at[1]]
			rows = append(rows, DiffRow{Kind: DiffSame, LineA: x.Number + 1, LineB: y.Number + 1, TextA: x.Text, TextB: y.Text, differsAtAll: !bytes.Equal(x.Text, y.Text)})
			at[0]++
			at[1]++
		}
	}
	codesA := code(a)
	for _, d := range lcs.DiffRunes(codesA, code(b)) {
		same(d.Start)
		for at[0] < d.End || at[1] < d.ReplEnd {
			row := DiffRow{Kind: DiffChanged}
			if at[0] < d.End {
				row.LineA, row.TextA = a[at[0]].Number+1, a[at[0]].Text
				at[0]++
				removed++
			} else {
				row.Kind = DiffAdded
			}
			if at[1] < d.ReplEnd {
				row.LineB, row.TextB = b[at[1]].Number+1, b[at[1]].Text
				at[1]++
				added++
			} else {
				row.Kind = DiffRemoved
			}
			rows = append(rows, row)
		}
	}
	same(len(a))
	return withGaps(rows), removed, added
}

// withGaps leaves out lines that are alike and far from any that are not.
func withGaps(rows []DiffRow) (kept []DiffRow) {
	nextDiff := make([]int, len(rows)+1) // the first row from i on that differs
	nextDiff[len(rows)] = len(rows) + diffContext + 1
	for i := len(rows) - 1; i >= 0; i-- {
		if nextDiff[i] = nextDiff[i+1]; rows[i].Kind != DiffSame {
			nextDiff[i] = i
		}
	}
	lastDiff := -diffContext - 1
	for i, row := range rows {
		if row.Kind != DiffSame {
			lastDiff = i
		}
		if i-lastDiff <= diffContext || nextDiff[i]-i <= diffContext {
			kept = append(kept, row)
			continue
		}
		if last := len(kept) - 1; last >= 0 && kept[last].Kind == DiffGap {
			kept[last].Gap++
		} else {
			kept = append(kept, DiffRow{Kind: DiffGap, Gap: 1})
		}
	}
	return kept
}
