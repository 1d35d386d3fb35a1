package service

import (
	"bytes"
	"context"
	"io"

	"github.com/tidewheel/tidewheel/engine"
)

// stampForm is RFC 3339 with milliseconds, of one width.
const stampForm = "2006-01-02T15:04:05.000Z07:00"

// Stamper writes an output with the time and the stream before each line: "2026-11-27T11:57:21.150Z stderr ". What is not known is "-".
type Stamper struct {
	w      io.Writer
	offset int64 // of what comes next
	inside bool  // of a line
	line   []byte
}

// NewStamper makes one for the output of a log from an offset on. A line that begins before has no stamp.
func NewStamper(ctx context.Context, w io.Writer, log *Log, offset int64) (*Stamper, error) {
	s := &Stamper{w: w, offset: offset}
	if offset > 0 && offset <= log.Size {
		var before [1]byte
		if _, err := log.ReadAt(ctx, before[:], offset-1); err != nil {
			return nil, err
		}
		s.inside = before[0] != '\n'
	}
	return s, nil
}

// Write writes what comes next, with the marks that are known of it.
func (s *Stamper) Write(data []byte, marks []engine.OutputMark) error {
	s.line = s.line[:0]
	for len(data) > 0 {
		if !s.inside {
			s.line = stamp(s.line, marks, s.offset)
		}
		end := bytes.IndexByte(data, '\n') + 1
		s.inside = end == 0
		if s.inside {
			end = len(data)
		}
		s.line = append(s.line, data[:end]...)
		s.offset += int64(end)
		data = data[end:]
	}
	_, err := s.w.Write(s.line)
	return err
}

func stamp(line []byte, marks []engine.OutputMark, offset int64) []byte {
	mark, known := engine.OutputMarkAt(marks, offset)
	if known {
		line = mark.At.UTC().AppendFormat(line, stampForm)
	} else {
		line = append(line, '-')
	}
	line = append(line, ' ')
	if mark.Stream == engine.StreamMixed {
		line = append(line, '-')
	} else {
		line = append(line, mark.Stream.String()...)
	}
	return append(line, ' ')
}

// CopyStamped writes everything from an offset on with the time and stream of each line.
func (l *Log) CopyStamped(ctx context.Context, w io.Writer, offset int64) error {
	s, err := NewStamper(ctx, w, l, offset)
	if err != nil {
		return err
	}
	_, err = l.CopyTo(ctx, stampedBy(func(data []byte) error { return s.Write(data, l.Marks) }), offset)
	return err
}

type stampedBy func(data []byte) error

func (s stampedBy) Write(data []byte) (int, error) { return len(data), s(data) }
