package process_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tidewheel/tidewheel/executor/process"
)

// An executor that dies at the instant at which the guardian is about to act hears nothing of it; its programs end all the same.
func TestGuardianActsWithoutAReaderOfItsOutput(t *testing.T) {
	life := filepath.Join(t.TempDir(), "life-x")
	program := exec.Command("/bin/sleep", "1000")
	program.Env = []string{process.Marker + "=" + life + "/1"}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	guardian := exec.Command(os.Args[0], "__guard", life, "", "")
	in, err := guardian.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	heard, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	guardian.Stdout = out
	if err := errors.Join(guardian.Start(), out.Close(), heard.Close()); err != nil {
		t.Fatal(err)
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		t.Fatal(err)
	}
	// What begins a hundredth of a second before it acts, or later, is not the guardian's to end.
	if _, err := fmt.Fprintf(in, "until %d\n", now.Nano()+int64(200*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(time.Minute, func() { _ = program.Process.Signal(syscall.SIGTERM) })
	defer kill.Stop()
	if err := program.Wait(); err == nil || program.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the program ended with %v", program.ProcessState)
	}
	if err := errors.Join(in.Close(), guardian.Wait()); err != nil {
		t.Error(err)
	}
}
