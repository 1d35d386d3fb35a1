package main

import (
	"os"
	"runtime/debug"
)

// tuneMemory lets the heap grow to three times what is in use before it is collected. A server's live heap is some tens
// of MiB and its garbage that of every message that passes: collecting less often saves a tenth of the CPU of a run, for
// memory that a server has. GOGC, where it is set, decides instead.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
}
