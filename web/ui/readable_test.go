package ui

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestReadable(t *testing.T) {
	for raw, want := range map[string]string{
		"plain\ttext\n": "plain\ttext\n", "a\r\nb\rc\r": "a\nb\nc\n", "\x1b[1;32mgreen\x1b[0m": "green", "\x1b[2K\x1b[?25l": "",
		"\x1b[": "␛[", "\x1b]0;title\x07": "␛]0;title␇", "\x00\x08": "␀␈", "\xff\xfeÖ": "\ufffd\ufffdÖ", "a\u202eb\u2066c": "a\ufffdb\ufffdc",
		"\x7f\u0085": "\ufffd\ufffd", "<b>": "<b>", "": "",
	} {
		if got := readable([]byte(raw)); got != want {
			t.Errorf("%q is shown as %q, want %q", raw, got, want)
		}
	}
}

func FuzzReadable(f *testing.F) {
	for _, seed := range []string{"", "a\r\n", "\x1b[31m", "\xf0\x9f", "\u202e", "\x1b[38;5;1"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text := readable(data)
		if !utf8.ValidString(text) {
			t.Fatalf("%q is no UTF-8", text)
		}
		if i := strings.IndexFunc(text, func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 }); i >= 0 {
			t.Fatalf("%q holds a control character", text)
		}
		// What is cut off must be completed by what follows.
		head := whole(data)
		if rest := data[len(head):]; len(rest) > 3 || utf8.Valid(rest) && len(rest) > 0 {
			t.Fatalf("%q was cut off %q", rest, data)
		}
	})
}
