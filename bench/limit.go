package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// forkRate is the machine's own limit: how many processes of a program two workers start, read to the end and reap in
// a second, doing nothing else.
func forkRate(program string, environment []string, d time.Duration) (perSecond float64, err error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return 0, fmt.Errorf("look for %s: %w", program, err)
	}
	var done atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, 2)
	began := time.Now()
	for worker := range errs {
		group.Go(func() {
			for time.Since(began) < d && errs[worker] == nil {
				errs[worker] = startAndReap(path, environment)
				done.Add(1)
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return float64(done.Load()) / time.Since(began).Seconds(), nil
}

// bareStarts reports how long a program of startclock's kind takes from the wish to start it to its first line, when this
// process starts it: one after the other, with a pause between two, as a schedule has them.
func bareStarts(ctx context.Context, startclock, journal string, n int) (sample, error) {
	if err := newJournal(journal); err != nil {
		return nil, err
	}
	for i := range n {
		if err := sleepUntil(ctx, time.Now().Add(50*time.Millisecond)); err != nil {
			return nil, err
		}
		now := time.Now().UTC().Format(time.RFC3339Nano)
		environment := []string{"JOURNAL=" + journal, "TIDEWHEEL_RUN_ID=bare-" + strconv.Itoa(i), "TIDEWHEEL_SLOT=" + now}
		if err := startAndReap(startclock, environment); err != nil {
			return nil, err
		}
	}
	entries, err := readJournal(journal)
	if err != nil {
		return nil, err
	}
	var starts sample
	for _, e := range entries {
		starts = append(starts, e.lag)
	}
	return starts, nil
}

func startAndReap(path string, environment []string) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	process, err := os.StartProcess(path, []string{path}, &os.ProcAttr{
		Env: environment, Files: []*os.File{null, write, write}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if closed := write.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	buffer := make([]byte, 4096)
	for {
		if _, err := read.Read(buffer); err != nil {
			break // the end
		}
	}
	_, err = process.Wait()
	return err
}
