package executor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/spec"
)

// victim is an executor with one task, until it is killed.
func victim(dir string, cgroups bool, script string) error {
	queue, blobs := newQueue(), newBlobs()
	queue.send(engine.Task{
		Run: "uid1-s1", Attempt: 1, JobUID: "uid1", Job: "report", Lock: "uid1", Kind: "script",
		Digest: blobs.add([]byte("#!/bin/sh\n" + script)), Timeout: time.Minute, Grace: 5 * time.Second,
	})
	return executor.New(executor.Config{
		ID: "victim", Tiers: []spec.Tier{spec.TierLight}, Slots: 1, Guardian: []string{"/proc/self/exe", "__guard"},
		WorkDir: filepath.Join(dir, "work"), CacheDir: filepath.Join(dir, "cache"), NoCgroups: !cgroups,
	}, queue, blobs, slog.New(slog.DiscardHandler), nil).Run(context.Background())
}

// A whole executor is killed while its program runs, with children in its process group, in sessions of their own and
// without its environment: within moments nothing of them lives, and the next executor finds its folders free.
func TestNothingOutlivesAnExecutorThatIsKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the guardian needs /proc or cgroups")
	}
	for _, way := range []string{"cgroups", "groups"} {
		t.Run(way, func(t *testing.T) {
			dir := reachable(t)
			var tell []string
			for i := range 4 {
				tell = append(tell, filepath.Join(dir, strconv.Itoa(i)))
				mkfifo(t, tell[i])
			}
			script := fmt.Sprintf(`
sleep 1000 & echo $! > %s
setsid sh -c 'echo $$ > %s; exec sleep 1000' &
env -i /bin/sleep 1000 & echo $! > %s
echo $$ > %s
wait`, tell[0], tell[1], tell[2], tell[3])
			command := exec.CommandContext(t.Context(), os.Args[0], "__executor", dir, way, script)
			command.Stdout, command.Stderr = t.Output(), t.Output()
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			var living []int // descriptors that stand for the processes, even if others get their ids later
			for _, fifo := range tell {
				said, err := os.ReadFile(fifo)
				if err != nil {
					t.Fatal(err)
				}
				pid, err := strconv.Atoi(string(bytes.TrimSpace(said)))
				if err != nil {
					t.Fatal(err)
				}
				fd, err := unix.PidfdOpen(pid, 0)
				if err != nil {
					t.Fatalf("process %d: %v", pid, err)
				}
				defer unix.Close(fd)
				living = append(living, fd)
			}
			if err := command.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := command.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("it ended with %v", err)
			}
			for i, fd := range living {
				ends := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
				n, err := unix.Poll(ends, 10_000)
				for errors.Is(err, unix.EINTR) { // Go interrupts threads to take turns
					n, err = unix.Poll(ends, 10_000)
				}
				if n != 1 || err != nil {
					t.Errorf("process %d outlives its executor: %d, %v", i, n, err)
				}
			}
			r := newRig(t, func(config *executor.Config) {
				config.WorkDir, config.CacheDir = filepath.Join(dir, "work"), filepath.Join(dir, "cache")
			})
			if finish := r.run(r.task("exit 0")); finish.Status != engine.StatusSucceeded {
				t.Errorf("the next executor: %+v", finish)
			}
			lives, err := filepath.Glob(filepath.Join(dir, "work", "life-*"))
			if err != nil || len(lives) != 1 {
				t.Errorf("there are %v, %v, want the next one's only", lives, err)
			}
		})
	}
}
