package executor_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/spec"
)

// stoppedTTL is how long the locks of an executor last that is stopped.
const stoppedTTL = 2 * time.Second

// stopping is an executor with one task, that prints the task's end. With self it stops itself while it fetches the
// program.
func stopping(dir, script string, self bool) error {
	queue, blobs := newQueue(), newBlobs()
	if self {
		blobs.onGet = func() {
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // it cannot fail
			<-time.After(stoppedTTL / 10)                  // the signal may hit another thread, a little later
		}
	}
	queue.send(engine.Task{
		Run: "uid1-s1", Attempt: 1, JobUID: "uid1", Job: "report", Lock: "uid1", Kind: "script",
		Digest: blobs.add([]byte("#!/bin/sh\n" + script)), Timeout: time.Minute, Grace: 5 * time.Second,
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- executor.New(executor.Config{
			ID: "victim", Tiers: []spec.Tier{spec.TierLight}, Slots: 1, Guardian: []string{"/proc/self/exe", "__guard"}, LockTTL: stoppedTTL,
			WorkDir: filepath.Join(dir, "work"), CacheDir: filepath.Join(dir, "cache"),
		}, queue, blobs, slog.New(slog.NewTextHandler(os.Stderr, nil)), nil).Run(ctx)
	}()
	var finish *engine.Finish
	if err := queue.await(ctx, func() bool {
		for _, result := range queue.subjects[subject("uid1-s1", 1)] {
			finish = result.Finish
		}
		return finish != nil
	}); err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(finish); err != nil {
		return err
	}
	cancel()
	return <-ended
}

// startStopping starts such an executor and returns what it will print.
func startStopping(t *testing.T, dir, script, self string) (*os.Process, *bufio.Reader) {
	t.Helper()
	command := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], "__stopping", dir, script, self)
	command.Stderr = t.Output()
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = io.Copy(io.Discard, out)
		if err := command.Wait(); err != nil {
			t.Errorf("the executor: %v", err)
		}
	})
	return command.Process, bufio.NewReader(out)
}

func readFinish(t *testing.T, out *bufio.Reader) *engine.Finish {
	t.Helper()
	line, err := out.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	finish := &engine.Finish{}
	if err := json.Unmarshal(line, finish); err != nil {
		t.Fatal(err)
	}
	return finish
}

// An executor that is stopped can refresh no lock and kill no program. Its guardian kills the program before another
// executor can take the lock. When the executor continues, it knows that the program did not fail by itself.
func TestProgramOfAStoppedExecutorIsKilledBeforeItsLockCanPass(t *testing.T) {
	t.Parallel()
	dir := reachable(t)
	tell := filepath.Join(dir, "tell")
	mkfifo(t, tell)
	process, out := startStopping(t, dir, fmt.Sprintf("echo $$ > %s; exec sleep 1000", tell), "no")
	said, err := os.ReadFile(tell)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now() // a lock that was taken before this lasts no longer than its life from now
	pid, err := strconv.Atoi(string(bytes.TrimSpace(said)))
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	ends := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(ends, 30_000)
	for errors.Is(err, unix.EINTR) { // Go interrupts threads to take turns
		n, err = unix.Poll(ends, 30_000)
	}
	if after := time.Since(stopped); n != 1 || err != nil || after > stoppedTTL {
		t.Errorf("the program of a stopped executor ended %s after that: %d, %v", after, n, err)
	}
	if err := process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if finish := readFinish(t, out); !finish.HandedBack || finish.StartedAt.IsZero() {
		t.Errorf("it was reported as %+v", finish)
	}
}

// An executor that was stopped between its claim and the start of the program has lost the lock when it continues.
func TestProgramIsNotStartedWithALockThatMayHavePassed(t *testing.T) {
	t.Parallel()
	dir := reachable(t)
	ran := filepath.Join(dir, "ran")
	mkfifo(t, ran)
	read, err := os.OpenFile(ran, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	process, out := startStopping(t, dir, "echo it ran > "+ran, "self")
	var info unix.Siginfo
	for errors.Is(unix.Waitid(unix.P_PID, process.Pid, &info, unix.WSTOPPED|unix.WNOWAIT, nil), unix.EINTR) {
		continue // Go interrupts threads to take turns
	}
	<-time.After(stoppedTTL) // until the lock has expired
	if err := process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if finish := readFinish(t, out); !finish.HandedBack || !finish.StartedAt.IsZero() {
		t.Errorf("it was reported as %+v", finish)
	}
	if said, err := io.ReadAll(read); err != nil || len(said) > 0 { // it ends because no process holds the other end
		t.Errorf("the program says %q, %v", said, err)
	}
}
