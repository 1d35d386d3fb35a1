package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

const (
	// LogLineLimit is where Lines cuts a line, in bytes.
	LogLineLimit = 16 << 10
	// LogPageLimit is about how much Lines returns at most, in bytes.
	LogPageLimit = 1 << 20
)

// LogLine is a line of a log, without its \n.
type LogLine struct {
	Number int64 // from 0
	Offset int64 // of its first byte in the log
	Text   []byte
	// Truncated means that the line is longer than LogLineLimit; the rest is at
	// Offset+len(Text) for ReadAt.
	Truncated bool
}

// LogReader reads the log of an attempt as far as it was stored when the reader
// was opened or last refreshed. It holds at most one chunk in memory. It is not
// safe for concurrent use.
type LogReader struct {
	store  *Store
	folder string
	index  *logIndex

	// The chunk that Lines looked at last, as pages of lines follow each other.
	cachedChunk int64
	cached      []byte
}

// OpenLog opens the log of an attempt. ErrNotFound means that none was stored:
// the output was small and travelled with the result, or the log is deleted.
func (s *Store) OpenLog(ctx context.Context, run string, attempt int) (*LogReader, error) {
	folder, err := s.logFolder(run, attempt)
	if err != nil {
		return nil, err
	}
	reader := &LogReader{store: s, folder: folder, cachedChunk: -1}
	return reader, reader.Refresh(ctx)
}

// Refresh looks what has been stored since.
func (r *LogReader) Refresh(ctx context.Context) error {
	index, err := r.store.loadLogIndex(ctx, r.folder)
	if err != nil {
		return err
	}
	r.index = index
	if int64(len(r.cached)) < LogChunkSize { // it may have grown
		r.cachedChunk, r.cached = -1, nil
	}
	return nil
}

// Size is the length of the log in bytes.
func (r *LogReader) Size() int64 { return r.index.Size }

// Lines is the number of lines; bytes after the last \n are one more.
func (r *LogReader) Lines() int64 { return r.index.lines() }

// Complete reports whether the log is at its end. It stays false when the
// executor died before it could finish the log.
func (r *LogReader) Complete() bool { return r.index.Complete }

// Marks are those that the writer gave to its last Sync; none once the log is complete.
func (r *LogReader) Marks() []byte { return r.index.Marks }

// ReadAt fills p from an offset, as io.ReaderAt does, with io.EOF at the end.
func (r *LogReader) ReadAt(ctx context.Context, p []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, fmt.Errorf("blob: read log: negative offset %d", offset)
	}
	total := 0
	for total < len(p) && offset < r.index.Size {
		chunk, at := offset/LogChunkSize, offset%LogChunkSize
		length := min(int64(len(p)-total), r.index.chunkLength(chunk)-at)
		n, err := r.readChunk(ctx, p[total:int64(total)+length], chunk, at)
		total, offset = total+n, offset+int64(n)
		if err != nil {
			return total, err
		}
	}
	if total < len(p) {
		return total, io.EOF
	}
	return total, nil
}

// readChunk fills p from a place in a chunk that is known to reach that far.
func (r *LogReader) readChunk(ctx context.Context, p []byte, chunk, at int64) (int, error) {
	body, err := r.store.openRange(ctx, chunkKey(r.folder, chunk), at, int64(len(p)))
	if err != nil {
		return 0, err
	}
	defer body.Close()
	n, err := io.ReadFull(body, p)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return n, fmt.Errorf("blob: log chunk %s is shorter than its index says: %w", chunkKey(r.folder, chunk), io.ErrUnexpectedEOF)
	}
	return n, err
}

