package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// beInit is the whole life of an init: see namespaces. Programs cannot trace it, as it is another user or has more
// capabilities than they.
func beInit() error {
	runtime.LockOSThread() // the domain is this thread's
	unix.CloseOnExec(ordersFile)
	unix.CloseOnExec(reportFile)
	// What is caught here is not ignored in the program, and an init gets no signal that it does not catch.
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	report := os.NewFile(reportFile, "report")
	tell := func(word said) error { return json.NewEncoder(report).Encode(word) }
	program, err := follow(os.NewFile(ordersFile, "orders"))
	if err != nil {
		var failed *StartError
		word := said{Error: err.Error(), Late: errors.Is(err, ErrLate)}
		if errors.As(err, &failed) {
			errors.As(failed.Err, &word.Errno)
		}
		return tell(word)
	}
	if err := tell(said{}); err != nil || program == 0 {
		return err
	}
	return tell(attend(program, signals))
}

// follow does what the orders say, and returns the program's process id; 0 without a program.
func follow(from *os.File) (program int, err error) {
	var o orders
	if err := json.NewDecoder(from).Decode(&o); err != nil {
		return 0, fmt.Errorf("process: init: it is started by an executor only: %w", err)
	}
	visible := o.Readable
	if o.Dir != "" {
		visible = append(visible, o.Dir)
	}
	if err := arrange(o.Hidden, visible, o.Temp); err != nil {
		return 0, err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("clear capabilities: %w", err)
	}
	if o.Scopes != 0 {
		set, err := newRuleset(0, o.Scopes)
		if err != nil {
			return 0, err
		}
		if err := restrict(set); err != nil {
			return 0, err
		}
		closeAll(set)
	}
	if o.Path == "" {
		return 0, nil
	}
	return o.startProgram()
}

// startProgram starts the program, by way of the shim if it has limits: an init does not live with those of a program.
func (o *orders) startProgram() (program int, err error) {
	path, args, report := o.Path, o.Args, -1
	attributes := &syscall.ProcAttr{
		Dir: o.Dir, Env: o.Env, Files: []uintptr{0, 1, 2}, Sys: attributes(&Folder{UID: o.UID, GID: o.GID}, nil),
	}
	if len(o.Limits) > 0 {
		var write int
		if report, write, err = pipe(); err != nil {
			return 0, fmt.Errorf("make pipe: %w", err)
		}
		attributes.Files = append(attributes.Files, uintptr(write))
		path = "/proc/self/exe" // by its name it may be hidden
		if args, err = shim(os.Args[:len(os.Args)-1], o.Limits, o.Path, o.Args); err != nil {
			return 0, err
		}
	}
	err = retryBusy(func() error {
		if o.Before > 0 && clock() >= o.Before {
			return ErrLate
		}
		program, err = syscall.ForkExec(path, args, attributes)
		return err
	})
	if err == nil && report >= 0 {
		closeAll(int(attributes.Files[3]))
		err = awaitShim(report)
	}
	switch {
	case errors.Is(err, ErrLate):
		return 0, err
	case err != nil:
		return 0, &StartError{Path: o.Path, Err: err}
	}
	return program, nil
}

// attend passes signals on to the program's process group and reaps what ends, until the program has ended.
func attend(program int, signals <-chan os.Signal) said {
	var peak int64
	wait := short
	sample := time.NewTimer(wait)
	for {
		select {
		case one := <-signals:
			if one == syscall.SIGCHLD {
				if word, ended := reapAll(program); ended {
					word.MaxRSS = max(word.MaxRSS, peak)
					return word
				}
				continue
			}
			_ = syscall.Kill(-program, one.(syscall.Signal)) // it may be ending
		case <-sample.C:
			peak = max(peak, peakMemory(strconv.Itoa(program)))
			wait = min(2*wait, sampleMost)
			sample.Reset(wait)
		}
	}
}

// reapAll reaps all that has ended, and reports whether the program is among it.
func reapAll(program int) (word said, ended bool) {
	for {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, &usage)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || pid == 0:
			return word, ended
		case pid == program:
			word = said{Status: status, CPU: time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), MaxRSS: maxRSS(&usage)}
			ended = true
		}
	}
}
