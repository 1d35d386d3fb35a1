// Command startclock appends one line to the journal named by its argument: its run, the slot it was planned for and
// the instant at which it began, both in nanoseconds since 1970. It is what the benchmarks run: the lag of a start
// includes the start of the process, and the journal is the witness that every slot ran once.
package main

import (
	"fmt"
	"os"
	"time"
)

var began = time.Now()

func main() {
	slot, err := time.Parse(time.RFC3339Nano, os.Getenv("TIDEWHEEL_SLOT"))
	if err != nil || len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: startclock JOURNAL, with TIDEWHEEL_SLOT set")
		os.Exit(64)
	}
	journal, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// One write of less than a page: lines of several processes do not mix.
	if _, err := fmt.Fprintf(journal, "%s %d %d\n", os.Getenv("TIDEWHEEL_RUN_ID"), slot.UnixNano(), began.UnixNano()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
