package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

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
	// Missing says in words why nothing can be read where something should be.
	Missing string

	inline []byte
	stored StoredLog
}

// OpenLog opens the output of an attempt; attempt 0 means the latest.
func (s *Service) OpenLog(ctx context.Context, id string, attempt int) (*Log, error) {
	run, err := s.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	if attempt == 0 {
		attempt = run.Attempt
	}
	if attempt < 0 || attempt > run.Attempt {
		return nil, &Error{Kind: KindNotFound, Code: "attempt_not_found", Detail: fmt.Sprintf("run %s has had %d attempts: there is no attempt %d", id, run.Attempt, attempt)}
	}
	log := &Log{Run: run, Attempt: attempt}
	if attempt == 0 {
		log.Complete = run.Status.Terminal()
		return log, nil
	}
	a := run.Attempts[attempt-1]
	log.Complete = a.Status.Terminal()
	if a.Output != nil && a.Output.Chunks == 0 {
		log.inline, log.Size, log.Lines = a.Output.Tail, int64(len(a.Output.Tail)), a.Output.Lines
		return log, nil
	}
	log.stored, err = s.blobs.OpenLog(ctx, id, attempt)
	if errors.Is(err, engine.ErrNotFound) {
		if a.Output != nil && a.Output.Chunks > 0 {
			log.Missing = "the output is not in S3 any more; its last lines are all that is left"
			log.inline, log.Size = a.Output.Tail, int64(len(a.Output.Tail))
		}
		return log, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the output of run %s: %w", id, err)
	}
	log.Size, log.Lines = log.stored.Size(), log.stored.Lines()
	return log, nil
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

// Tail reads the last n bytes, beginning after a newline where there is one among them, and says where they begin.
func (l *Log) Tail(ctx context.Context, n int64) (data []byte, offset int64, err error) {
	offset = max(l.Size-n, 0)
	data = make([]byte, l.Size-offset)
	read, err := l.ReadAt(ctx, data, offset)
	data = data[:read]
	if offset > 0 {
		if newline := bytes.IndexByte(data, '\n'); newline >= 0 && newline+1 < len(data) {
			offset += int64(newline) + 1
			data = data[newline+1:]
		}
	}
	return data, offset, err
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

// followEvery is how often a follower makes sure that the attempt has not ended unheard.
const followEvery = time.Second

// FollowLog calls write with the output of an attempt from offset on, as it comes, without a gap, and returns when
// the attempt has ended and everything was written. write must not keep data.
func (s *Service) FollowLog(ctx context.Context, id string, attempt int, offset int64, write func(offset int64, data []byte) error) error {
	log, err := s.OpenLog(ctx, id, attempt)
	if err != nil {
		return err
	}
	position := offset
	if position, err = catchUp(ctx, log, position, write); err != nil || log.Complete {
		return err
	}
	attempt = max(log.Attempt, 1)

	watch, stop := context.WithCancel(ctx)
	frames := make(chan engine.LogFrame, 256)
	watched := make(chan error, 1)
	go func() {
		watched <- s.queue.WatchLog(watch, id, attempt, func(f engine.LogFrame) {
			select {
			case frames <- f:
			case <-watch.Done():
			}
		})
	}()
	defer func() { stop(); <-watched }()

	check := time.NewTicker(followEvery)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case frame := <-frames:
			if frame.Offset > position {
				if log, err = s.OpenLog(ctx, id, attempt); err != nil {
					return err
				}
				if position, err = catchUp(ctx, log, position, write); err != nil {
					return err
				}
			}
			if end := frame.Offset + int64(len(frame.Data)); frame.Offset <= position && end > position {
				if err := write(position, frame.Data[position-frame.Offset:]); err != nil {
					return err
				}
				position = end
			}
		case <-check.C:
			if log, err = s.OpenLog(ctx, id, attempt); err != nil {
				return err
			}
			if !log.Complete {
				continue
			}
			_, err = catchUp(ctx, log, position, write)
			return err
		}
	}
}

// catchUp writes what the log holds beyond position.
func catchUp(ctx context.Context, log *Log, position int64, write func(int64, []byte) error) (int64, error) {
	buffer := make([]byte, 64<<10)
	for position < log.Size {
		n, err := log.ReadAt(ctx, buffer, position)
		if err != nil {
			return position, err
		}
		if n == 0 {
			break
		}
		if err := write(position, buffer[:n]); err != nil {
			return position, err
		}
		position += int64(n)
	}
	return position, nil
}

// ReadLines gives at most count lines from a line number on; lines count from 0.
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
