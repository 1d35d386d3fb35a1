package blob

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	firstBackoff = 200 * time.Millisecond
	lastBackoff  = 5 * time.Second
	// indexShare bounds the cost of the index of a huge log: it is rewritten
	// only when it has grown by this share, unless Sync or Close want it.
	indexShare = 32
	// firstBuffer is what a writer allocates before it knows of more.
	firstBuffer = 64 << 10
)

// ErrLogClosed means that a log is written to after its end.
var ErrLogClosed = errors.New("the log is closed")

// LogInfo describes a log.
type LogInfo struct {
	Size   int64 // bytes
	Lines  int64
	Chunks int64
}

// LogWriter stores the output of one attempt while it comes. It holds one chunk
// while another is under way; a Write that finds both full waits, so a program
// faster than S3 is slowed down rather than kept in memory. While S3 is unavailable it
// tries again until its context ends. Methods may be called concurrently.
//
// The owner must call Close, which waits for the writer's goroutine.
type LogWriter struct {
	store  *Store
	ctx    context.Context // bounds the life of the writer, not one call
	folder string

	mu     sync.Mutex // over buffer, chunk, closed
	buffer []byte     // the unfinished chunk
	chunk  int64      // its number
	closed bool

	work   chan logWork
	spare  chan []byte   // a buffer to use again
	ended  chan struct{} // closed when the goroutine has ended
	failed chan struct{} // closed once failure is set
	// failure is why nothing more is stored; to be read after failed.
	failure error
	result  LogInfo // to be read after ended
}

// logWork is a chunk to store, whole or as far as it has come.
type logWork struct {
	chunk    int64
	data     []byte
	full     bool
	complete bool
	marks    []byte     // of a Sync
	reply    chan error // nil while no caller waits
}

// NewLogWriter begins the log of an attempt. Only one writer may write it. The
// context bounds everything the writer does, retries included: it is not that
// of the program, whose last words come after its end.
func (s *Store) NewLogWriter(ctx context.Context, run string, attempt int) (*LogWriter, error) {
	folder, err := s.logFolder(run, attempt)
	if err != nil {
		return nil, err
	}
	writer := &LogWriter{
		store: s, ctx: ctx, folder: folder,
		work: make(chan logWork), spare: make(chan []byte, 1),
		ended: make(chan struct{}), failed: make(chan struct{}),
	}
	go writer.run()
	return writer, nil
}

// Write takes any bytes. It fails only when the log is closed, the context has
// ended, or S3 refuses for good; the bytes counted were then not all stored.
func (w *LogWriter) Write(p []byte) (int, error) {
	// Other writers wait with this one when S3 is slow, as they must.
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, ErrLogClosed
	}
	written := 0
	for len(p) > 0 {
		select {
		case <-w.failed:
			return written, w.failure
		default:
		}
		n := min(len(p), LogChunkSize-len(w.buffer))
		w.grow(n)
		w.buffer = append(w.buffer, p[:n]...)
		written, p = written+n, p[n:]
		if len(w.buffer) == LogChunkSize {
			if err := w.send(logWork{chunk: w.chunk, data: w.buffer, full: true}); err != nil {
				return written, err
			}
			w.buffer, w.chunk = nil, w.chunk+1
		}
	}
	return written, nil
}

// grow makes room for n bytes. A small log must stay cheap, because a machine
// may run hundreds of programs at once; a buffer never passes the chunk size.
func (w *LogWriter) grow(n int) {
	need := len(w.buffer) + n
	if need <= cap(w.buffer) {
		return
	}
	if w.buffer == nil {
		select {
		case w.buffer = <-w.spare:
			return // it held a full chunk
		default:
		}
	}
	size := min(LogChunkSize, max(need, firstBuffer, 2*cap(w.buffer)))
	w.buffer = append(make([]byte, 0, size), w.buffer...)
}

func (w *LogWriter) send(work logWork) error {
	select {
	case w.work <- work:
		return nil
	case <-w.failed:
		return w.failure
	}
}

