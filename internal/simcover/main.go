package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/cover"
)

// packages are those whose branches are counted.
const packages = "./engine,./engine/plan,./engine/attempt,./engine/wave,./engine/core,./engine/shard,./engine/lease"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("simcover", flag.ContinueOnError)
	seeds := flags.Int("seeds", 3000, "how many worlds turn")
	first := flags.Uint64("first", 1, "the seed of the first")
	profile := flags.String("profile", "", "read this profile, instead of running worlds")
	blocks := flags.Bool("blocks", false, "print every branch of every function")
	if err := flags.Parse(args); err != nil {
		return err
	}
	others, err := parseOutside(outsideList)
	if err != nil {
		return err
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	path := *profile
	if path == "" {
		folder, err := os.MkdirTemp("", "simcover-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		path = filepath.Join(folder, "profile")
		if err := turn(ctx, root, path, *seeds, *first, out); err != nil {
			return err
		}
	}
	profiles, err := cover.ParseProfiles(path)
	if err != nil {
		return fmt.Errorf("read the profile: %w", err)
	}
	var files []*file
	for _, p := range profiles {
		if strings.HasSuffix(p.FileName, "_test.go") {
			continue
		}
		f, err := readFile(root, p)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	return report{out: out, blocks: *blocks}.all(files, others)
}

func moduleRoot(ctx context.Context) (string, error) {
	path, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module's root: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(path))), nil
}

// turn lets worlds turn, and writes a profile of what they reached.
func turn(ctx context.Context, root, profile string, seeds int, first uint64, out io.Writer) error {
	worlds := exec.CommandContext(ctx, "go", "test", "./engine/sim", "-count=1", "-timeout=0", "-run=^TestSeeds$", "-covermode=atomic",
		"-coverpkg="+packages, "-coverprofile="+profile, "-args", "-seeds="+strconv.Itoa(seeds), "-first="+strconv.FormatUint(first, 10))
	worlds.Dir, worlds.Stdout, worlds.Stderr = root, out, os.Stderr
	if err := worlds.Run(); err != nil {
		return fmt.Errorf("the worlds are not all green: %w", err)
	}
	return nil
}

// report prints what was reached.
type report struct {
	out    io.Writer
	blocks bool
}

func (r report) all(files []*file, others []*outside) error {
	var blocks, reached int
	for _, f := range files {
		var ofFile, reachedOf int
		for i := range f.functions {
			fn := &f.functions[i]
			if len(fn.blocks) == 0 || isOutside(others, f, fn) {
				continue
			}
			ofFile, reachedOf = ofFile+len(fn.blocks), reachedOf+fn.reached()
			r.function(f, fn)
		}
		if blocks, reached = blocks+ofFile, reached+reachedOf; ofFile > 0 {
			fmt.Fprintf(r.out, "%-44s %4d of %4d branches\n\n", f.path, reachedOf, ofFile)
		}
	}
	fmt.Fprintln(r.out, "never reached:")
	for _, f := range files {
		for i := range f.functions {
			fn := &f.functions[i]
			if isOutside(others, f, fn) {
				continue
			}
			for _, b := range fn.blocks {
				if b.count == 0 {
					fmt.Fprintf(r.out, "  %-36s %-22s %s\n", fmt.Sprintf("%s:%d", f.path, b.line), fn.name, b.text)
				}
			}
		}
	}
	fmt.Fprintf(r.out, "%d of %d branches were reached, %.1f%%\n", reached, blocks, 100*float64(reached)/float64(max(blocks, 1)))
	var err error
	for _, o := range others {
		if !o.found {
			err = errors.Join(err, fmt.Errorf("internal/simcover/outside.txt:%d: there is no %s %s: mend the list", o.line, o.path, o.function))
		}
	}
	return err
}

// function prints one function: how often it was entered, and its rarest branch.
func (r report) function(f *file, fn *function) {
	rarest := slices.MinFunc(fn.blocks, func(a, b block) int { return a.count - b.count })
	fmt.Fprintf(r.out, "%-44s %3d of %3d  %10d times, least %d: line %d\n",
		fmt.Sprintf("%s:%d %s", filepath.Base(f.path), fn.line, fn.name), fn.reached(), len(fn.blocks), fn.blocks[0].count, rarest.count, rarest.line)
	if !r.blocks {
		return
	}
	for _, b := range fn.blocks {
		fmt.Fprintf(r.out, "  %6d %10d  %s\n", b.line, b.count, b.text)
	}
}
