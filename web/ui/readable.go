package ui

import (
	"strings"
	"unicode/utf8"
)

// readable makes text for people of whatever a program has printed: escape sequences go, line ends become newlines,
// bytes that are no UTF-8 and characters that turn the direction of reading become U+FFFD, other control characters
// become their pictures. static/src/js/output.js does the same with what comes live. It does not escape HTML.
func readable(data []byte) string {
	var out strings.Builder
	out.Grow(len(data))
	for len(data) > 0 {
		if n := escapeSequence(data); n > 0 {
			data = data[n:]
			continue
		}
		r, size := utf8.DecodeRune(data)
		switch {
		case r == '\r':
			if len(data) == 1 || data[1] != '\n' {
				out.WriteByte('\n')
			}
		case r == '\n' || r == '\t':
			out.WriteByte(byte(r))
		case r < 0x20:
			out.WriteRune(0x2400 + r)
		case r == 0x7f, r > 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			out.WriteRune(utf8.RuneError)
		default:
			out.WriteRune(r)
		}
		data = data[size:]
	}
	return out.String()
}

// escapeSequence returns the length of the control sequence at the beginning of data, 0 if none is there whole.
func escapeSequence(data []byte) int {
	if len(data) < 3 || data[0] != 0x1b || data[1] != '[' {
		return 0
	}
	i := 2
	for i < len(data) && data[i] >= 0x30 && data[i] <= 0x3f {
		i++
	}
	for i < len(data) && data[i] >= 0x20 && data[i] <= 0x2f {
		i++
	}
	if i < len(data) && data[i] >= 0x40 && data[i] <= 0x7e {
		return i + 1
	}
	return 0
}

// whole cuts the bytes off the end that may be the beginning of a character.
func whole(data []byte) []byte {
	for back := 1; back <= min(utf8.UTFMax-1, len(data)); back++ {
		b := data[len(data)-back]
		if utf8.RuneStart(b) {
			if !utf8.FullRune(data[len(data)-back:]) {
				return data[:len(data)-back]
			}
			break
		}
	}
	return data
}
