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

// mixVersions puts an earlier version in the place of a web node and an executor, kills engines, and brings this version back,
// one node after the other: as an update does that begins with the engines. The version that PREVIOUS names signs no tasks:
// executors of this one would refuse what its engines send (docs/deploy.md).
func (c *cluster) mixVersions(t *testing.T, l *load) {
	c.earlier = *old
	if c.earlier == "" {
		var err error
		if c.earlier, err = buildPrevious(t.Context(), folder(t)); err != nil {
			t.Skipf("NOT RUN: an earlier version beside this one: %v", err)
		}
	}
	web, owner, executor := c.webs[1], c.engines[1], c.executors[0]
	for _, n := range []*node{web, executor} {
		n.stop()
		c.older[n.name] = true
		n.start()
	}
	c.awaitShards(t, c.engines...)
	l.journal.awaitStarts(t, *rate)
	for _, killed := range []*node{c.engines[0], owner} {
		rest := without(c.engines, killed)
		killed.kill()
		c.awaitShards(t, rest...)
		l.journal.awaitStarts(t, *rate)
		killed.start()
		c.awaitShards(t, c.engines...)
	}
	clear(c.older)
	for _, n := range []*node{executor, web} {
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

// buildPrevious makes the program of the version that PREVIOUS names, from the history of the repository.
func buildPrevious(ctx context.Context, dir string) (program string, err error) {
	root, err := e2e.Root(ctx)
	if err != nil {
		return "", err
	}
	version, err := previous()
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
	source, packed := filepath.Join(dir, "source"), filepath.Join(dir, "source.tar")
	if err := os.Mkdir(source, 0o755); err != nil {
		return "", err
	}
	if err := in(root, "git", "archive", "-o", packed, version); err != nil {
		return "", fmt.Errorf("the history of the repository is needed: %w", err)
	}
	if err := in(source, "tar", "-xf", packed); err != nil {
		return "", err
	}
	// Nobody looks at its pages: it may have those of this version.
	dist := filepath.Join(source, "static", "dist")
	if err := os.RemoveAll(dist); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := os.CopyFS(dist, os.DirFS(filepath.Join(root, "static", "dist"))); err != nil {
		return "", err
	}
	program = filepath.Join(dir, "previous")
	return program, in(source, "go", "build", "-trimpath", "-o", program, "./cmd/tidewheel") // the next time it comes from the cache
}

// previous reads PREVIOUS.
func previous() (string, error) {
	text, err := os.ReadFile("PREVIOUS")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line, nil
		}
	}
	return "", errors.New("PREVIOUS names no version")
}
