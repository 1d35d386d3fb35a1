package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Shield closes this process to others that run as the same user: programs, where the executor is not root. They cannot
// read its memory, its environment (/proc/PID/environ) or the files that it has open, nor trace it. The process leaves
// no core dump.
func Shield() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("process: close this process to others of its user: %w", err)
	}
	return nil
}
