package process

import (
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// streams are the executor's ends of what a program prints. They are read by one goroutine, which waits for all of them at once in
// the runtime's poller: many programs are silent for long, and none should hold a thread.
type streams struct {
	ready *os.File        // becomes readable when one of the pipes does
	conn  syscall.RawConn // of ready
	pipes []stream        // stdout and, where it is apart, stderr
}

// stream is the executor's end of a pipe.
type stream struct {
	fd   int // negative: it has ended
	sink io.Writer
}

var buffers = sync.Pool{New: func() any { return new([readSize]byte) }}

// read waits for output and passes on what there is, in the order in which the pipes had some; io.EOF once all have ended. It holds a
// buffer only while there is something to read.
func (s *streams) read() error {
	var failed error
	err := s.conn.Read(func(ready uintptr) bool {
		var which [2]int
		n, err := readable(int(ready), which[:])
		if err != nil || n == 0 {
			failed = err
			return err != nil
		}
		buffer := buffers.Get().(*[readSize]byte)
		defer buffers.Put(buffer)
		passed := 0
		for _, i := range which[:n] {
			passed += s.pipes[i].pass(buffer[:])
		}
		if s.ended() {
			failed = io.EOF
		}
		return passed > 0 || failed != nil
	})
	if err != nil {
		return err
	}
	return failed
}

// readRest reads what is in the pipes although another process still holds them, and gives up then.
func (s *streams) readRest() {
	buffer := buffers.Get().(*[readSize]byte)
	defer buffers.Put(buffer)
	for i := range s.pipes {
		for left := wideSize; left > 0; {
			n := s.pipes[i].pass(buffer[:])
			if n == 0 {
				break
			}
			left -= n
		}
	}
}

// pass reads once and passes on what there was; the end of the pipe closes it.
func (s *stream) pass(buffer []byte) int {
	if s.fd < 0 {
		return 0
	}
	n, err := unix.Read(s.fd, buffer)
	for err == unix.EINTR {
		n, err = unix.Read(s.fd, buffer)
	}
	switch {
	case err == unix.EAGAIN:
		return 0
	case err != nil || n == 0:
		s.close()
		return 0
	}
	if n >= unixPipeSize {
		widen(s.fd)
	}
	_, _ = s.sink.Write(buffer[:n]) // a sink that fails has said so elsewhere; the program continues
	return n
}

func (s *stream) close() {
	if s.fd >= 0 {
		closeAll(s.fd)
		s.fd = -1
	}
}

func (s *streams) ended() bool {
	for i := range s.pipes {
		if s.pipes[i].fd >= 0 {
			return false
		}
	}
	return true
}

func (s *streams) close() {
	_ = s.ready.Close() // it was only read
	for i := range s.pipes {
		s.pipes[i].close()
	}
}
