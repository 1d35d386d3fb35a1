package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor/cache"
	"github.com/tidewheel/tidewheel/executor/process"
	"github.com/tidewheel/tidewheel/spec"
)

// failure is why a program did not begin, in words for its owner.
type failure struct {
	message   string
	noRetry   bool // it never will
	vanished  bool // its file has gone from the cache
	ended     bool // the attempt was to end before
	unfetched bool // the store did not give it, there is no room for it here, or the engine did not say that it may begin
}

// isFull reports whether an error says that a disk, or what a user may take of it, is full.
func isFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// run runs the program to its end.
func (a *attempt) run(file *cache.File, folder *process.Folder) (process.Exit, *failure) {
	deadline := time.Time{}
	if a.task.Timeout > 0 {
		deadline = time.Now().Add(a.task.Timeout)
	}
	secrets, failed := a.openSecrets()
	if failed != nil {
		return process.Exit{}, failed
	}
	environment := newEnvironment(&a.task, secrets, a.token, folder, a.inputs, deadline, a.e.config.Path)
	a.openAPI(environment, deadline)
	a.maskOutput(environment)
	arguments, failed := a.commandLine(file, environment)
	if failed == nil {
		failed = a.bareArguments(arguments[len(arguments)-len(a.task.Args):], environment)
	}
	if failed != nil {
		return process.Exit{}, failed
	}
	variables := environment.list()
	for _, variable := range variables {
		if strings.Contains(variable, "\x00") {
			name, _, _ := strings.Cut(variable, "=")
			return process.Exit{}, &failure{noRetry: true, message: "its variable " + quoted(name) + " holds a zero byte, which no program can be given"}
		}
	}
	command := process.Command{
		Path: arguments[0], Args: arguments, Env: variables, Folder: folder, Files: []string{file.Path},
		Limits: process.Limits{
			Memory: int64(a.task.Limits.Memory), CPU: a.task.Limits.CPU, Time: a.task.Timeout, OpenFiles: a.task.Limits.OpenFiles,
		},
	}
	if len(a.task.Payload) > 0 {
		command.Stdin = a.task.Payload
	}
	program, err := a.start(command)
	if err != nil {
		if errors.Is(err, errEnded) {
			return process.Exit{}, &failure{ended: true}
		}
		return process.Exit{}, a.explain(err, file, arguments[0])
	}
	a.e.observer.AttemptStarted(&a.task, a.startedAt)
	if a.task.Timeout > 0 {
		timeout := time.AfterFunc(a.task.Timeout, func() { a.end(endTimedOut) })
		defer timeout.Stop()
	}
	exit := program.Wait()
	a.stopped()
	return exit, nil
}

func (a *attempt) outputLimit() int64 {
	if limit := int64(a.task.Limits.Output); limit > 0 {
		return limit
	}
	return int64(spec.DefaultOutput)
}

// unbegun is the end of an attempt whose program has not begun.
func (a *attempt) unbegun(failed *failure) *engine.Finish {
	finish := &engine.Finish{Status: engine.StatusFailed, Error: failed.message, NoRetry: failed.noRetry, FetchedAt: a.fetchedAt}
	if failed.ended {
		a.cutShort(finish)
	}
	if failed.unfetched {
		finish.HandedBack, finish.Unfetched = true, true
	}
	return finish
}

// cutShort reports why an attempt did not end by itself, and reports whether that is so.
func (a *attempt) cutShort(finish *engine.Finish) bool {
	switch a.reason() {
	case endByItself:
		return false
	case endTimedOut:
		finish.Status = engine.StatusTimedOut
		finish.Error = fmt.Sprintf("it ran longer than its timeout of %v", a.task.Timeout)
	case endCancelled:
		finish.Status = engine.StatusCancelled
	case endDrained:
		finish.Status, finish.HandedBack = engine.StatusFailed, true
		finish.Error = "its executor " + a.e.config.ID + " was shut down"
	case endOrdered:
		finish.Status, finish.HandedBack = engine.StatusFailed, true
		finish.Error = "its executor " + a.e.config.ID + " is being drained"
	case endLost:
		finish.Status, finish.HandedBack = engine.StatusFailed, true
		finish.Error = "its executor " + a.e.config.ID + " could not keep the lock, because it did not reach the queue, and ended the program"
	}
	return true
}

