package clustertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/e2e"
)

// mixVersions puts an earlier version in the place of an engine, a web node and an executor, kills engines of either version, and
// brings this version back, one node after the other: as an update does, or one that is taken back.
func (c *cluster) mixVersions(t *testing.T, l *load) {
	c.earlier = *old
	if c.earlier == "" {
		c.earlier = buildEarlier(t, "PREVIOUS")
	}
	web, owner, executor, earlier := c.webs[1], c.engines[1], c.executors[0], c.engines[0]
	for _, n := range []*node{web, executor, earlier} {
		n.stop()
		c.older[n.name] = true
		n.start()
	}
	c.awaitShards(t, c.engines...)
	l.journal.awaitStarts(t, *rate)
	for _, killed := range []*node{earlier, owner} {
		rest := without(c.engines, killed)
		killed.kill()
		c.awaitShards(t, rest...)
		l.journal.awaitStarts(t, *rate)
		killed.start()
		c.awaitShards(t, c.engines...)
	}
	clear(c.older)
	for _, n := range []*node{earlier, executor, web} {
		n.stop()
		n.start()
		l.journal.awaitStarts(t, *rate/2)
	}
	c.awaitShards(t, c.engines...)
}

func without(nodes []*node, one *node) (rest []*node) {
	for _, n := range nodes {
		if n != one {
			rest = append(rest, n)
		}
	}
	return rest
}

// buildEarlier makes the program of the version that a file names, from the history of the repository.
func buildEarlier(t *testing.T, file string) (program string) {
	t.Helper()
	version, err := named(file)
	if err == nil {
		program, err = build(t.Context(), folder(t), version)
	}
	if errors.Is(err, errNoHistory) {
		t.Skipf("NOT RUN: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// errNoHistory means that the clone lacks a commit.
var errNoHistory = errors.New("the clone has no such commit: run git fetch --unshallow, or give the program of that version by -old")

func build(ctx context.Context, dir, version string) (program string, err error) {
	root, err := e2e.Root(ctx)
	if err != nil {
		return "", err
	}
	in := func(dir, name string, arguments ...string) error {
		command := exec.CommandContext(ctx, name, arguments...)
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(command.Args, " "), err, bytes.TrimSpace(out))
		}
		return nil
	}
	if err := in(root, "git", "cat-file", "-e", version+"^{commit}"); err != nil {
		return "", fmt.Errorf("%s: %w", version, errNoHistory)
	}
	source, packed := filepath.Join(dir, "source"), filepath.Join(dir, "source.tar")
	if err := os.Mkdir(source, 0o755); err != nil {
		return "", err
	}
	if err := in(root, "git", "archive", "-o", packed, version); err != nil {
		return "", err
	}
	if err := in(source, "tar", "-xf", packed); err != nil {
		return "", err
	}
	// The test does not read its pages: it may have those of this version.
	dist := filepath.Join(source, "static", "dist")
	if err := os.RemoveAll(dist); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := os.CopyFS(dist, os.DirFS(filepath.Join(root, "static", "dist"))); err != nil {
		return "", err
	}
	program = filepath.Join(dir, "earlier")
	return program, in(source, "go", "build", "-trimpath", "-o", program, "./cmd/tidewheel") // the next time it comes from the cache
}

// named returns the version in a file, which is its line that is no comment.
func named(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line, nil
		}
	}
	return "", fmt.Errorf("%s names no version", file)
}
