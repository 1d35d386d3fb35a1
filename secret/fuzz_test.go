package secret

import (
	"bytes"
	"testing"
)

// A sealed value that was changed anywhere, cut off or lengthened opens to nothing: never to another value.
func FuzzOpen(f *testing.F) {
	key, err := NewKey()
	if err != nil {
		f.Fatal(err)
	}
	value := []byte("correct-horse-battery-staple")
	whole, err := seal(key.Recipient(), "default", "db", value)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint16(0), byte(0), uint16(0), []byte{})
	f.Add(uint16(40), byte(1), uint16(0), []byte{})
	f.Add(uint16(len(whole)-1), byte(128), uint16(0), []byte{})
	f.Add(uint16(0), byte(0), uint16(9), []byte{})
	f.Add(uint16(0), byte(0), uint16(0), []byte("more"))
	f.Add(uint16(0), byte(0), uint16(len(whole)), []byte("age-encryption.org/v1\n-> X25519 \n--- "))
	f.Fuzz(func(t *testing.T, at uint16, flip byte, cut uint16, more []byte) {
		sealed := bytes.Clone(whole)
		sealed[int(at)%len(sealed)] ^= flip
		sealed = append(sealed[:len(sealed)-min(int(cut), len(sealed))], more...)
		opened, err := key.Open("default", "db", sealed)
		switch same := bytes.Equal(sealed, whole); {
		case same && (err != nil || !bytes.Equal(opened, value)):
			t.Errorf("what was sealed opens to %q, %v", opened, err)
		case !same && err == nil:
			t.Errorf("changed at %d by %x, cut by %d, with %q it opens to %q", at, flip, cut, more, opened)
		}
		if opened, err := key.Open("default", "other", sealed); err == nil {
			t.Errorf("of another name it opens to %q", opened)
		}
	})
}

// A key that is read is written and read again as itself, and an error shows nothing of what it was read from.
func FuzzParseKey(f *testing.F) {
	key, err := NewKey()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(key.Text())
	f.Add(bytes.Repeat(key.Text(), 3))
	f.Add([]byte("# nothing\n"))
	f.Add(append(bytes.TrimSpace(key.Text()), 'X'))
	f.Fuzz(func(t *testing.T, text []byte) {
		key, err := ParseKey(text)
		if err != nil {
			for line := range bytes.Lines(text) {
				if line = bytes.TrimSpace(line); len(line) > 30 && bytes.Contains([]byte(err.Error()), line) {
					t.Errorf("the error shows the key: %v", err)
				}
			}
			return
		}
		again, err := ParseKey(key.Text())
		if err != nil || !bytes.Equal(again.Text(), key.Text()) || again.Recipient() != key.Recipient() {
			t.Errorf("%q is read again as %q, %v", key.Text(), again.Text(), err)
		}
	})
}
