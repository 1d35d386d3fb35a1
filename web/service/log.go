package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tidewheel/tidewheel/engine"
)

// Log is the output of one attempt as far as it is kept: small ones travel with the run, bigger ones lie in S3 in
// chunks. It is a view of one moment.
type Log struct {
	Run      engine.Run
	Attempt  int
	Size     int64 // bytes readable now
	Lines    int64
	Complete bool // the attempt has ended: nothing follows
	// Cut is how much more the program printed, in bytes, that its limit kept out.
	Cut int64
	// Lost is how much more it printed, in bytes, that could not be stored.
	Lost int64
	// Marks say when what is there was printed, and where to; none of what an earlier version ran.
	Marks []engine.OutputMark
	// Missing says in words why nothing can be read where something should be.
	Missing string

	inline []byte
	stored StoredLog
}

// OpenLog opens the output of an attempt; attempt 0 means the latest.
func (s *Service) OpenLog(ctx context.Context, namespace, id string, attempt int) (*Log, error) {
	run, err := s.Run(ctx, namespace, id)
	if err != nil {
		return nil, err
	}
	if attempt == 0 {
		attempt = run.Attempt
	}
	if attempt < 0 || attempt > run.Attempt {
		return nil, &Error{Kind: KindNotFound, Code: "attempt_not_found", Detail: fmt.Sprintf("run %s has had %d attempts: there is no attempt %d", id, run.Attempt, attempt)}
	}
	return s.openLog(ctx, &run, attempt)
}

// openLog opens the output of an attempt that the run has had, or none where it is 0.
func (s *Service) openLog(ctx context.Context, run *engine.Run, attempt int) (log *Log, err error) {
	log = &Log{Run: *run, Attempt: attempt}
	if attempt == 0 {
		log.Complete = run.Status.Terminal()
		return log, nil
	}
	a := run.Attempts[attempt-1]
	log.Complete = a.Status.Terminal()
	if a.Output != nil {
		log.Cut, log.Lost = a.Output.Truncated, a.Output.Lost
		log.Marks = engine.DecodeOutputMarks(a.Output.Marks)
	}
	if a.Output != nil && a.Output.Chunks == 0 {
		log.inline, log.Size, log.Lines = a.Output.Tail, int64(len(a.Output.Tail)), a.Output.Lines
		return log, nil
	}
	log.stored, err = s.blobs.OpenLog(ctx, run.ID, attempt)
	if errors.Is(err, engine.ErrNotFound) {
		if a.Output != nil && a.Output.Chunks > 0 {
			log.Missing = "the output is not in S3 any more; its last lines are all that is left"
			log.inline, log.Size, log.Marks = a.Output.Tail, int64(len(a.Output.Tail)), nil // they count from the beginning
		}
		return log, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the output of run %s: %w", run.ID, err)
	}
	log.Size, log.Lines = log.stored.Size(), log.stored.Lines()
	if a.Output == nil { // it has no result yet, or never had
		log.Marks = engine.DecodeOutputMarks(log.stored.Marks())
	}
	return log, nil
}

// errEnough stops a copy that has reached its end.
var errEnough = errors.New("enough")

// CopyRange writes at most length bytes from offset on to w, without holding more than a chunk.
func (l *Log) CopyRange(ctx context.Context, w io.Writer, offset, length int64) (int64, error) {
	limited := &limitWriter{w: w, left: length}
	if length <= 0 {
		return 0, nil
	}
	_, err := l.CopyTo(ctx, limited, offset)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return length - limited.left, err
}

type limitWriter struct {
	w    io.Writer
	left int64
}

func (l *limitWriter) Write(p []byte) (int, error) {
	full := int64(len(p)) >= l.left
	if full {
		p = p[:l.left]
	}
	n, err := l.w.Write(p)
	l.left -= int64(n)
	if err == nil && full {
		err = errEnough
	}
	return n, err
}

// LastLines returns where the last n lines begin; an unfinished last line counts, too.
func (l *Log) LastLines(ctx context.Context, n int64) (offset int64, err error) {
	switch {
	case n <= 0:
		return l.Size, nil
	case l.stored == nil:
		return lastLines(l.inline, n), nil
	case n >= l.Lines:
		return 0, nil
	}
	first, err := l.stored.ReadLines(ctx, l.Lines-n, 1)
	if err != nil {
		return 0, fmt.Errorf("look for the last lines of run %s: %w", l.Run.ID, err)
	}
	if len(first) == 0 {
		return l.Size, nil
	}
	return first[0].Offset, nil
}

func lastLines(text []byte, n int64) int64 {
	end := len(text)
	if end > 0 && text[end-1] == '\n' {
		end--
	}
	for ; n > 0; n-- {
		end = bytes.LastIndexByte(text[:max(end, 0)], '\n')
		if end < 0 {
			return 0
		}
	}
	return int64(end) + 1
}

// ReadAt reads at most len(p) bytes from offset; it returns fewer, without an error, only at the present end.
func (l *Log) ReadAt(ctx context.Context, p []byte, offset int64) (int, error) {
	if offset >= l.Size {
		return 0, nil
	}
	if l.stored == nil {
		return copy(p, l.inline[offset:]), nil
	}
	n, err := l.stored.ReadAt(ctx, p, offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// CopyTo writes everything from offset on to w, without holding more than a chunk.
func (l *Log) CopyTo(ctx context.Context, w io.Writer, offset int64) (int64, error) {
	if l.stored != nil {
		return l.stored.CopyTo(ctx, w, offset)
	}
	if offset >= l.Size {
		return 0, nil
	}
	n, err := w.Write(l.inline[offset:])
	return int64(n), err
}

// ReadLines returns at most count lines from a line number on; lines count from 0.
func (l *Log) ReadLines(ctx context.Context, from, count int64) ([]LogLine, error) {
	if l.stored != nil {
		return l.stored.ReadLines(ctx, from, count)
	}
	var lines []LogLine
	rest, offset := l.inline, int64(0)
	for number := int64(0); len(rest) > 0 && int64(len(lines)) < count; number++ {
		text, after, _ := bytes.Cut(rest, []byte("\n"))
		if number >= from {
			lines = append(lines, LogLine{Number: number, Offset: offset, Text: text})
		}
		offset += int64(len(rest) - len(after))
		rest = after
	}
	return lines, nil
}
