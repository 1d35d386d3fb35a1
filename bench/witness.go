package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// buildWitness builds the program whose start is measured: in C where there is a compiler, else in Go, which is busy
// with itself for a millisecond before its first line.
func (b *bench) buildWitness(ctx context.Context) error {
	b.startclock = filepath.Join(b.root, "startclock")
	build := exec.CommandContext(ctx, "go", "build", "-o", b.startclock, "./bench/startclock")
	if compiler, err := exec.LookPath("cc"); err == nil {
		build = exec.CommandContext(ctx, compiler, "-O2", "-static", "-o", b.startclock, "bench/witness/startclock.c")
	}
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build startclock: %w\n%s", err, out)
	}
	return nil
}
