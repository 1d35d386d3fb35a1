package main

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// forkRate is the machine's own limit: how many processes of a program two workers start, read to the end and reap in
// a second, doing nothing else.
func forkRate(program string, d time.Duration) (perSecond float64, err error) {
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
				errs[worker] = startAndReap(path)
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

func startAndReap(path string) error {
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
		Env: []string{}, Files: []*os.File{null, write, write}, Sys: &syscall.SysProcAttr{Setpgid: true},
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
