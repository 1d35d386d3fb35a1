package engine_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

func TestOutputMarksSurviveTheirEncoding(t *testing.T) {
	at := time.Date(2026, 11, 27, 11, 0, 0, 5_000_000, time.UTC)
	marks := []engine.OutputMark{
		{Offset: 0, At: at, Stream: engine.StreamStdout}, {Offset: 0, At: at.Add(-time.Second), Stream: engine.StreamStderr},
		{Offset: 7, At: at.Add(time.Hour), Stream: engine.StreamMixed}, {Offset: math.MaxInt64 / 4, At: at.Add(1000 * time.Hour), Stream: engine.StreamStderr},
	}
	encoded := engine.EncodeOutputMarks(marks)
	if got := engine.DecodeOutputMarks(encoded); !slices.Equal(got, marks) {
		t.Errorf("%v\nbecame %v", marks, got)
	}
	if len(encoded) > 40 {
		t.Errorf("four marks are %d bytes", len(encoded))
	}
	for n := range encoded { // what is damaged ends them
		if got := engine.DecodeOutputMarks(encoded[:n]); len(got) > len(marks) || !slices.Equal(got, marks[:len(got)]) {
			t.Errorf("of %d bytes: %v", n, got)
		}
	}
	_ = engine.DecodeOutputMarks(slices.Repeat([]byte{0xff}, 40))
	for offset, want := range map[int64]engine.OutputMark{0: marks[1], 6: marks[1], 7: marks[2], math.MaxInt64: marks[3]} {
		if got, known := engine.OutputMarkAt(marks, offset); !known || got != want {
			t.Errorf("at %d: %v, want %v", offset, got, want)
		}
	}
	if got, known := engine.OutputMarkAt(marks[2:], 3); known {
		t.Errorf("before all: %v", got)
	}
	if got, known := engine.OutputMarkAt(nil, 3); known {
		t.Errorf("of none: %v", got)
	}
}