// ended is the end of an attempt whose program has run.
func (a *attempt) ended(exit process.Exit) *engine.Finish {
	finish := &engine.Finish{
		FetchedAt: a.fetchedAt, StartedAt: a.startedAt,
		Usage: &engine.Usage{CPU: exit.CPU, MaxRSS: exit.MaxRSS},
	}
	if exit.Signal != 0 {
		finish.Signal = unix.SignalName(exit.Signal)
		if finish.Signal == "" { // the real-time ones have none
			finish.Signal = fmt.Sprintf("signal %d", int(exit.Signal))
		}
	} else {
		finish.ExitCode = &exit.Code
	}
	var lost string
	finish.Output, lost = a.closeOutput()
	if a.cutShort(finish) {
		return finish
	}
	limits := a.task.Limits
	switch {
	case exit.Over == process.OverMemory:
		finish.Status, finish.Error = engine.StatusFailed, fmt.Sprintf("killed: used more than its memory limit of %v", limits.Memory)
	case exit.Over == process.OverCPU:
		finish.Status, finish.Error = engine.StatusFailed, fmt.Sprintf("killed: used more than its CPU limit of %v cores over its timeout of %v", limits.CPU, a.task.Timeout)
	case exit.Signal == 0 && exit.Code == 0:
		finish.Status = engine.StatusSucceeded
	case exit.Signal == 0 && exit.Code == engine.ExitTimeout:
		finish.Status = engine.StatusTimedOut
	default:
		finish.Status = engine.StatusFailed
		if limits.Memory > 0 && saysOutOfMemory(finish.Output.Tail) {
			finish.Error = fmt.Sprintf("its output says that it was refused memory; its memory limit is %v", limits.Memory)
		}
	}
	if lost != "" && finish.Error == "" {
		finish.Error = lost
	}
	return finish
}

// explain returns why the system did not start the program.
func (a *attempt) explain(err error, file *cache.File, path string) *failure {
	here := "executor " + a.e.config.ID
	direct := path == file.Path
	switch {
	case errors.Is(err, fs.ErrNotExist) && direct && file.Missing():
		return &failure{message: "its file vanished from the cache of " + here, vanished: true}
	case errors.Is(err, fs.ErrNotExist) && direct:
		return &failure{message: missingInterpreter(file, here), noRetry: true}
	case errors.Is(err, fs.ErrNotExist):
		return &failure{message: fmt.Sprintf("its interpreter %s does not exist on %s", path, here), noRetry: true}
	case errors.Is(err, unix.ENOEXEC):
		return &failure{message: notExecutable(file.Head, here), noRetry: true}
	case errors.Is(err, fs.ErrPermission):
		return &failure{message: fmt.Sprintf("%s may not execute %s: look whether the file system is mounted noexec, and whether the user that programs run as can reach it", here, path)}
	case errors.Is(err, unix.E2BIG):
		return &failure{message: "its arguments and environment are larger than the system allows: pass them as payload", noRetry: true}
	}
	return &failure{message: here + " cannot start it: " + cause(err)}
}

// cause is the innermost error, which is what a user can make something of.
func cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Error()
	}
	var start *process.StartError
	if errors.As(err, &start) {
		return start.Err.Error()
	}
	return err.Error()
}

// closeOutput ends the output and returns what there is of it, and in words if some could not be stored.
func (a *attempt) closeOutput() (*engine.Output, string) {
	a.output.Flush()
	a.output.End()
	info, err := a.log.close(a.e.config.LogTimeout)
	s := a.output.Summary()
	out := &engine.Output{Size: s.Size, Lines: s.Lines, Tail: s.Tail, Truncated: s.Truncated, Marks: s.Marks}
	if !s.Spilled {
		return out, ""
	}
	if err == nil {
		err = s.Failed
	}
	out.Chunks, out.Lines = int(min(info.Chunks, math.MaxInt32)), info.Lines
	if err == nil {
		return out, ""
	}
	// What is not stored is lost, but for the tail.
	out.Size = info.Size
	if out.Chunks == 0 {
		out.Size, out.Lines, out.Marks = int64(len(out.Tail)), countLines(out.Tail), nil // they count from the beginning
	}
	out.Lost = s.Size - out.Size
	a.e.log.Error("part of an output could not be stored", keyRun, a.task.Run, keyAttempt, a.task.Attempt, keyError, err)
	return out, "part of its output could not be stored: " + err.Error()
}
