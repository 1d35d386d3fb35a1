package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Start starts a program. What it prints goes to stdout, from the goroutine that calls Wait. With a stderr its standard error goes there,
// through a pipe of its own: then the order of what it prints to both within moments is lost. Outside of Linux stderr gets nothing.
func (h *Host) Start(command Command, stdout, stderr io.Writer) (_ *Process, err error) {
	p := &Process{host: h, folder: command.Folder, limits: command.Limits}
	if p.group, err = h.groups.take(command.Limits); err != nil {
		return nil, fmt.Errorf("process: make cgroup: %w", err)
	}
	in, feed, err := h.stdin(command.Stdin)
	if err != nil {
		h.groups.put(p.group)
		return nil, fmt.Errorf("process: make pipe: %w", err)
	}
	output, ends, err := openStreams(stdout, stderr)
	if err != nil {
		h.groups.put(p.group)
		h.closeInput(in, feed)
		return nil, err
	}
	h.givePipes(p.folder, in, ends...)
	h.enter(p.folder)
	attributes := &syscall.ProcAttr{
		Dir: command.Folder.Path, Env: command.Env,
		Files: []uintptr{uintptr(in), uintptr(ends[0]), uintptr(ends[len(ends)-1])},
		Sys:   attributes(p.folder, p.group),
	}
	wanted, report := p.resourceLimits(), -1
	switch {
	case h.namespaces != nil:
		p.init, err = h.namespaces.start(h.threads, h.namespaces.orders(wanted, command), p.folder, p.group, [3]int{in, ends[0], ends[len(ends)-1]})
	case len(wanted) > 0 && len(h.config.Guardian) > 0:
		p.pid, report, err = h.forkLimited(wanted, command, attributes)
	default:
		p.pid, err = h.fork(command, attributes)
	}
	closeAll(ends...)
	h.closeInput(in, nil)
	if err == nil && report >= 0 {
		if err = awaitShim(report); err != nil {
			_, _ = syscall.Wait4(p.pid, nil, 0, nil) // it ends at once
			err = &StartError{Path: command.Path, Err: err}
		}
	}
	if err != nil {
		h.leave(p.folder)
		h.groups.put(p.group)
		output.close()
		if feed != nil {
			_ = feed.Close() // it is never read
		}
		return nil, err
	}
	p.began = time.Now()
	if p.init != nil {
		p.pid = p.init.pid
	}
	p.output = output
	if feed != nil {
		p.input.Go(func() {
			_, _ = feed.Write(command.Stdin) // a program need not read
			_ = feed.Close()
		})
	}
	if len(wanted) > 0 && report < 0 && p.init == nil {
		p.limitFrom(wanted)
	}
	if p.watched {
		p.watch = make(chan struct{})
		p.watchs.Go(p.watchMemory)
	}
	return p, nil
}

// givePipes makes the program's user the owner of its pipes, so that it can open them again as /dev/stdin, /dev/stdout and
// /dev/stderr. Where that fails it can only use them as they are.
func (h *Host) givePipes(folder *Folder, in int, out ...int) {
	if folder.UID < 0 {
		return
	}
	if in != int(h.null.Fd()) {
		_ = unix.Fchown(in, folder.UID, folder.GID)
	}
	for _, fd := range out {
		_ = unix.Fchown(fd, folder.UID, folder.GID)
	}
}

// fork starts the program.
func (h *Host) fork(command Command, attributes *syscall.ProcAttr) (pid int, err error) {
	domain := -1
	if h.domains != nil {
		if domain, err = h.domains.ruleset(command.Folder.Path); err != nil {
			return 0, fmt.Errorf("process: make domain: %w", err)
		}
		defer closeAll(domain)
	}
	err = retryBusy(func() error {
		pid, err = h.threads.forkExec(command.Path, command.Args, attributes, domain, command.Before)
		return err
	})
	switch {
	case errors.Is(err, ErrLate):
		return 0, err
	case err != nil:
		return 0, &StartError{Path: command.Path, Err: err}
	}
	return pid, nil
}

// forkLimited starts the program by way of the shim. The outcome is read from report.
func (h *Host) forkLimited(limits []resourceLimit, command Command, attributes *syscall.ProcAttr) (pid, report int, err error) {
	arguments, err := shim(h.config.Guardian, limits, command.Path, command.Args)
	if err != nil {
		return 0, -1, err
	}
	report, write, err := pipe()
	if err != nil {
		return 0, -1, fmt.Errorf("process: make pipe: %w", err)
	}
	defer closeAll(write)
	attributes.Files = append(attributes.Files, uintptr(write))
	if pid, err = h.fork(Command{Path: arguments[0], Args: arguments, Folder: command.Folder, Before: command.Before}, attributes); err != nil {
		closeAll(report)
		return 0, -1, err
	}
	return pid, report, nil
}

// retryBusy starts a program again that is busy. A file that was just written may still be open in a child of this
// process that has not come to its exec: such a file is busy for moments.
func retryBusy(start func() error) error {
	wait := 200 * time.Microsecond
	for try := 1; ; try++ {
		err := start()
		if !errors.Is(err, syscall.ETXTBSY) || try == busyTries {
			return err
		}
		pause(wait)
		wait = min(2*wait, 20*time.Millisecond)
	}
}

// closeAll closes descriptors of pipes and folders, which cannot fail in a way that matters.
func closeAll(descriptors ...int) {
	for _, fd := range descriptors {
		_ = unix.Close(fd)
	}
}

// StartError reports why the system did not start a program.
type StartError struct {
	Path string
	Err  error // a syscall.Errno
}

func (e *StartError) Error() string { return fmt.Sprintf("process: start %s: %v", e.Path, e.Err) }

// Unwrap gives the system's error.
func (e *StartError) Unwrap() error { return e.Err }

// stdin returns the file descriptor that the program reads from, and, if it does not hold all of the input, the file to
// write it to.
func (h *Host) stdin(input []byte) (in int, feed *os.File, err error) {
	if input == nil {
		return int(h.null.Fd()), nil, nil
	}
	read, write, err := pipe()
	if err != nil {
		return 0, nil, err
	}
	// What fits into the pipe needs no goroutine that waits for the program to read it.
	if len(input) <= unixPipeSize {
		_ = unix.SetNonblock(write, true) // cannot fail on a pipe
		if n, err := unix.Write(write, input); err == nil && n == len(input) {
			closeAll(write)
			return read, nil, nil
		} else if n > 0 {
			closeAll(read, write)
			if read, write, err = pipe(); err != nil {
				return 0, nil, err
			}
		}
	}
	_ = unix.SetNonblock(write, true) // so that closing it ends a write
	return read, os.NewFile(uintptr(write), "input"), nil
}

const unixPipeSize = 64 << 10

func (h *Host) closeInput(in int, feed *os.File) {
	if in != int(h.null.Fd()) {
		closeAll(in)
	}
	if feed != nil {
		_ = feed.Close() // it is never read
	}
}
