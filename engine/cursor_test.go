package engine

import (
	"errors"
	"testing"
	"time"
)

func TestCursorComesBack(t *testing.T) {
	for _, c := range []Cursor{{ID: "a"}, {At: time.UnixMilli(-5).UTC(), ID: "line\nbreak"}, {At: time.UnixMilli(0).UTC(), ID: "ü"}} {
		got, given, err := DecodeCursor("runs", c.Encode("runs"))
		if err != nil || !given || !got.At.Equal(c.At) || got.ID != c.ID {
			t.Errorf("%+v came back as %+v, %v, %v", c, got, given, err)
		}
		if _, _, err := DecodeCursor("jobs", c.Encode("runs")); !errors.Is(err, ErrCursor) {
			t.Errorf("a cursor of another list: %v", err)
		}
	}
	if _, given, err := DecodeCursor("runs", ""); given || err != nil {
		t.Errorf("no cursor: %v, %v", given, err)
	}
}

func FuzzDecodeCursor(f *testing.F) {
	f.Add("cnVucwoxCmE")
	f.Add("!")
	f.Fuzz(func(t *testing.T, word string) {
		c, given, err := DecodeCursor("runs", word)
		if err == nil && given {
			if again, _, err := DecodeCursor("runs", c.Encode("runs")); err != nil || again != c {
				t.Errorf("%q: %+v does not come back: %+v, %v", word, c, again, err)
			}
		}
	})
}
