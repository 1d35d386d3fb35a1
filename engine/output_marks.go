package engine

import (
	"encoding/binary"
	"sort"
	"time"
)

// OutputStream is where a program printed something.
type OutputStream uint8

// The streams.
const (
	StreamMixed  OutputStream = iota // either, or not known
	StreamStdout                     // standard output
	StreamStderr                     // standard error
	outputStreams
)

// String returns the stream's name, "" for one that is not known.
func (s OutputStream) String() string { return [...]string{"", "stdout", "stderr"}[s%outputStreams] }

// OutputMark says when a piece of an output was read, and from which stream. The piece begins at Offset and ends at that of the
// next mark.
type OutputMark struct {
	Offset int64
	At     time.Time // in whole milliseconds
	Stream OutputStream
}

// EncodeOutputMarks encodes marks, whose offsets must not decrease: of each the distance in bytes to the one before, times three, plus its
// stream; and the milliseconds to the one before, or since 1970. Numbers are varints of encoding/binary.
func EncodeOutputMarks(marks []OutputMark) (encoded []byte) {
	var before OutputMark
	for i, mark := range marks {
		encoded = binary.AppendUvarint(encoded, uint64(mark.Offset-before.Offset)*uint64(outputStreams)+uint64(mark.Stream))
		since := mark.At.UnixMilli()
		if i > 0 {
			since -= before.At.UnixMilli()
		}
		encoded = binary.AppendVarint(encoded, since)
		before = mark
	}
	return encoded
}

// DecodeOutputMarks decodes marks. Damage ends them.
func DecodeOutputMarks(encoded []byte) (marks []OutputMark) {
	var offset, at int64
	for len(encoded) > 0 {
		distance, n := binary.Uvarint(encoded)
		if n <= 0 {
			break
		}
		since, size := binary.Varint(encoded[n:])
		if size <= 0 {
			break
		}
		encoded = encoded[n+size:]
		if offset += int64(distance / uint64(outputStreams)); offset < 0 {
			break
		}
		at += since
		marks = append(marks, OutputMark{Offset: offset, At: time.UnixMilli(at).UTC(), Stream: OutputStream(distance % uint64(outputStreams))})
	}
	return marks
}

// OutputMarkIndex returns which mark is of the piece that the byte at an offset lies in; 0 where it lies before all.
func OutputMarkIndex(marks []OutputMark, offset int64) int {
	return max(sort.Search(len(marks), func(i int) bool { return marks[i].Offset > offset })-1, 0)
}

// OutputMarkAt returns the mark of the piece that the byte at an offset lies in; false where none is known.
func OutputMarkAt(marks []OutputMark, offset int64) (OutputMark, bool) {
	n := OutputMarkIndex(marks, offset)
	if n == len(marks) || marks[n].Offset > offset {
		return OutputMark{}, false
	}
	return marks[n], true
}
