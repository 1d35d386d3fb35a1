package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// A program with limits is started by way of this executable, which sets them upon itself and then becomes the
// program: setting them from outside comes too late for what the program does first. Programs without limits, which
// are most, do not pay for it.

// shimArgument is the first argument of the guardian's command line when it is to become a program.
const shimArgument = "become"

// shimFile is where it says why it did not. It is closed when it did.
const shimFile = 3

// resourceLimit is one limit of a process, as setrlimit(2) takes it.
type resourceLimit struct {
	Resource int
	Soft     uint64
	Hard     uint64
}

// shim makes the command line that sets limits and becomes the program.
func shim(guardian []string, limits []resourceLimit, path string, args []string) ([]string, error) {
	encoded, err := json.Marshal(limits)
	if err != nil {
		return nil, fmt.Errorf("encode limits: %w", err)
	}
	return slices.Concat(guardian, []string{shimArgument, string(encoded), path}, args), nil
}

// become sets the limits and becomes the program. It returns only if that fails.
func become(arguments []string) error {
	unix.CloseOnExec(shimFile)
	err := errors.New("process: become: it is started by an executor only")
	if len(arguments) >= 3 {
		err = limitAndExec(arguments[0], arguments[1], arguments[2:])
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		_, _ = unix.Write(shimFile, []byte(strconv.Itoa(int(errno)))) // there is no other way to report it
	}
	return err
}

func limitAndExec(encoded, path string, arguments []string) error {
	var limits []resourceLimit
	if err := json.Unmarshal([]byte(encoded), &limits); err != nil {
		return fmt.Errorf("process: become: %w", err)
	}
	environment := os.Environ()
	for _, limit := range limits {
		if err := syscall.Setrlimit(limit.Resource, &syscall.Rlimit{Cur: limit.Soft, Max: limit.Hard}); err != nil {
			return fmt.Errorf("process: limit resource %d: %w", limit.Resource, err)
		}
	}
	return retryBusy(func() error { return syscall.Exec(path, arguments, environment) })
}

// awaitShim waits until the program has taken the shim's place, and returns the reason if it has not.
func awaitShim(report int) error {
	defer func() { _ = unix.Close(report) }() // it was only read
	var text [16]byte
	for {
		n, err := unix.Read(report, text[:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n <= 0 {
			return nil
		}
		errno, err := strconv.Atoi(string(text[:n]))
		if err != nil {
			return fmt.Errorf("process: shim said %q", text[:n])
		}
		return syscall.Errno(errno)
	}
}
