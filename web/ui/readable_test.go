package ui

import "testing"

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
