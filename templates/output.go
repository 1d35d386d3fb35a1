package templates

import (
	"context"
	"html"
	"io"
	"strconv"
	"time"

	"github.com/a-h/templ"
)

// Output is what an attempt has printed, as far as the page shows it: some lines, and the ways to the others.
type Output struct {
	Run      string
	Attempt  int
	Lines    []Line
	Total    int64 // lines there are now; those of a running program may be known late
	Size     int64 // bytes
	Complete bool
	Missing  string
	// Never says why there is no output, of an attempt that never began; "" of any other.
	Never string
	// Past reports whether the reader asked for other lines than the last.
	Past bool
	// Follow is where the lines go on that are still to come.
	Follow Place

	Find  string // what the reader looks for
	Found *Found
}

// Place is a place in an output: an offset in bytes, and the number of the line that it is in, from 1. Mid tells that
// the line's beginning has been shown already.
type Place struct {
	Offset, Line int64
	Mid          bool
}

// Line is one line of an output, readable: no control characters are left in it.
type Line struct {
	N     int64 // from 1
	Spans []Styled
	// Progress reports whether the line says how far the program is: it is left out of view.
	Progress bool
	At       time.Time // when it was read; zero: not known
	Stderr   bool
	// More is how many bytes of a long line are left out, and Offset where they are.
	More, Offset int64
}

// Styled is a piece of a line that looks alike.
type Styled struct{ Class, Text string }

// Found is what a search of an output has found.
type Found struct {
	One, Many string // what a line does, and what lines do: "holds “gauge”", "look like errors"
	Matches   []Match
	// Next leads further into an output that has not been searched to its end; "" at the end.
	Next string
	// Share is how much of the output has been searched, in words; "" for all.
	Share string
}

// Match is a line that was found.
type Match struct {
	N                   int64
	Before, Hit, Behind string
}

// first and last are the numbers of the lines on the page, 0 where there are none.
func (o Output) first() int64 {
	if len(o.Lines) == 0 {
		return 0
	}
	return o.Lines[0].N
}

func (o Output) last() int64 {
	if len(o.Lines) == 0 {
		return 0
	}
	return o.Lines[len(o.Lines)-1].N
}

// page is the address of the run's page with this output.
func (o Output) page() string { return "/runs/" + o.Run + "?attempt=" + strconv.Itoa(o.Attempt) }

// lineURL leads to a line and those around it.
func (o Output) lineURL(n int64) string {
	number := strconv.FormatInt(n, 10)
	return o.page() + "&line=" + number + "#L" + number
}

// file is the address of the bytes themselves.
func (o Output) file() string {
	return "/runs/" + o.Run + "/output?attempt=" + strconv.Itoa(o.Attempt)
}

// lineTime and lineClock are how the time of a line is written for programs and for people.
const (
	lineTime  = "2006-01-02T15:04:05.000Z07:00"
	lineClock = "15:04:05.000"
)

// label names the line; the mark of standard error is said with it.
func (l Line) label() string {
	if l.Stderr {
		return "Line " + decimal(l.N) + ", standard error"
	}
	return "Line " + decimal(l.N)
}

func lineID(n int64) string { return "L" + strconv.FormatInt(n, 10) }

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// Grouped writes a number with thin spaces between its thousands.
func Grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "\u202f" + digits[i:]
	}
	return digits
}

// ShortDigest leaves of a sha256 what tells it from others.
func ShortDigest(digest string) string {
	if len(digest) <= 12 {
		return digest
	}
	return digest[:12] + "…"
}

// lineText writes a line without a space more or less than it has.
func lineText(line Line) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		for _, piece := range line.Spans {
			text := html.EscapeString(piece.Text)
			if piece.Class != "" {
				text = `<span class="` + html.EscapeString(piece.Class) + `">` + text + `</span>`
			}
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
		}
		return nil
	})
}
