package ui

import (
	"fmt"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
)

// exitMeanings say what exit codes mean, by the contract with the program, sysexits.h, and the habits of shells.
var exitMeanings = map[int]string{
	2: "wrong usage, by convention", engine.ExitUsage: "wrong usage", engine.ExitDataError: "invalid input data", 69: "a service is unavailable",
	70: "internal error", 74: "I/O error", engine.ExitTempFail: "temporary failure", engine.ExitNoPerm: "permission denied",
	engine.ExitConfig: "configuration error", engine.ExitTimeout: "timed out, as by timeout(1)", 126: "not executable", 127: "command not found",
}

// signalMeanings say why a program mostly gets a signal.
var signalMeanings = map[string]string{
	"SIGKILL": "killed, possibly by the kernel for lack of memory", "SIGTERM": "asked to stop", "SIGINT": "interrupted", "SIGHUP": "terminal closed",
	"SIGSEGV": "invalid memory access", "SIGBUS": "access to unmapped memory", "SIGABRT": "aborted, as after a failed assertion",
	"SIGFPE": "arithmetic error", "SIGILL": "illegal instruction", "SIGPIPE": "its output was closed",
	"SIGXCPU": "CPU time limit exceeded", "SIGXFSZ": "file size limit exceeded", "SIGSYS": "system call not allowed",
}

// signals that shells tell as 128 + n.
var shellSignals = map[int]string{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 15: "SIGTERM"}

// exitWords reports how an attempt's program ended: "exit code 75, temporary failure"; "" while it goes on.
func exitWords(a *engine.Attempt) string {
	switch {
	case a.Signal != "":
		if meaning := signalMeanings[a.Signal]; meaning != "" {
			return "ended by " + a.Signal + ": " + meaning
		}
		return "ended by " + a.Signal
	case a.ExitCode == nil:
		return ""
	}
	words := fmt.Sprintf("exit code %d", *a.ExitCode)
	if meaning := exitMeanings[*a.ExitCode]; meaning != "" {
		return words + ", " + meaning
	}
	if signal := shellSignals[*a.ExitCode-128]; signal != "" {
		return words + ": probably " + signal + ", as reported by a shell"
	}
	return words
}

// attemptWords reports how an attempt ended, with who ended it.
func attemptWords(run *engine.Run, a *engine.Attempt) string {
	exit := exitWords(a)
	switch a.Status {
	case engine.StatusLost:
		words := "its executor was lost"
		if a.Executor != "" {
			words = "executor " + a.Executor + " was lost"
		}
		if strings.Contains(a.Error, "shut down") || strings.Contains(a.Error, "lock") {
			words = "given back by its executor"
		}
		if !a.FinishedAt.IsZero() {
			words += "; noticed " + a.FinishedAt.UTC().Format("2006-01-02 15:04:05") + " UTC"
		}
		return words
	case engine.StatusCancelled:
		if run.CancelBy != "" && a.N == run.Attempt {
			return join("cancelled by "+run.CancelBy, exit)
		}
		return join("cancelled", exit)
	case engine.StatusTimedOut:
		if a.Error == "" {
			return join("it exceeded its timeout", exit)
		}
		return exit
	case engine.StatusInvalid, engine.StatusScheduled, engine.StatusQueued, engine.StatusRunning, engine.StatusRetrying,
		engine.StatusSucceeded, engine.StatusFailed, engine.StatusDead, engine.StatusSkipped:
	}
	return exit
}

// capital begins a sentence.
func capital(words string) string {
	if words == "" {
		return ""
	}
	return strings.ToUpper(words[:1]) + words[1:]
}

func join(first, second string) string {
	if second == "" {
		return first
	}
	return first + "; " + second
}

// happens says what comes next of a run that waits for another attempt ("exit code 75, temporary failure: it will be tried
// again"), and which attempt that is; "" for any other run.
func happens(run *engine.Run, tries int) (words, try string) {
	last := run.Current()
	if run.Status != engine.StatusRetrying || last == nil {
		return "", ""
	}
	why := attemptWords(run, last)
	if why == "" {
		why = last.Error
	}
	if last.Error != "" && why != last.Error && last.Status != engine.StatusLost {
		why = last.Error
	}
	if why == "" {
		why = "the attempt failed"
	}
	try = fmt.Sprintf("attempt %d", run.Attempt+1)
	// Losses have a bound of their own: only failures are counted against the tries.
	if tries > 0 && run.Losses == 0 {
		try = fmt.Sprintf("attempt %d of %d", run.Attempt+1, max(tries, run.Attempt+1))
	}
	return why + ": it will be tried again", try
}
