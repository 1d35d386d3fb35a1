package main

import (
	"bytes"
	"context"
	"encoding/json"
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
	"time"
)

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
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	worlds := flags.Int("worlds", 10000, "how many worlds a mutant must live through to count as a survivor")
	only := flags.String("only", "", "names of mutants, separated by commas; all if empty")
	list := flags.Bool("list", false, "list the guards, and kill nothing")
	without := flags.String("without", "", "with -mutated: seeds to pass over, separated by commas")
	mutated := flags.Bool("mutated", false, "run worlds with this very program, and tell what they say as JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *mutated {
		seeds, err := numbers(*without)
		if err != nil {
			return err
		}
		return turnAndTell(out, *worlds, seeds)
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	if *list {
		return tellList(out, chosen)
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	h := hunt{root: root, worlds: *worlds, out: out}
	return h.all(ctx, chosen)
}

func numbers(list string) ([]uint64, error) {
	var all []uint64
	for text := range strings.SplitSeq(list, ",") {
		if text == "" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no seed: %w", text, err)
		}
		all = append(all, n)
	}
	return all, nil
}

func choose(names string) ([]mutant, error) {
	if names == "" {
		return all(), nil
	}
	var chosen []mutant
	for name := range strings.SplitSeq(names, ",") {
		at := slices.IndexFunc(all(), func(m mutant) bool { return m.name == name })
		if at < 0 {
			return nil, fmt.Errorf("there is no mutant %q: see -list", name)
		}
		chosen = append(chosen, all()[at])
	}
	return chosen, nil
}

func moduleRoot(ctx context.Context) (string, error) {
	path, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module's root: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(path))), nil
}

func tellList(out io.Writer, mutants []mutant) error {
	for i := range mutants {
		m := &mutants[i]
		fmt.Fprintf(out, "%-28s %s (%s)\n", m.name, m.guard, m.file)
		if m.also != "" {
			fmt.Fprintf(out, "%-28s also held by %s\n", "", m.also)
		}
		if m.held.run != "" {
			fmt.Fprintf(out, "%-28s held by %s %s\n", "", m.held.packageOf, m.held.run)
		}
	}
	return nil
}

// hunt kills mutants.
type hunt struct {
	root   string
	worlds int
	out    io.Writer
	anyhow []uint64 // seeds that are red without any mutation
}

// all tries each mutant, and fails if one survives or cannot be made.
func (h *hunt) all(ctx context.Context, mutants []mutant) error {
	began := time.Now()
	fmt.Fprintf(h.out, "%-28s %-9s %7s %7s %6s  %s\n", "guard taken out", "", "seed", "worlds", "s", "what turned red")
	var wrong []string
	byTest := 0
	for i := range mutants {
		m := &mutants[i]
		since := time.Now()
		v, err := h.one(ctx, m)
		seconds := time.Since(since).Seconds()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			wrong = append(wrong, m.name)
			fmt.Fprintf(h.out, "%-28s %-9s %7s %7s %6.1f  %v\n", m.name, "BROKEN", "", "", seconds, err)
		case v.Test != "":
			byTest++
			fmt.Fprintf(h.out, "%-28s %-9s %7s %7s %6.1f  %s\n", m.name, "killed", "", "", seconds, v.Test)
		case v.Seed == 0:
			wrong = append(wrong, m.name)
			fmt.Fprintf(h.out, "%-28s %-9s %7s %7d %6.1f  nothing: %s\n", m.name, "SURVIVED", "", v.Worlds, seconds, m.guard)
		default:
			fmt.Fprintf(h.out, "%-28s %-9s %7d %7d %6.1f  %s\n", m.name, "killed", v.Seed, v.Worlds, seconds, v.Invariant)
		}
	}
	fmt.Fprintf(h.out, "of %d mutants %d die in the simulator and %d by the test that holds them, %s\n",
		len(mutants), len(mutants)-len(wrong)-byTest, byTest, time.Since(began).Round(time.Second))
	if len(h.anyhow) > 0 {
		fmt.Fprintf(h.out, "passed over, because they are red without any mutation: seeds %v\n", h.anyhow)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("no test turns red, or the list has no way to find out: %s", strings.Join(wrong, ", "))
	}
	fmt.Fprintln(h.out, "all mutants die")
	return nil
}

// one compiles this command without a guard, and lets worlds turn until one is red; or runs the test that holds the guard.
func (h *hunt) one(ctx context.Context, m *mutant) (verdict, error) {
	folder, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return verdict{}, err
	}
	defer os.RemoveAll(folder)
	overlay, err := m.overlay(h.root, folder)
	if err != nil {
		return verdict{}, err
	}
	if m.held.run != "" {
		return h.test(ctx, overlay, m.held)
	}
	program := filepath.Join(folder, "mutant")
	build := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", program, "./internal/mutants")
	build.Dir = h.root
	if said, err := build.CombinedOutput(); err != nil {
		return verdict{}, fmt.Errorf("it does not compile: %w\n%s", err, said)
	}
	for {
		v, err := h.ask(ctx, program)
		if err != nil || v.Seed == 0 || world(v.Seed) == nil {
			return v, err
		}
		h.anyhow = append(h.anyhow, v.Seed) // it proves nothing: look further
	}
}

// test runs a test without a guard, and wants it to fail: a package that does not compile, or has no such test, proves nothing. One that
// waits for ever fails, too.
func (h *hunt) test(ctx context.Context, overlay string, held test) (verdict, error) {
	with := exec.CommandContext(ctx, "go", "test", "-run", held.run, "./"+held.packageOf)
	with.Dir = h.root
	if said, err := with.CombinedOutput(); err != nil {
		return verdict{}, fmt.Errorf("the test that is to hold it is red with it, too: %w\n%s", err, said)
	}
	without := exec.CommandContext(ctx, "go", "test", "-overlay", overlay, "-count=1", "-timeout=2m", "-run", held.run, "./"+held.packageOf)
	without.Dir = h.root
	said, err := without.CombinedOutput()
	switch {
	case bytes.Contains(said, []byte("--- FAIL")) || bytes.Contains(said, []byte("panic: ")):
		return verdict{Test: held.packageOf + " " + held.run}, nil
	case err != nil:
		return verdict{}, fmt.Errorf("its test cannot be run: %w\n%s", err, said)
	}
	return verdict{}, fmt.Errorf("the test that is to hold it stays green without it: %s %s", held.packageOf, held.run)
}

// ask runs the worlds of a mutant.
func (h *hunt) ask(ctx context.Context, program string) (verdict, error) {
	var without []string
	for _, seed := range h.anyhow {
		without = append(without, strconv.FormatUint(seed, 10))
	}
	var out, said bytes.Buffer
	worlds := exec.CommandContext(ctx, program, "-mutated", fmt.Sprintf("-worlds=%d", h.worlds), "-without="+strings.Join(without, ","))
	worlds.Stdout, worlds.Stderr = &out, &said
	if err := worlds.Run(); err != nil {
		return verdict{}, fmt.Errorf("its worlds broke off: %w: %s", err, firstLine(said.String()))
	}
	var v verdict
	if err := json.Unmarshal(out.Bytes(), &v); err != nil {
		return verdict{}, fmt.Errorf("its worlds said %q: %w", out.String(), err)
	}
	return v, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