// Sync stores what has come so far and brings the index up to date, so that
// readers see it, with marks: what the caller knows of the output beside its
// bytes, which readers have until it ends. The caller decides how often.
func (w *LogWriter) Sync(marks []byte) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrLogClosed
	}
	// Bytes written later come after these, in the same array or in a new one.
	work := logWork{chunk: w.chunk, data: w.buffer[:len(w.buffer):len(w.buffer)], marks: marks, reply: make(chan error, 1)}
	w.mu.Unlock()
	return w.await(work)
}

func (w *LogWriter) await(work logWork) error {
	if err := w.send(work); err != nil {
		return err
	}
	return <-work.reply
}

// Close stores the rest, marks the log complete and ends the writer. A second
// call returns the same.
func (w *LogWriter) Close() (LogInfo, error) {
	w.mu.Lock()
	first := !w.closed
	w.closed = true
	if first {
		// An error is kept in failure, and returned below.
		_ = w.await(logWork{chunk: w.chunk, data: w.buffer, complete: true, reply: make(chan error, 1)})
		close(w.work)
		w.buffer = nil
	}
	w.mu.Unlock()
	<-w.ended
	return w.result, w.failure
}

// run stores one chunk after another. It ends after Close.
func (w *LogWriter) run() {
	defer close(w.ended)
	stored := logProgress{index: logIndex{Format: logIndexFormat, Newlines: []int64{}}, dirty: true}
	for work := range w.work {
		var err error
		if w.failure == nil {
			if err = w.keep(&stored, work); err != nil {
				w.failure = err
				close(w.failed)
			}
		}
		if work.full {
			select {
			case w.spare <- work.data[:0]:
			default:
			}
		}
		if work.reply != nil {
			work.reply <- w.failure
		}
	}
	stored.index.derive()
	w.result = LogInfo{Size: stored.index.Size, Lines: stored.index.lines(), Chunks: int64(len(stored.index.Newlines))}
}

// logProgress is what the goroutine of a writer has stored.
type logProgress struct {
	index   logIndex
	indexed int  // chunks in the index as stored
	dirty   bool // the index as stored is behind
}

// keep stores one piece of work and, when it is due or wanted, the index.
func (w *LogWriter) keep(stored *logProgress, work logWork) error {
	size := work.chunk*LogChunkSize + int64(len(work.data))
	// A Sync may be overtaken by the Write that fills its chunk: what it wanted
	// stored is stored already, and must not be cut short.
	if size > stored.index.Size {
		if err := w.persist(chunkKey(w.folder, work.chunk), work.data); err != nil {
			return err
		}
		index := &stored.index
		index.Newlines = append(index.Newlines[:work.chunk], int64(bytes.Count(work.data, []byte{'\n'})))
		index.Size = size
		index.Open = work.data[len(work.data)-1] != '\n'
		stored.dirty = true
	}
	chunks := len(stored.index.Newlines)
	due := chunks-stored.indexed > stored.indexed/indexShare
	if wanted := work.reply != nil && stored.dirty; !due && !wanted && !work.complete {
		return nil
	}
	stored.index.Complete = work.complete
	if work.complete || work.marks != nil {
		stored.index.Marks = work.marks
	}
	data, err := json.Marshal(&stored.index)
	if err != nil {
		return fmt.Errorf("blob: encode log index: %w", err)
	}
	if err := w.persist(w.folder+logIndexName, data); err != nil {
		return err
	}
	stored.indexed, stored.dirty = chunks, false
	return nil
}

// persist tries until it is done, S3 refuses for good, or the context ends.
func (w *LogWriter) persist(key string, data []byte) error {
	for backoff := firstBackoff; ; backoff = min(2*backoff, lastBackoff) {
		err := w.store.putSmall(w.ctx, key, data)
		if err == nil {
			return nil
		}
		if w.ctx.Err() != nil {
			return fmt.Errorf("blob: store log: %w", errors.Join(context.Cause(w.ctx), err))
		}
		if lasting(err) {
			return err
		}
		w.store.logger.Warn("blob: log not stored, trying again", "key", key, "after", backoff, "error", err)
		timer := time.NewTimer(backoff)
		select {
		case <-timer.C:
		case <-w.ctx.Done():
			timer.Stop()
		}
	}
}
