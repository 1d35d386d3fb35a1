package service

import (
	"errors"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
)

// A cursor of a list that is sent back is what was given, and any other text is refused or is one that could have been.
func FuzzListCursor(f *testing.F) {
	f.Add(joinListCursor("abc", "tide"))
	f.Add("")
	f.Add("bGlzdAo")
	f.Add("!!")
	f.Fuzz(func(t *testing.T, word string) {
		cursor, shown, err := splitListCursor(word)
		if err != nil {
			if !errors.Is(err, engine.ErrCursor) {
				t.Errorf("%q: %v", word, err)
			}
			return
		}
		again, shownAgain, err := splitListCursor(joinListCursor(cursor, shown))
		if err != nil || again != cursor || shownAgain != shown || strings.Contains(cursor+shown, "\n") {
			t.Errorf("%q is %q and %q, and then %q and %q, %v", word, cursor, shown, again, shownAgain, err)
		}
	})
}