// CopyTo streams the log from an offset to its end, one chunk after another.
func (r *LogReader) CopyTo(ctx context.Context, w io.Writer, offset int64) (int64, error) {
	if offset < 0 {
		return 0, fmt.Errorf("blob: read log: negative offset %d", offset)
	}
	var total int64
	for offset < r.index.Size {
		chunk, at := offset/LogChunkSize, offset%LogChunkSize
		length := r.index.chunkLength(chunk) - at
		n, err := r.copyChunk(ctx, w, chunk, at, length)
		total, offset = total+n, offset+n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

func (r *LogReader) copyChunk(ctx context.Context, w io.Writer, chunk, at, length int64) (int64, error) {
	body, err := r.store.openRange(ctx, chunkKey(r.folder, chunk), at, length)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	n, err := io.CopyN(w, body, length)
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("blob: log chunk %s is shorter than its index says: %w", chunkKey(r.folder, chunk), io.ErrUnexpectedEOF)
	}
	return n, err
}

// WriterTo returns the whole log in the form that io.Copy and its kin take.
func (r *LogReader) WriterTo(ctx context.Context) io.WriterTo { return logStream{r, ctx} }

type logStream struct {
	reader *LogReader
	ctx    context.Context
}

func (l logStream) WriteTo(w io.Writer) (int64, error) { return l.reader.CopyTo(l.ctx, w, 0) }

// ReadLines returns up to count lines from a line on, which is numbered from 0.
// It returns fewer at the end of the log and when LogPageLimit is reached, but
// at least one if there is one.
func (r *LogReader) ReadLines(ctx context.Context, from, count int64) ([]LogLine, error) {
	if from < 0 || count < 0 {
		return nil, fmt.Errorf("blob: read log: %d lines from line %d", count, from)
	}
	last := r.index.lines()
	if count < last-from {
		last = from + count
	}
	if from >= last {
		return nil, nil
	}
	start, err := r.afterNewline(ctx, from)
	if err != nil {
		return nil, err
	}
	var lines []LogLine
	for size := 0; ; {
		line, next, err := r.readLine(ctx, from+int64(len(lines)), start)
		if err != nil {
			return nil, err
		}
		lines, size = append(lines, line), size+len(line.Text)
		if line.Number+1 == last || size >= LogPageLimit {
			return lines, nil
		}
		if start = next; line.Truncated {
			// The index knows its end, so what lies between is not fetched.
			if start, err = r.afterNewline(ctx, line.Number+1); err != nil {
				return nil, err
			}
		}
	}
}

// readLine reads a line from its first byte, and returns where the next one
// begins unless it had to be cut.
func (r *LogReader) readLine(ctx context.Context, number, start int64) (line LogLine, next int64, err error) {
	line = LogLine{Number: number, Offset: start}
	for at := start; at < r.index.Size; {
		data, err := r.chunkData(ctx, at/LogChunkSize)
		if err != nil {
			return LogLine{}, 0, err
		}
		piece := data[at%LogChunkSize:]
		end := bytes.IndexByte(piece, '\n')
		if end >= 0 {
			piece = piece[:end]
		}
		if room := LogLineLimit - len(line.Text); len(piece) > room {
			line.Text = append(line.Text, piece[:room]...)
			line.Truncated = true
			return line, 0, nil
		}
		line.Text = append(line.Text, piece...)
		at += int64(len(piece))
		if end >= 0 {
			return line, at + 1, nil
		}
	}
	return line, r.index.Size, nil
}

// afterNewline is the offset after the newline of a number, counted from 1;
// that is where the line of the same number, counted from 0, begins.
func (r *LogReader) afterNewline(ctx context.Context, number int64) (int64, error) {
	if number == 0 {
		return 0, nil
	}
	chunk := r.index.chunkOfNewline(number)
	data, err := r.chunkData(ctx, chunk)
	if err != nil {
		return 0, err
	}
	at := 0
	for left := number - r.index.before[chunk]; left > 0; left-- {
		next := bytes.IndexByte(data[at:], '\n')
		if next < 0 {
			return 0, fmt.Errorf("blob: log chunk %s has fewer lines than its index says", chunkKey(r.folder, chunk))
		}
		at += next + 1
	}
	return chunk*LogChunkSize + int64(at), nil
}

// chunkData fetches a chunk, as far as the index knows it, or has it already.
func (r *LogReader) chunkData(ctx context.Context, chunk int64) ([]byte, error) {
	if r.cachedChunk == chunk {
		return r.cached, nil
	}
	r.cachedChunk = -1
	length := r.index.chunkLength(chunk)
	if int64(cap(r.cached)) < length {
		r.cached = make([]byte, length)
	}
	r.cached = r.cached[:length]
	if _, err := r.readChunk(ctx, r.cached, chunk, 0); err != nil {
		return nil, err
	}
	r.cachedChunk = chunk
	return r.cached, nil
}
