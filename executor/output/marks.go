package output

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

const (
	// mostMarks bounds how many marks an output has; encoded, each is some four bytes.
	mostMarks = 1024
	// finest is the time between marks at first. It doubles each time that there are too many.
	finest = time.Millisecond
)

// marks remember when pieces of an output came, and from which stream, more coarsely the more there are: what is not to be kept apart
// has the time at which its first part came.
type marks struct {
	list  []engine.OutputMark
	grain time.Duration
	// mixes reports that streams change so often that pieces of both within one grain are one, of a mixed stream.
	mixes bool
}

func (m *marks) add(offset int64, at time.Time, stream engine.OutputStream) {
	at = at.UTC().Truncate(time.Millisecond)
	m.grain = max(m.grain, finest)
	if !m.joins(engine.OutputMark{Offset: offset, At: at, Stream: stream}) {
		m.list = append(m.list, engine.OutputMark{Offset: offset, At: at, Stream: stream})
	}
	for len(m.list) == mostMarks {
		m.grain *= 2
		m.thin()
		// A clock of a day in milliseconds doubles 27 times: what is still apart then changes streams.
		m.mixes = m.mixes || len(m.list) > mostMarks/2
		if m.mixes {
			m.thin()
		}
	}
}

// joins reports whether a piece belongs to the one before.
func (m *marks) joins(mark engine.OutputMark) bool {
	if len(m.list) == 0 {
		return false
	}
	last := &m.list[len(m.list)-1]
	same := last.Stream == mark.Stream
	if mark.At.Sub(last.At) >= m.grain || !same && !m.mixes {
		return false
	}
	if !same {
		last.Stream = engine.StreamMixed
	}
	return true
}

func (m *marks) thin() {
	all := m.list
	m.list = all[:0]
	for _, mark := range all {
		if !m.joins(mark) {
			m.list = append(m.list, mark)
		}
	}
}
