package sqlite

import (
	"encoding/binary"
	"errors"
	"math"
	"time"
)

var errDocument = errors.New("the stored document cannot be read")

// A document is a list of fields in ascending order of their numbers. A field is the varint number<<1|kind and then,
// for kind 0, a varint, for kind 1, a length and that many bytes. A zero value is left out, so absence is zero; an
// unknown number is skipped, so that a document of a later version of the program can be read.
const (
	kindNumber = 0
	kindBytes  = 1
)

func appendUint(b []byte, field uint64, v uint64) []byte {
	if v == 0 {
		return b
	}
	return binary.AppendUvarint(binary.AppendUvarint(b, field<<1|kindNumber), v)
}

func appendBool(b []byte, field uint64, v bool) []byte {
	if !v {
		return b
	}
	return appendUint(b, field, 1)
}

// appendInt writes small negative numbers as briefly as positive ones.
func appendInt(b []byte, field uint64, v int64) []byte {
	return appendUint(b, field, uint64(v<<1)^uint64(v>>63))
}

func appendFloat(b []byte, field uint64, v float64) []byte {
	return appendUint(b, field, math.Float64bits(v))
}

// appendTime keeps microseconds. The instant 1970-01-01 is no zero time, hence the 1 in the lowest bit.
func appendTime(b []byte, field uint64, at time.Time) []byte {
	if at.IsZero() {
		return b
	}
	micros := at.UnixMicro()
	return appendUint(b, field, (uint64(micros<<1)^uint64(micros>>63))<<1|1)
}

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

// someTime is time for a field that may have been left out.
func (v value) someTime() time.Time {
	if v.number == 0 {
		return time.Time{}
	}
	return v.time()
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
