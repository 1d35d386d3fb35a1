package process_test

import (
	"errors"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/executor/process"
)

func TestMemoryLimitEndsAProgram(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("limits need Linux")
	}
	everyMode(t, func(t *testing.T, host *process.Host) {
		limit := func(c *process.Command) { c.Limits.Memory = 32 << 20 }
		// A shell holds a variable in memory; its children count, too.
		j := start(t, host, `(x=$(head -c 60000000 /dev/zero | tr '\0' x); echo ${#x}; sleep 1000); exit 5`, limit)
		if exit := j.end(t, host); exit.Over != process.OverMemory {
			t.Errorf("got %+v with output %q", exit, j.output)
		}
		if exit := start(t, host, `x=$(head -c 1000000 /dev/zero | tr '\0' x); sleep 0.03`, limit).end(t, host); exit.Code != 0 || exit.Over != process.OverNone {
			t.Errorf("a program inside its limit ended with %+v", exit)
		}
		if exit := start(t, host, `exit 3`, limit).end(t, host); exit.Code != 3 || exit.Over != process.OverNone {
			t.Errorf("a program that failed by itself ended with %+v", exit)
		}
	})
}

func TestOpenFilesAndProcessorTimeAreLimited(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("limits need Linux")
	}
	everyMode(t, func(t *testing.T, host *process.Host) {
		j := start(t, host, `ulimit -n`, func(c *process.Command) { c.Limits.OpenFiles = 77 })
		if j.end(t, host); j.output.String() != "77\n" {
			t.Errorf("the program may open %s files", j.output)
		}
		if _, cpu := host.Limited(); cpu {
			t.Skip("here the processor is shared out by a cgroup")
		}
		j = start(t, host, `while :; do :; done`, func(c *process.Command) { c.Limits.CPU, c.Limits.Time = 0.1, 5*time.Second })
		if exit := j.end(t, host); exit.Over != process.OverCPU {
			t.Errorf("got %+v", exit)
		}
	})
}

func TestProgramWithLimitsThatCannotStartSaysWhy(t *testing.T) {
	host := open(t, process.Config{UID: -1, GID: -1})
	folder, err := host.TakeFolder()
	if err != nil {
		t.Fatal(err)
	}
	_, err = host.Start(process.Command{
		Path: "/no/such/program", Args: []string{"program"}, Folder: folder, Limits: process.Limits{OpenFiles: 50},
	}, nil, nil)
	var failed *process.StartError
	if !errors.As(err, &failed) || !errors.Is(err, syscall.ENOENT) || failed.Path != "/no/such/program" {
		t.Errorf("got %v", err)
	}
}

func TestPeakMemoryIsReported(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Linux only")
	}
	if _, err := exec.LookPath("head"); err != nil {
		t.Skip(err)
	}
	everyMode(t, func(t *testing.T, host *process.Host) {
		exit := start(t, host, `x=$(head -c 1000000 /dev/zero | tr '\0' x); sleep 0.3`).end(t, host)
		if exit.MaxRSS < 2<<20 || exit.MaxRSS > 7<<20 { // an executor and an init use more
			t.Errorf("a program that held 1 MB in memory used %d bytes", exit.MaxRSS)
		}
	})
}
