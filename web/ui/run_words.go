package ui

import (
	"fmt"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
)

// exitMeanings say what exit codes mean, by the contract with the program, sysexits.h, and the habits of shells.
var exitMeanings = map[int]string{
	0: "all is well", 2: "wrong use, by many programs' habit", engine.ExitUsage: "wrong use of the program", engine.ExitDataError: "wrong input data", 69: "a service is not there",
	70: "an error inside the program", 74: "an error of reading or writing", engine.ExitTempFail: "a temporary failure", engine.ExitNoPerm: "no permission",
	engine.ExitConfig: "wrong configuration", engine.ExitTimeout: "the program's own timeout", 126: "found, but not executable", 127: "command not found",
}

// signalMeanings say why a program mostly gets a signal.
var signalMeanings = map[string]string{
	"SIGKILL": "killed outright, as by the kernel when memory is short", "SIGTERM": "told to stop", "SIGINT": "interrupted", "SIGHUP": "its terminal went",
	"SIGSEGV": "it touched memory that is not its own", "SIGBUS": "it touched memory that is not there", "SIGABRT": "it gave up by itself, as after a failed assertion",
	"SIGFPE": "an impossible calculation", "SIGILL": "an instruction that this processor does not know", "SIGPIPE": "its output was closed",
	"SIGXCPU": "it used more CPU time than its limit", "SIGXFSZ": "it wrote a larger file than its limit", "SIGSYS": "a system call that is not allowed",
}

// signals that shells tell as 128 + n.
var shellSignals = map[int]string{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 15: "SIGTERM"}

// exitWords tells how an attempt's program ended: "exit 75, a temporary failure"; "" while it goes on.
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
	words := fmt.Sprintf("exit %d", *a.ExitCode)
	if meaning := exitMeanings[*a.ExitCode]; meaning != "" {
		return words + ", " + meaning
	}
	if signal := shellSignals[*a.ExitCode-128]; signal != "" {
		return words + ": by a shell's habit, " + signal + " ended what it ran"
	}
	return words
}

// attemptWords tells how an attempt ended, with who ended it.
func attemptWords(run *engine.Run, a *engine.Attempt) string {
	exit := exitWords(a)
	switch a.Status {
	case engine.StatusLost:
		words := "its executor vanished"
		if a.Executor != "" {
			words = "executor " + a.Executor + " vanished"
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
			return join("it ran longer than its timeout", exit)
		}
		return exit
	case engine.StatusInvalid, engine.StatusScheduled, engine.StatusQueued, engine.StatusRunning, engine.StatusRetrying,
		engine.StatusSucceeded, engine.StatusFailed, engine.StatusDead, engine.StatusSkipped:
	}
	return exit
}

func join(first, second string) string {
	if second == "" {
		return first
	}
	return first + "; " + second
}

// happens tells what comes next of a run that waits for another try: "exit 75, a temporary failure: it will be tried
// again", and which try that is; "" for any other run.
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
