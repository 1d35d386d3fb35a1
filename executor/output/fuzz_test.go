package output

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// A line of progress gives a part of a whole and a text that can be stored, and a line that says so is never lost.
func FuzzProgress(f *testing.F) {
	for _, line := range []string{"::progress 0.42 half", "::progress NaN x", "::progress +Inf x", "::progress 1e999 x", "::progress -1", "::progress  .5 \xff", "::progress", "::progressive 1 x", "::progress 0x1p-2 a\r"} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		before := slices.Clone(line)
		fraction, message, ok := parse(line)
		if !slices.Equal(line, before) {
			t.Fatal("the output itself was changed")
		}
		switch {
		case ok && !begins(line):
			t.Errorf("%q is taken, and does not begin as it should", line)
		case ok && (fraction < 0 || fraction > 1 || math.IsNaN(fraction) || !utf8.ValidString(message) || message != strings.TrimSpace(message)):
			t.Errorf("%q says %v %q", line, fraction, message)
		case !ok && (fraction != 0 || message != ""):
			t.Errorf("%q says nothing, and %v %q", line, fraction, message)
		}
	})
}
