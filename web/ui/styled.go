package ui

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/tidewheel/tidewheel/templates"
)

// style is how text is to look, as the escape sequences of ECMA-48 (SGR) say it. The zero value is plain.
type style struct {
	foreground, background                        int // 1 … 16: the sixteen colours of terminals; 0: none
	bold, faint, italic, underlined, struck, swap bool
}

// class names a style for static/src/css/output.css; "" for plain.
func (s style) class() string {
	if s == (style{}) {
		return ""
	}
	if s.swap {
		s.foreground, s.background = s.background, s.foreground
		if s.foreground == 0 && s.background == 0 {
			s.background = 8
		}
	}
	var names []string
	if s.foreground > 0 {
		names = append(names, "f"+strconv.Itoa(s.foreground-1))
	}
	if s.background > 0 {
		names = append(names, "g"+strconv.Itoa(s.background-1))
	}
	for _, on := range []struct {
		is   bool
		name string
	}{{s.bold, "b"}, {s.faint, "d"}, {s.italic, "i"}, {s.underlined, "u"}, {s.struck, "s"}} {
		if on.is {
			names = append(names, on.name)
		}
	}
	return strings.Join(names, " ")
}

// styled makes of one line of output what can be shown of it: colours and weights become classes, other escape
// sequences go, and what is left is made readable. Each line begins plain, so that it looks the same from wherever the
// output is read.
func styled(line []byte) (spans []templates.Styled) {
	var now style
	for len(line) > 0 {
		at := bytes.IndexByte(line, 0x1b)
		if at < 0 {
			at = len(line)
		}
		if at > 0 {
			spans = addSpan(spans, now.class(), readable(line[:at]))
			line = line[at:]
			continue
		}
		length := sequenceLength(line)
		if length == 0 {
			spans = addSpan(spans, now.class(), readable(line[:1]))
			line = line[1:]
			continue
		}
		if sequence := line[:length]; sequence[1] == '[' && sequence[length-1] == 'm' {
			now.apply(string(sequence[2 : length-1]))
		}
		line = line[length:]
	}
	return spans
}

func addSpan(spans []templates.Styled, class, text string) []templates.Styled {
	if last := len(spans) - 1; last >= 0 && spans[last].Class == class {
		spans[last].Text += text
		return spans
	}
	return append(spans, templates.Styled{Class: class, Text: text})
}

// sequenceLength returns the length of the escape sequence at the beginning of data, 0 if it is none or not whole.
func sequenceLength(data []byte) int {
	if len(data) < 2 {
		return 0
	}
	switch c := data[1]; {
	case c == '[':
		return escapeSequence(data)
	case c == ']' || c == 'P' || c == '_' || c == '^': // a text for the terminal, to BEL or ESC \
		for i := 2; i < len(data); i++ {
			if data[i] == 0x07 {
				return i + 1
			}
			if data[i] == 0x1b && i+1 < len(data) && data[i+1] == '\\' {
				return i + 2
			}
		}
		return 0
	case c >= 0x20 && c <= 0x2f: // a choice of characters: ESC ( B
		for i := 2; i < len(data); i++ {
			if data[i] >= 0x30 && data[i] <= 0x7e {
				return i + 1
			}
			if data[i] < 0x20 || data[i] > 0x2f {
				return 0
			}
		}
		return 0
	case c >= 0x30 && c <= 0x7e:
		return 2
	}
	return 0
}

// apply takes the parameters of one sequence. What it does not know it passes over.
func (s *style) apply(parameters string) {
	codes := []int{}
	for part := range strings.FieldsFuncSeq(parameters, func(r rune) bool { return r == ';' || r == ':' }) {
		code, err := strconv.Atoi(part)
		if err != nil {
			return // a private one
		}
		codes = append(codes, code)
	}
	if len(codes) == 0 {
		codes = []int{0}
	}
	for i := 0; i < len(codes); i++ {
		switch code := codes[i]; {
		case code == 0:
			*s = style{}
		case code == 1:
			s.bold = true
		case code == 2:
			s.faint = true
		case code == 3:
			s.italic = true
		case code == 4:
			s.underlined = true
		case code == 7:
			s.swap = true
		case code == 9:
			s.struck = true
		case code == 22:
			s.bold, s.faint = false, false
		case code == 23:
			s.italic = false
		case code == 24:
			s.underlined = false
		case code == 27:
			s.swap = false
		case code == 29:
			s.struck = false
		case code >= 30 && code <= 37:
			s.foreground = code - 30 + 1
		case code >= 90 && code <= 97:
			s.foreground = code - 90 + 9
		case code == 39:
			s.foreground = 0
		case code >= 40 && code <= 47:
			s.background = code - 40 + 1
		case code >= 100 && code <= 107:
			s.background = code - 100 + 9
		case code == 49:
			s.background = 0
		case code == 38 || code == 48:
			colour, used := oneOfSixteen(codes[i+1:])
			i += used
			if code == 38 {
				s.foreground = colour
			} else {
				s.background = colour
			}
		}
	}
}

// oneOfSixteen reads a colour of 256 or of 16 million, and returns the nearest of the sixteen, from 1, with how many
// parameters it took.
func oneOfSixteen(codes []int) (colour, used int) {
	if len(codes) >= 2 && codes[0] == 5 {
		n := codes[1]
		switch {
		case n < 0 || n > 255:
			return 0, 2
		case n < 16:
			return n + 1, 2
		case n >= 232:
			grey := 8 + 10*(n-232)
			return nearest(grey, grey, grey), 2
		}
		level := [6]int{0, 95, 135, 175, 215, 255}
		n -= 16
		return nearest(level[n/36], level[n/6%6], level[n%6]), 2
	}
	if len(codes) >= 4 && codes[0] == 2 {
		return nearest(codes[1], codes[2], codes[3]), 4
	}
	return 0, len(codes)
}

// palette are the sixteen as xterm has them.
var palette = [16][3]int{
	{0, 0, 0}, {205, 0, 0}, {0, 205, 0}, {205, 205, 0}, {0, 0, 238}, {205, 0, 205}, {0, 205, 205}, {229, 229, 229},
	{127, 127, 127}, {255, 0, 0}, {0, 255, 0}, {255, 255, 0}, {92, 92, 255}, {255, 0, 255}, {0, 255, 255}, {255, 255, 255},
}

func nearest(red, green, blue int) int {
	best, least := 0, 1<<30
	for i, c := range palette {
		if far := (red-c[0])*(red-c[0]) + (green-c[1])*(green-c[1]) + (blue-c[2])*(blue-c[2]); far < least {
			best, least = i, far
		}
	}
	return best + 1
}
