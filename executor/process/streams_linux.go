package process

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// openApart makes two pipes, and an epoll instance that the runtime's poller waits for.
func openApart(stdout, stderr io.Writer) (s *streams, ends []int, err error) {
	queue, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, nil, fmt.Errorf("process: make epoll: %w", err)
	}
	_ = unix.SetNonblock(queue, true) // so that the poller takes it
	s = &streams{ready: os.NewFile(uintptr(queue), "output")}
	s.conn, err = s.ready.SyscallConn()
	for i, sink := range []io.Writer{stdout, stderr} {
		var read, write int
		if err == nil {
			read, write, err = pipe()
		}
		if err != nil {
			break
		}
		ends = append(ends, write)
		s.pipes = append(s.pipes, stream{read, true, sink})
		_ = unix.SetNonblock(read, true) // cannot fail on a pipe; the program's end stays as it is
		err = unix.EpollCtl(queue, unix.EPOLL_CTL_ADD, read, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)})
	}
	if err != nil {
		closeAll(ends...)
		s.close()
		return nil, nil, fmt.Errorf("process: make pipes: %w", err)
	}
	return s, ends, nil
}

// readable names the pipes that can be read, the one first that has waited longest.
func readable(queue int, which []int) (n int, err error) {
	var events [2]unix.EpollEvent
	for err = unix.EINTR; err == unix.EINTR; {
		n, err = unix.EpollWait(queue, events[:], 0)
	}
	for i := range max(n, 0) {
		which[i] = int(events[i].Fd)
	}
	return n, err
}
