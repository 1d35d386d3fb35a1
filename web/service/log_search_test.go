package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// text is a stored output in memory.
type text string

func (l text) Size() int64   { return int64(len(l)) }
func (l text) Marks() []byte { return nil }
func (l text) Lines() int64  { return int64(strings.Count(string(l), "\n")) }
func (l text) ReadAt(_ context.Context, p []byte, offset int64) (int, error) {
	return strings.NewReader(string(l)).ReadAt(p, offset)
}
func (l text) CopyTo(context.Context, io.Writer, int64) (int64, error) {
	return 0, errors.ErrUnsupported
}
func (l text) ReadLines(_ context.Context, from, count int64) (found []LogLine, err error) {
	offset, number := int64(0), int64(0)
	for line := range strings.Lines(string(l)) {
		if number >= from && int64(len(found)) < count {
			found = append(found, LogLine{Number: number, Offset: offset, Text: []byte(line)})
		}
		number, offset = number+1, offset+int64(len(line))
	}
	return found, nil
}

func logOf(content string) *Log {
	return &Log{Size: int64(len(content)), Lines: int64(strings.Count(content, "\n")), stored: text(content)}
}

// searchAll follows Next to the end, and returns the numbers of the lines that were found.
func searchAll(t *testing.T, log *Log, search LogSearch) (lines []int64) {
	t.Helper()
	for range 10_000 {
		found, err := log.Search(t.Context(), search)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range found.Matches {
			lines = append(lines, match.Line)
		}
		if found.Next == "" {
			if found.Searched != log.Size {
				t.Errorf("searched %d of %d bytes", found.Searched, log.Size)
			}
			return lines
		}
		search.From = found.Next
	}
	t.Fatal("the search does not end")
	return nil
}

// Whatever the blocks and pages, the search finds the lines that an obvious one finds, each once.
func TestSearchFindsWhatAnObviousOneFinds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	words := []string{"tide", "Needle", "quay", "NEEDLE needle", "need", "le", "Öre", "\xff\x00", "nee\ndle"}
	for round := range 20 {
		var out strings.Builder
		for out.Len() < 1<<20+random.IntN(1<<21) {
			out.WriteString(words[random.IntN(len(words))])
			switch random.IntN(12) {
			case 0:
				out.WriteString("\n")
			case 1:
				out.WriteString(strings.Repeat("x", random.IntN(400)))
			default:
				out.WriteString(" ")
			}
		}
		if round%4 == 0 {
			out.WriteString(strings.Repeat("long ", 1<<19) + "needle" + strings.Repeat(" needle", 1<<17) + "\nneedle")
		}
		var want []int64
		for i, line := range strings.Split(out.String(), "\n") {
			if strings.Contains(strings.ToLower(line), "needle") {
				want = append(want, int64(i+1))
			}
		}
		got := searchAll(t, logOf(out.String()), LogSearch{Text: "nEEdle", Limit: 1 + random.IntN(MaxLogMatches), Bytes: 1})
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("round %d: %d lines found, want %d", round, len(got), len(want))
		}
	}
}

// A text that lies over the edge of two blocks is found, once.
func TestSearchFindsOverTheEdgesOfBlocks(t *testing.T) {
	for shift := -8; shift <= 8; shift++ {
		content := strings.Repeat("a", searchBlock+shift) + "needle\nneedle\n"
		if got := searchAll(t, logOf(content), LogSearch{Text: "needle"}); fmt.Sprint(got) != "[1 2]" {
			t.Errorf("shifted by %d: lines %v", shift, got)
		}
	}
}

func TestSearchTellsItsMatchInItsLine(t *testing.T) {
	content := "first\n" + strings.Repeat("b", 500) + "NeedLe" + strings.Repeat("c", 500) + "\nlast needle"
	found, err := logOf(content).Search(t.Context(), LogSearch{Text: "needle"})
	if err != nil || len(found.Matches) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	for i, want := range []string{"NeedLe", "needle"} {
		match := found.Matches[i]
		if string(match.Text[match.Start:match.End]) != want || !strings.HasPrefix(content[match.Offset:], want) || bytes.ContainsRune(match.Text, '\n') {
			t.Errorf("match %d: %+v", i, match)
		}
	}
	if length := len(found.Matches[0].Text); length > excerptBefore+6+excerptAfter {
		t.Errorf("of a long line %d bytes are told", length)
	}
}

func TestSearchBeginsAtALine(t *testing.T) {
	log := logOf("needle\nneedle\nneedle\n")
	for from, want := range map[string]string{"": "[1 2 3]", "2": "[2 3]", "3": "[3]", "4": "[]", "99": "[]"} {
		if got := searchAll(t, log, LogSearch{Text: "needle", From: from}); fmt.Sprint(got) != want {
			t.Errorf("from %q: lines %v, want %s", from, got, want)
		}
	}
	for _, from := range []string{"0", "-1", "x", "1@", "1@-2", "1~", "@5"} {
		if _, err := log.Search(t.Context(), LogSearch{Text: "needle", From: from}); err == nil {
			t.Errorf("%q was taken for a place", from)
		}
	}
	for _, wrong := range []LogSearch{{}, {Text: strings.Repeat("x", MaxSearchText+1)}} {
		if _, err := log.Search(t.Context(), wrong); err == nil {
			t.Errorf("searched for a text of %d bytes", len(wrong.Text))
		}
	}
}

func TestSearchKnowsOtherLettersToo(t *testing.T) {
	log := logOf("über\nÜBER\nÜber\nuber\n")
	for want, text := range map[string]string{"[1 2 3]": "über", "[4]": "UBER"} {
		if got := searchAll(t, log, LogSearch{Text: text}); fmt.Sprint(got) != want {
			t.Errorf("%q: lines %v, want %s", text, got, want)
		}
	}
}

func TestWhatLooksLikeAnError(t *testing.T) {
	for line, want := range map[string]bool{
		"ERROR no gauge answers": true, "java.lang.NullPointerException: x": true, "Traceback (most recent call last):": true, "10 errors": true,
		"panic: index out of range": true, "level=error msg=x": true, "casino error": true, "job failed": true, "errors: 3": true,
		"0 errors, 3 warnings": false, "no errors": false, "finished without error": false, "errors: 0": false, "error=0": false, "all is well": false, "": false,
		"0 errors, but a failure": true,
	} {
		found, err := logOf(line+"\n").Search(t.Context(), LogSearch{Errors: true})
		if err != nil || len(found.Matches) == 1 != want {
			t.Errorf("%q: %d matches, %v", line, len(found.Matches), err)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	log := logOf(strings.Repeat("2026-11-21T09:00:00Z INFO gauge 17 height 3.20 m, all is well\n", searchBytes/64))
	for name, search := range map[string]LogSearch{"text": {Text: "needle"}, "errors": {Errors: true}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(log.Size)
			for b.Loop() {
				if _, err := log.Search(b.Context(), search); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
