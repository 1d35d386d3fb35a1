package output

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// maskLine is the length from which on a line of a value with several is a value of its own: a shorter one may well be a
// brace.
const maskLine = 8

// base64Lines are the lengths of lines that base64 is cut to by programs: coreutils and MIME, and PEM.
var base64Lines = []int{76, 64}

// encodings returns the texts that a value may be printed as: itself, base64 at each of its three alignments, what URLs make
// of it, and what JSON does. Some may be equal.
func encodings(value []byte) []string {
	if len(value) < MaskLeast {
		return nil
	}
	plain := string(value)
	forms := []string{plain, strings.TrimSpace(plain)}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		for before := range 3 {
			digits := encoding.EncodeToString(append(make([]byte, before, before+len(value)), value...))[(8*before+5)/6:]
			raw := strings.TrimRight(digits, "=")
			forms = append(forms, digits, raw)
			// Of the first digit, and of the last one unless the value ends the text, some bits are of what stands beside it.
			if (before+len(value))%3 != 0 {
				forms = append(forms, raw[:len(raw)-1])
			}
		}
	}
	if strings.IndexFunc(plain, escaped) < 0 {
		return forms
	}
	return appendJSON(appendPercent(forms, plain), plain)
}

// lines returns the lines that a value may be printed in: its own, and those of its base64.
func lines(value []byte) (forms []string) {
	if bytes.Contains(value, []byte("\n")) {
		for line := range strings.Lines(string(value)) {
			if line = strings.TrimSpace(line); len(line) >= maskLine {
				forms = append(forms, line)
			}
		}
	}
	digits := base64.RawStdEncoding.EncodeToString(value)[:8*len(value)/6]
	for _, length := range base64Lines {
		if len(digits) <= length {
			continue
		}
		for rest := digits; rest != ""; rest = rest[min(length, len(rest)):] {
			forms = append(forms, rest[:min(length, len(rest))])
		}
	}
	return forms
}

// unreserved are the bytes beside letters and digits that no encoding of URLs changes.
const unreserved = "-_."

// escaped reports whether some encoding of URLs, or JSON, changes a character.
func escaped(r rune) bool {
	plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !plain && !strings.ContainsRune(unreserved, r)
}

// appendPercent adds what encodings of URLs make of a text: they differ in what they leave as it is.
func appendPercent(forms []string, text string) []string {
	for _, kept := range []string{"~", "", "~/", "/", "~!*'()", "~$&+=:@"} {
		for _, digits := range []string{"0123456789ABCDEF", "0123456789abcdef"} {
			encoded := percent(text, kept, digits)
			if encoded == text {
				continue
			}
			forms = append(forms, encoded)
			if plus := strings.ReplaceAll(encoded, "%20", "+"); plus != encoded {
				forms = append(forms, plus)
			}
		}
	}
	return forms
}

func percent(text, kept, digits string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte(unreserved, c) >= 0, strings.IndexByte(kept, c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

// appendJSON adds what a text is inside a string of JSON, with and without the escapes that make it fit for HTML.
func appendJSON(forms []string, text string) []string {
	for _, html := range []bool{true, false} {
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(html)
		if encoder.Encode(text) != nil { // it takes every string
			continue
		}
		forms = append(forms, strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`), `"`))
	}
	return forms
}
