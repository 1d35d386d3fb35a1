package engine

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// ErrCursor means that a cursor was not given out by the list it is used on.
var ErrCursor = errors.New("this cursor does not belong to this list: leave it out to begin at the first page")

// Cursor is the place after the last entry of a page, in the order of a list: by At, then by ID; lists by name leave
// At zero. It is kept to the millisecond.
type Cursor struct {
	At time.Time
	ID string
}

// Encode writes the cursor of the list of this kind ("runs", "jobs", …) as an opaque word that fits in a URL.
func (c Cursor) Encode(kind string) string {
	at := ""
	if !c.At.IsZero() {
		at = strconv.FormatInt(c.At.UnixMilli(), 10)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(kind + "\n" + at + "\n" + c.ID))
}

// DecodeCursor reads what Encode gives for the same kind; ErrCursor for anything else. The empty word is the zero
// Cursor and false: the first page.
func DecodeCursor(kind, word string) (c Cursor, given bool, err error) {
	if word == "" {
		return Cursor{}, false, nil
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(word)
	if err != nil {
		return Cursor{}, false, ErrCursor
	}
	parts := strings.SplitN(string(text), "\n", 3)
	if len(parts) != 3 || parts[0] != kind || parts[2] == "" {
		return Cursor{}, false, ErrCursor
	}
	if parts[1] != "" {
		milliseconds, err := strconv.ParseInt(parts[1], 10, 64)
		if err != nil {
			return Cursor{}, false, ErrCursor
		}
		c.At = time.UnixMilli(milliseconds).UTC()
	}
	c.ID = parts[2]
	return c, true, nil
}
