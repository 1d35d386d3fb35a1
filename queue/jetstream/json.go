package jetstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"time"
	"unicode/utf8"
)

// encoder appends JSON. Its methods take what stands before the value, and the value.
type encoder struct {
	b   []byte
	err error
}

func (e *encoder) text(before, s string) {
	e.b = append(e.b, before...)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			e.other("", s)
			return
		}
	}
	e.b = append(append(append(e.b, '"'), s...), '"')
}

func (e *encoder) textUnlessEmpty(before, s string) {
	if s != "" {
		e.text(before, s)
	}
}

func (e *encoder) int(before string, n int64) { e.b = strconv.AppendInt(append(e.b, before...), n, 10) }

func (e *encoder) intUnlessZero(before string, n int64) {
	if n != 0 {
		e.int(before, n)
	}
}

func (e *encoder) time(before string, t time.Time) {
	b, err := t.AppendText(append(append(e.b, before...), '"'))
	if err != nil {
		e.err = errors.Join(e.err, err)
		return
	}
	b = append(b, '"')
	e.b = b
}

func (e *encoder) timeUnlessZero(before string, t time.Time) {
	if !t.IsZero() {
		e.time(before, t)
	}
}

// other leaves a value to encoding/json.
func (e *encoder) other(before string, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		e.err = errors.Join(e.err, err)
	}
	e.b = append(append(e.b, before...), data...)
}

// decoder reads one JSON value. Whatever it does not take sets failed, after which nothing that was read counts. The
// strings that it gives are parts of one, which is cheaper than one for each.
type decoder struct {
	data   []byte
	whole  string // a copy of data
	at     int
	failed bool
}

func newDecoder(data []byte) decoder { return decoder{data: data, whole: string(data)} }

// open reads the beginning of an object and gives its first key, "" if it has none.
func (d *decoder) open() string {
	d.expect('{')
	if d.peek() == '}' {
		d.at++
		return ""
	}
	return d.key()
}

// next gives the next key of an object, "" at its end.
func (d *decoder) next() string {
	if d.failed {
		return ""
	}
	if d.peek() == '}' {
		d.at++
		return ""
	}
	d.expect(',')
	return d.key()
}

func (d *decoder) key() string {
	key := d.text()
	d.expect(':')
	d.failed = d.failed || key == ""
	if d.failed {
		return ""
	}
	return key
}

// ended reports whether all was read and taken.
func (d *decoder) ended() bool { return !d.failed && d.peek() == 0 && d.at == len(d.data) }

// peek gives the next byte that is no space, 0 at the end.
func (d *decoder) peek() byte {
	for d.at < len(d.data) {
		switch c := d.data[d.at]; c {
		case ' ', '\t', '\r', '\n':
			d.at++
		default:
			return c
		}
	}
	return 0
}

func (d *decoder) expect(c byte) {
	if d.failed || d.peek() != c {
		d.failed = true
		return
	}
	d.at++
}

func (d *decoder) text() string {
	d.expect('"')
	if d.failed {
		return ""
	}
	ascii := true
	for i, c := range d.data[d.at:] {
		switch {
		case c == '"':
			found := d.whole[d.at : d.at+i]
			d.at += i + 1
			d.failed = !ascii && !utf8.ValidString(found)
			return found
		case c == '\\' || c < ' ':
			d.failed = true
			return ""
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	d.failed = true
	return ""
}

func (d *decoder) texts() []string {
	d.expect('[')
	if d.peek() == ']' {
		d.at++
		return []string{}
	}
	var all []string
	for !d.failed {
		all = append(all, d.text())
		if d.peek() == ']' {
			d.at++
			return all
		}
		d.expect(',')
	}
	return nil
}

// digits gives a whole number as it is written.
func (d *decoder) digits() string {
	d.peek()
	from := d.at
	if d.at < len(d.data) && d.data[d.at] == '-' {
		d.at++
	}
	first := d.at
	for d.at < len(d.data) && d.data[d.at] >= '0' && d.data[d.at] <= '9' {
		d.at++
	}
	if d.at == first || (d.data[first] == '0' && d.at > first+1) {
		d.failed = true
	}
	return d.whole[from:d.at]
}

func (d *decoder) int() int64 {
	n, err := strconv.ParseInt(d.digits(), 10, 64)
	d.failed = d.failed || err != nil
	return n
}

func (d *decoder) uint() uint64 {
	n, err := strconv.ParseUint(d.digits(), 10, 64)
	d.failed = d.failed || err != nil
	return n
}

func (d *decoder) bool() bool {
	d.peek()
	for _, value := range []string{"true", "false"} {
		if bytes.HasPrefix(d.data[d.at:], []byte(value)) {
			d.at += len(value)
			return value == "true"
		}
	}
	d.failed = true
	return false
}

func (d *decoder) time(t *time.Time) {
	d.peek()
	from := d.at
	d.text()
	if !d.failed {
		d.failed = t.UnmarshalJSON(d.data[from:d.at]) != nil
	}
}

// other leaves a value to encoding/json; unless fresh, a second value of the same key would be merged into the first.
func (d *decoder) other(into any, fresh bool) {
	d.peek()
	from := d.at
	if d.skip(); d.failed || !fresh || from == d.at || d.data[from] == 'n' {
		d.failed = true
		return
	}
	d.failed = json.Unmarshal(d.data[from:d.at], into) != nil
}

// skip goes to the end of a value. It may go too far in what is no JSON, which is for the reader of the value to see.
func (d *decoder) skip() {
	depth, quoted := 0, false
	for ; d.at < len(d.data); d.at++ {
		c := d.data[d.at]
		switch {
		case quoted && c == '\\':
			d.at++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == '}' || c == ']'):
			return
		case c == '}' || c == ']':
			depth--
		}
	}
	d.failed = true // an object's end must follow
}
