package engine

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostOfLine is how much of a line LastLines returns, in bytes.
const mostOfLine = 300

// LastLines returns at most so many of the last lines that the run printed, made fit to be shown. Empty lines, and those that say how far
// the program is, are left out.
func (r *Run) LastLines(most int) (lines []string) {
	for i := len(r.Attempts) - 1; i >= 0; i-- {
		if output := r.Attempts[i].Output; output != nil {
			for line := range bytes.Lines(output.Tail) {
				if text := shownLine(line); text != "" && !strings.HasPrefix(text, "::progress ") {
					lines = append(lines, text)
				}
			}
			break
		}
	}
	return lines[max(0, len(lines)-most):]
}

func shownLine(line []byte) string {
	text := strings.ToValidUTF8(strings.TrimRightFunc(string(line), unicode.IsSpace), "\uFFFD")
	text = text[strings.LastIndexByte(text, '\r')+1:] // a progress bar that draws itself again: what it showed last
	text = strings.Map(func(r rune) rune {
		if r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
	if len(text) > mostOfLine {
		cut := mostOfLine
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return text
}
