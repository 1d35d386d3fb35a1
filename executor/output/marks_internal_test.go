package output

import (
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

func TestMarksTellWhenAndWhereFrom(t *testing.T) {
	var m marks
	at := time.Date(2026, 11, 27, 11, 0, 0, 0, time.UTC)
	m.add(0, at, engine.StreamStdout)
	m.add(10, at.Add(time.Microsecond), engine.StreamStdout) // as good as at once
	m.add(20, at.Add(2*time.Microsecond), engine.StreamStderr)
	m.add(30, at.Add(5*time.Millisecond), engine.StreamStderr)
	for offset, want := range map[int64]engine.OutputMark{
		0: {Offset: 0, At: at, Stream: engine.StreamStdout}, 19: {Offset: 0, At: at, Stream: engine.StreamStdout},
		20: {Offset: 20, At: at, Stream: engine.StreamStderr}, 31: {Offset: 30, At: at.Add(5 * time.Millisecond), Stream: engine.StreamStderr},
	} {
		if got, _ := engine.OutputMarkAt(m.list, offset); got != want {
			t.Errorf("at %d: %v, want %v", offset, got, want)
		}
	}
}

// However much is printed, the marks stay few; each line's time is right to within the grain, and no line has the wrong stream.
func TestMarksOfMuchOutputAreCoarse(t *testing.T) {
	begin := time.Date(2026, 11, 27, 11, 0, 0, 0, time.UTC)
	for name, stream := range map[string]func(i int) engine.OutputStream{
		"one stream":          func(int) engine.OutputStream { return engine.StreamMixed },
		"streams in turn":     func(i int) engine.OutputStream { return engine.StreamStdout + engine.OutputStream(i%2) },
		"errors now and then": func(i int) engine.OutputStream { return engine.StreamStdout + engine.OutputStream(i/500%2) },
	} {
		t.Run(name, func(t *testing.T) {
			const pieces, every = 50_000, 7 * time.Millisecond
			var m marks
			for i := range pieces {
				m.add(int64(i)*10, begin.Add(time.Duration(i)*every), stream(i))
			}
			if len(m.list) >= mostMarks || len(m.list) < mostMarks/8 {
				t.Errorf("%d marks", len(m.list))
			}
			if limit := pieces * every / (mostMarks / 8); m.grain > limit {
				t.Errorf("a grain of %v, want at most %v", m.grain, limit)
			}
			for i := range pieces {
				got, known := engine.OutputMarkAt(m.list, int64(i)*10)
				if late := begin.Add(time.Duration(i) * every).Sub(got.At); !known || late < 0 || late >= 2*m.grain {
					t.Fatalf("piece %d: %v, %v off with a grain of %v", i, got, late, m.grain)
				}
				if got.Stream != engine.StreamMixed && got.Stream != stream(i) {
					t.Fatalf("piece %d of %v is said to be of %v", i, stream(i), got.Stream)
				}
			}
		})
	}
}
