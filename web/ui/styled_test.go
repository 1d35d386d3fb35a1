package ui

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestStyled(t *testing.T) {
	for raw, want := range map[string]string{
		"":                                   "[]",
		"plain":                              "[{ plain}]",
		"\x1b[32mok\x1b[0m then":             "[{f2 ok} {  then}]",
		"\x1b[1;31mbad\x1b[22m not so\x1b[m": "[{f1 b bad} {f1  not so}]",
		"\x1b[38;5;196mr\x1b[38;2;0;250;0mg": "[{f9 r} {f10 g}]",
		"\x1b[38;5;244;4mx":                  "[{f8 u x}]",
		"\x1b[48;5;4mx\x1b[49my":             "[{g4 x} { y}]",
		"\x1b[7mx\x1b[27my":                  "[{g7 x} { y}]",
		"\x1b[31;7mx":                        "[{g1 x}]",
		"a\x1b[2Kb\x1b]0;title\x07c\x1b(Bd\x1b]8;;http://x\x1b\\e": "[{ abcde}]",
		"\x1b[":                               "[{ ␛[}]",
		"\x1b]0;no end":                       "[{ ␛]0;no end}]",
		"\x1b[?25lx\x1b[>4;2mx":               "[{ xx}]",
		"\x1b[38;5mx\x1b[38mx\x1b[38;5;999mx": "[{ xxx}]",
		"10%\r20%\r":                          "[{ 10%\n20%\n}]",
	} {
		if got := fmt.Sprint(styled([]byte(raw))); got != want {
			t.Errorf("%q became %s, want %s", raw, got, want)
		}
	}
}

// Output is shown as text, and in its styles.
func FuzzStyled(f *testing.F) {
	for _, seed := range []string{"", "a\r\n", "\xf0\x9f", "\u202e", "\x1b[1;31mx\x1b[0m", "\x1b]0;x\x07", "\x1b", "\xff\x1b[38;2;1;2;3m", "\x1b[99999999999999999999m"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, span := range styled(line) {
			if !utf8.ValidString(span.Text) || strings.ContainsAny(span.Text, "\x1b\x00\x07\u202e") {
				t.Fatalf("%q holds what must not be shown", span.Text)
			}
			if strings.Trim(span.Class, "fgbdius 0123456789") != "" {
				t.Fatalf("%q is no class of ours", span.Class)
			}
		}
		text := readable(line)
		if !utf8.ValidString(text) {
			t.Fatalf("%q is no UTF-8", text)
		}
		if i := strings.IndexFunc(text, func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 }); i >= 0 {
			t.Fatalf("%q holds a control character", text)
		}
		// What is cut off must be completed by what follows.
		head := whole(line)
		if rest := line[len(head):]; len(rest) > 3 || utf8.Valid(rest) && len(rest) > 0 {
			t.Fatalf("%q was cut off %q", rest, line)
		}
	})
}
