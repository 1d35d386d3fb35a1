package executor_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/executor/process"
	"github.com/tidewheel/tidewheel/spec"
)

// The test binary is also the guardian, and an executor that can be killed.
func TestMain(m *testing.M) {
	word := ""
	if len(os.Args) > 1 {
		word = os.Args[1]
	}
	var err error
	switch word {
	case "__guard":
		err = process.Guard(os.Args[2:], os.Stdin, os.Stdout)
	case "__executor":
		err = victim(os.Args[2], os.Args[3] == "cgroups", os.Args[4])
	case "__stopping":
		err = stopping(os.Args[2], os.Args[3], os.Args[4] == "self")
	default:
		os.Exit(m.Run())
	}
	status := 0
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	syscall.Exit(status) // os.Exit waits for a second for other threads' races
}

// rig is an executor that runs, with its queue and blobs.
type rig struct {
	*queue
	*blobs
	t      testing.TB
	config executor.Config
	logger *slog.Logger
	stop   func() // begins to drain
	ended  chan error
	runs   atomic.Int64
}

func newRig(t testing.TB, change ...func(*executor.Config)) *rig {
	t.Helper()
	r := &rig{queue: newQueue(), blobs: newBlobs(), t: t, ended: make(chan error, 1)}
	dir := reachable(t)
	config := executor.Config{
		ID: "here", Tiers: []spec.Tier{spec.TierLight}, Slots: 8, Guardian: []string{"/proc/self/exe", "__guard"},
		WorkDir: filepath.Join(dir, "work"), CacheDir: filepath.Join(dir, "cache"),
	}
	for _, f := range change {
		f(&config)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
	if _, ok := t.(*testing.B); ok {
		log = slog.New(slog.DiscardHandler)
	}
	r.config, r.logger = config, log
	e := executor.New(config, r.queue, r.blobs, log, nil)
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	go func() { r.ended <- e.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
	})
	return r
}

// task makes a task of a shell script.
func (r *rig) task(script string, change ...func(*engine.Task)) engine.Task {
	return r.program([]byte("#!/bin/sh\n"+script), append([]func(*engine.Task){func(t *engine.Task) { t.Kind = "script" }}, change...)...)
}

func (r *rig) program(program []byte, change ...func(*engine.Task)) engine.Task {
	n := r.runs.Add(1)
	task := engine.Task{
		Run: fmt.Sprintf("uid%d-s1", n), Attempt: 1, Shard: 3, JobUID: fmt.Sprintf("uid%d", n), Job: "report", Lock: fmt.Sprintf("uid%d", n),
		Slot: time.Date(2026, 12, 31, 23, 59, 59, 0, time.FixedZone("", 3600)), Digest: r.add(program), Size: int64(len(program)),
		Timeout: time.Minute, Grace: 5 * time.Second,
	}
	for _, f := range change {
		f(&task)
	}
	return task
}

// run executes a task to its end.
func (r *rig) run(task engine.Task) *engine.Finish {
	r.t.Helper()
	r.send(task)
	return r.finish(task)
}

func (r *rig) finish(task engine.Task) *engine.Finish {
	r.t.Helper()
	result := r.result(task, engine.ResultFinished)
	if result.Finish == nil {
		r.t.Fatal("there is no finish")
	}
	return result.Finish
}

// result waits for the first result of a kind.
func (r *rig) result(task engine.Task, kind engine.ResultKind) (found engine.Result) {
	r.t.Helper()
	err := r.await(r.t.Context(), func() bool {
		all := r.subjects[subject(task.Run, task.Attempt)]
		i := slices.IndexFunc(all, func(result engine.Result) bool { return result.Kind == kind })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return found
}

// saw waits until the queue has seen an event so often.
func (r *rig) saw(event string, times int) {
	r.t.Helper()
	err := r.await(r.t.Context(), func() bool {
		n := 0
		for _, e := range r.events {
			if e == event {
				n++
			}
		}
		return n >= times
	})
	if err != nil {
		r.t.Fatal(err)
	}
}
