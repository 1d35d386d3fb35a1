package main

import (
	"os"

	"github.com/tidewheel/tidewheel/executor/process"
)

// guardianWord begins the command line of an executor's guardian: the small process that ends what the executor leaves
// when it dies. It is not for people, so it is no command of the command line.
const guardianWord = "executor-guardian"

// guardian lives the guardian's life if the arguments say so.
func guardian(args []string) (status int, is bool) {
	if len(args) == 0 || args[0] != guardianWord {
		return 0, false
	}
	if err := process.Guard(args[1:], os.Stdin, os.Stdout); err != nil {
		return exitFailed, true
	}
	return exitDone, true
}

// guardianCommand is the command line that starts a guardian.
func guardianCommand() ([]string, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return []string{own, guardianWord}, nil
}
