package output

import (
	"bytes"
	"io"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

const (
	// Keep is how much of the latest output is in memory, and how much of it needs no writer behind.
	Keep = 64 << 10
	// Tail is how much of an output that has outgrown Keep travels with the result.
	Tail = 4 << 10
)

// Config says where output goes.
type Config struct {
	// Limit is how many bytes are kept, as they are masked; what comes after is counted and dropped.
	Limit int64
	// Spill opens the writer for an output that has outgrown Keep; it gets all of it, from the first byte. It is
	// called once.
	Spill func() (io.Writer, error)
	// Progress is called, from Write, for each line "::progress 0.42 message"; nil for none.
	Progress func(fraction float64, message string)
}

// Capture takes a program's output, from one or two streams. Their Write and Flush belong to one goroutine, everything else may be called
// from any.
type Capture struct {
	config  Config
	streams [2]Stream

	mu        sync.Mutex
	marks     marks
	kept      []byte // the last bytes of the output; a ring once it is full
	size      int64  // bytes taken
	lines     int64  // newlines in them, while all is kept
	truncated int64  // bytes dropped at the limit
	spill     io.Writer
	failed    error
	changed   chan struct{} // closed and replaced when something has come; nil while no caller waits
	ended     bool
}

// Stream is a way into a capture. It masks and looks for progress by itself, as what a program prints to two streams is mixed in any way.
type Stream struct {
	capture *Capture
	name    engine.OutputStream
	scan    scanner
	masker  masker
}

// New makes a capture.
func New(config Config) *Capture {
	c := &Capture{config: config}
	for i := range c.streams {
		c.streams[i].capture = c
	}
	return c
}

// Both is the way in for what comes from stdout and stderr through one pipe.
func (c *Capture) Both() *Stream { return &c.streams[0] }

// Apart are the ways in for what comes through two.
func (c *Capture) Apart() (stdout, stderr *Stream) {
	stdout, stderr = &c.streams[0], &c.streams[1]
	stdout.name, stderr.name = engine.StreamStdout, engine.StreamStderr
	return stdout, stderr
}

// Mask sets what is masked in all that is written from now on. It must be called before the first Write, or by its goroutine.
func (c *Capture) Mask(mask *Mask) {
	for i := range c.streams {
		c.streams[i].masker.mask = mask
	}
}

// Write takes a piece. It blocks as long as the writer behind does. The end of the piece is held back if it may be the
// beginning of what is masked, until the next one of the stream or Flush.
func (s *Stream) Write(p []byte) (int, error) {
	s.take(s.masker.write(p))
	return len(p), nil
}

// Flush takes what was held back: no Write follows. It must be called after the last Write.
func (c *Capture) Flush() {
	for i := range c.streams {
		c.streams[i].take(c.streams[i].masker.flush())
	}
}

// take takes a piece that is masked.
func (s *Stream) take(p []byte) {
	c := s.capture
	if c.config.Progress != nil {
		s.scan.write(p, c.config.Progress)
	}
	if room := c.config.Limit - c.size; int64(len(p)) > room {
		c.mu.Lock()
		c.truncated += int64(len(p)) - room
		c.mu.Unlock()
		p = p[:room]
	}
	if len(p) == 0 {
		return
	}
	c.pass(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.marks.add(c.size, time.Now(), s.name)
	c.keep(p)
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// pass hands on what does not stay here. Only Write's goroutine changes size and spill, so it may read them.
func (c *Capture) pass(p []byte) {
	if c.failed != nil {
		return
	}
	if c.spill == nil {
		if c.size+int64(len(p)) <= Keep {
			return
		}
		spill, err := c.config.Spill()
		if err == nil && len(c.kept) > 0 {
			_, err = spill.Write(c.kept)
		}
		c.mu.Lock()
		c.spill, c.failed = spill, err
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
	if _, err := c.spill.Write(p); err != nil {
		c.mu.Lock()
		c.failed = err
		c.mu.Unlock()
	}
}

// keep puts p into the ring: the byte at offset o of the whole is at o mod Keep once the ring is full.
func (c *Capture) keep(p []byte) {
	if c.spill == nil && c.failed == nil {
		c.lines += int64(bytes.Count(p, []byte{'\n'}))
		c.kept = append(c.kept, p...)
		c.size += int64(len(p))
		return
	}
	if len(c.kept) < Keep {
		c.kept = append(make([]byte, 0, Keep), c.kept...)[:Keep] // what is in it stays at its place
	}
	start := c.size + int64(len(p))
	if len(p) > Keep {
		c.size += int64(len(p) - Keep)
		p = p[len(p)-Keep:]
	}
	at := int(c.size % Keep)
	copied := copy(c.kept[at:], p)
	copy(c.kept, p[copied:])
	c.size = start
}

// From returns what is in memory of the output from offset on, as a copy, and the offset of its first byte, which is
// later if the bytes in between have left memory. end reports that nothing follows.
func (c *Capture) From(offset int64) (data []byte, at int64, end bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at = max(min(offset, c.size), c.size-Keep)
	return c.copyFrom(at), at, c.ended
}

// copyFrom is called with the lock.
func (c *Capture) copyFrom(at int64) []byte {
	data := make([]byte, c.size-at)
	if c.spill == nil && c.failed == nil {
		copy(data, c.kept[at:])
		return data
	}
	copied := copy(data, c.kept[at%Keep:min(at%Keep+int64(len(data)), Keep)])
	copy(data[copied:], c.kept)
	return data
}

// Marks returns the marks of the output from the piece at an offset on.
func (c *Capture) Marks(offset int64) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return engine.EncodeOutputMarks(c.marks.list[engine.OutputMarkIndex(c.marks.list, offset):])
}

// Changed returns a channel that is closed when something follows what size bytes hold, or nothing more will.
func (c *Capture) Changed(size int64) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.size > size {
		changed := make(chan struct{})
		close(changed)
		return changed
	}
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

// End marks the end of the output.
func (c *Capture) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// Size is the number of bytes taken.
func (c *Capture) Size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

// Summary is what there is to say of an output.
type Summary struct {
	Size      int64 // bytes taken
	Lines     int64 // newlines, and one for an unfinished last line; only of an output that was not spilled
	Tail      []byte
	Spilled   bool
	Truncated int64  // bytes dropped at the limit
	Failed    error  // why the writer behind took no more; how much it has stored, it knows
	Marks     []byte // of engine.EncodeOutputMarks
}

// Summary sums up the output; the caller must wait for its end first.
func (c *Capture) Summary() Summary {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Summary{Size: c.size, Lines: c.lines, Spilled: c.spill != nil || c.failed != nil, Truncated: c.truncated, Failed: c.failed}
	s.Marks = engine.EncodeOutputMarks(c.marks.list)
	if !s.Spilled {
		if s.Tail = c.kept; c.size > 0 && c.kept[c.size-1] != '\n' {
			s.Lines++
		}
		return s
	}
	s.Tail = c.copyFrom(c.size - min(Tail, c.size))
	return s
}
