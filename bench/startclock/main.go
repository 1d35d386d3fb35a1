// Command startclock appends one line to the file that JOURNAL names: its run, the slot it was planned for, both as
// TIDEWHEEL_RUN_ID and TIDEWHEEL_SLOT tell them, and the instant at which it began, in nanoseconds since 1970. It is
// what the benchmarks run: the lag of a start includes the start of the process, and the journal is the witness that
// every slot ran once.
//
// It imports as little as it can: what it would need to get ready itself is not what is measured.
package main

import "syscall"

func main() {
	var now syscall.Timeval
	if err := syscall.Gettimeofday(&now); err != nil {
		fail("tell the time: " + err.Error())
	}
	journal, _ := syscall.Getenv("JOURNAL")
	run, _ := syscall.Getenv("TIDEWHEEL_RUN_ID")
	slot, known := syscall.Getenv("TIDEWHEEL_SLOT")
	if journal == "" || !known {
		fail("JOURNAL and TIDEWHEEL_SLOT must be set")
	}
	file, err := syscall.Open(journal, syscall.O_APPEND|syscall.O_WRONLY, 0)
	if err != nil {
		fail("open " + journal + ": " + err.Error())
	}
	// One write of less than a page: lines of several processes do not mix.
	if _, err := syscall.Write(file, []byte(run+" "+slot+" "+decimal(now.Nano())+"\n")); err != nil {
		fail("write " + journal + ": " + err.Error())
	}
}

// decimal writes a number that is not negative.
func decimal(n int64) string {
	var digits [20]byte
	at := len(digits)
	for ; n > 0 || at == len(digits); n /= 10 {
		at--
		digits[at] = byte('0' + n%10)
	}
	return string(digits[at:])
}

func fail(why string) {
	_, _ = syscall.Write(2, []byte("startclock: "+why+"\n"))
	syscall.Exit(1)
}
