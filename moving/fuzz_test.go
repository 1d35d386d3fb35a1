package moving

import (
	"bytes"
	"slices"
	"testing"
)

// A line of a backup that can be read is written and read again as the same document.
func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"id":"a","namespace":"default","name":"a","generation":3}`))
	f.Add([]byte(`{"id":"a","payload":"{\"a\":1}","outputs":"[]","attempts":[{"n":1}]}`))
	f.Add([]byte(`{"result":"nonsense"}`))
	f.Add([]byte(`{"ID":1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		for of, parse := range parsers {
			document, err := parse(line)
			if err != nil {
				continue
			}
			var written bytes.Buffer
			if err := appendLine(&written, document); err != nil {
				continue // such as a status that there is not: it cannot be in a store
			}
			again, err := parse(written.Bytes())
			var twice bytes.Buffer
			if err == nil {
				err = appendLine(&twice, again)
			}
			if err != nil || !bytes.Equal(written.Bytes(), twice.Bytes()) {
				t.Errorf("%s: %s is written again as %s, %v", of, &written, &twice, err)
			}
		}
	})
}

// Bytes that are no backup are refused, and a part of one is never taken for the whole.
func FuzzVerify(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x28\xb5\x2f\xfd"))
	f.Add([]byte("\x28\xb5\x2f\xfd\x24\x00\x01\x00\x00\x99\xe9\xd8\x51"))
	f.Add(bytes.Repeat([]byte("tidewheel"), 100))
	f.Fuzz(func(t *testing.T, text []byte) {
		before := slices.Clone(text)
		header, manifest, err := Verify(t.Context(), bytes.NewReader(text), nil)
		if err == nil && (header == nil || manifest == nil) {
			t.Error("a backup without a header or a manifest was taken")
		}
		if !bytes.Equal(text, before) {
			t.Error("what is read was changed")
		}
	})
}
