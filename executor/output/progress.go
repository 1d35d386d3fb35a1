package output

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	progressMark = "::progress"
	// progressLine bounds a progress line; a longer one is none.
	progressLine = 1 << 10
)

var newlineMark = []byte("\n" + progressMark)

// scanner finds the progress lines in a stream of any bytes. It looks at each byte once.
type scanner struct {
	inside bool   // of a line that is no progress line, or has been too long to be one
	line   []byte // the beginning of a line that may be one
}

func (s *scanner) write(p []byte, report func(float64, string)) {
	for len(p) > 0 {
		if s.inside {
			// A line that begins in this piece is found with its newline; one that begins with the next piece is not.
			at := bytes.Index(p, newlineMark)
			if at < 0 {
				last := bytes.LastIndexByte(p, '\n')
				if last < 0 || !begins(p[last+1:]) {
					return
				}
				at = last
			}
			p, s.inside = p[at+1:], false
			continue
		}
		end := bytes.IndexByte(p, '\n')
		piece := p
		if end >= 0 {
			piece = p[:end]
		}
		if len(s.line)+len(piece) > progressLine || !begins(append(s.line, piece[:min(len(piece), len(progressMark))]...)) {
			s.line, s.inside = s.line[:0], true
			continue
		}
		s.line = append(s.line, piece...)
		if end < 0 {
			return
		}
		if fraction, message, ok := parse(s.line); ok {
			report(fraction, message)
		}
		s.line, p = s.line[:0], p[end+1:]
	}
}

// begins reports whether a line that begins with b may be a progress line.
func begins(b []byte) bool {
	n := min(len(b), len(progressMark))
	return string(b[:n]) == progressMark[:n]
}

// parse reads "::progress 0.42 message".
func parse(line []byte) (fraction float64, message string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(string(line), "\r"), progressMark+" ")
	if !ok {
		return 0, "", false
	}
	number, message, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	fraction, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(fraction) {
		return 0, "", false
	}
	message = strings.TrimSpace(message)
	if !utf8.ValidString(message) {
		message = strings.ToValidUTF8(message, "\uFFFD")
	}
	return min(max(fraction, 0), 1), message, true
}
