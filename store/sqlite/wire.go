package sqlite

import (
	"encoding/binary"
	"errors"
	"math"
	"time"
)

var errDocument = errors.New("the stored document cannot be read")

// The records of the log (runs_log.go), and the documents of schema 10, are lists of fields. A field is the varint
// number<<1|kind and then, for kind 0, a varint, for kind 1, a length and that many bytes. In documents a zero value is
// left out, so absence is zero.
const (
	kindNumber = 0
	kindBytes  = 1
)

func appendText[T ~string | ~[]byte](b []byte, field uint64, v T) []byte {
	if len(v) == 0 {
		return b
	}
	return append(appendLength(b, field, len(v)), v...)
}

func appendLength(b []byte, field uint64, length int) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, field<<1|kindBytes), uint64(length))
}

// value is a field as it was read: a number or bytes, which point into the document.
type value struct {
	number uint64
	bytes  []byte
}

func (v value) int() int64 { return int64(v.number>>1) ^ -int64(v.number&1) }

func (v value) float() float64 { return math.Float64frombits(v.number) }

func (v value) time() time.Time {
	return time.UnixMicro(value{number: v.number >> 1}.int()).UTC()
}

func (v value) text() string { return string(v.bytes) }

// clone copies bytes, so that they may outlive the document.
func (v value) clone() []byte { return append([]byte(nil), v.bytes...) }

// fields calls read for every field of a document.
func fields(document []byte, read func(field uint64, v value) error) error {
	for len(document) > 0 {
		tag, n := binary.Uvarint(document)
		if n <= 0 {
			return errDocument
		}
		document = document[n:]
		number, n := binary.Uvarint(document)
		if n <= 0 {
			return errDocument
		}
		document = document[n:]
		v := value{number: number}
		if tag&1 == kindBytes {
			if number > uint64(len(document)) {
				return errDocument
			}
			v = value{bytes: document[:number:number]}
			document = document[number:]
		}
		if err := read(tag>>1, v); err != nil {
			return err
		}
	}
	return nil
}
