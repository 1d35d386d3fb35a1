package process

import (
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// streams are the executor's ends of what a program prints. They are read by one goroutine, which waits for all of them at once in
// the runtime's poller: many programs are silent for long, and none should hold a thread.
type streams struct {
	ready *os.File        // the only pipe, or what becomes readable when one of two does
	conn  syscall.RawConn // of ready
	pipes []stream        // one for both streams, or stdout and stderr
}

// stream is the executor's end of a pipe.
type stream struct {
	fd   int  // negative: it has ended
	own  bool // it is not that of streams.ready, which closes it
	sink io.Writer
}

// openStreams makes the pipes of a program, one for both streams where stderr is nil, and returns the ends that it gets as stdout and,
// where that is apart, stderr. The caller closes those.
func openStreams(stdout, stderr io.Writer) (s *streams, ends []int, err error) {
	if stderr != nil {
		return openApart(stdout, stderr)
	}
	read, write, err := pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("process: make pipe: %w", err)
	}
	_ = unix.SetNonblock(read, true) // cannot fail on a pipe; the program's end stays as it is
	s = &streams{ready: os.NewFile(uintptr(read), "output"), pipes: []stream{{fd: read, sink: stdout}}}
	if s.conn, err = s.ready.SyscallConn(); err != nil {
		closeAll(write)
		s.close()
		return nil, nil, fmt.Errorf("process: make pipe: %w", err)
	}
	return s, []int{write}, nil
}

var buffers = sync.Pool{New: func() any { return new([readSize]byte) }}

// read waits for output and passes on what there is, in the order in which the pipes had some; io.EOF once all have ended. It holds a
// buffer only while there is something to read.
func (s *streams) read() error {
	var failed error
	err := s.conn.Read(func(ready uintptr) bool {
		var which [2]int
		n := 1 // a single pipe is read at once: EAGAIN says that it is empty
		if len(s.pipes) > 1 {
			if n, failed = readable(int(ready), which[:]); n <= 0 {
				return failed != nil
			}
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
	if s.fd >= 0 && s.own {
		closeAll(s.fd)
	}
	s.fd = -1
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
	for i := range s.pipes {
		s.pipes[i].close()
	}
	_ = s.ready.Close() // it was only read
}
