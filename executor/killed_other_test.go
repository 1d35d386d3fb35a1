//go:build !linux

package executor_test

import "errors"

// victim is for tests of what only Linux reports about processes.
func victim(string, bool, string) error {
	return errors.New("executors are killed in tests on Linux only")
}

func stopping(string, string, bool) error {
	return errors.New("only Linux tells when a process is stopped")
}
