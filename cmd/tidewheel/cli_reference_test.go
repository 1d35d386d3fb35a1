package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

const cliReference = "../../docs/cli.md"

func TestCommittedCLIReferenceIsTheGeneratedOne(t *testing.T) {
	t.Parallel()
	generated := markdownOf(newCLI(nil, nil, nil).root())
	if *update {
		if err := os.WriteFile(cliReference, generated, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile(cliReference)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(committed), string(generated)); diff != "" {
		t.Errorf("docs/cli.md is stale; run go test ./cmd/tidewheel -run CLIReference -update\n(-committed +generated):\n%s", diff)
	}
}

// markdownOf writes a section for each command, in the order of the help.
func markdownOf(root *cobra.Command) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Command line\n\nThis page is made from the program's own help: `go test ./cmd/tidewheel -run CLIReference -update`.\n\n%s\n\n", markdownText(root.Long))
	fmt.Fprintf(&out, "Flags of all commands:\n\n```\n%s```\n", root.PersistentFlags().FlagUsages())
	var section func(c *cobra.Command)
	section = func(c *cobra.Command) {
		if c != root {
			fmt.Fprintf(&out, "\n## %s\n\n", c.CommandPath())
			text := c.Long
			if text == "" {
				text = c.Short + "."
			}
			fmt.Fprintf(&out, "%s\n", markdownText(text))
			if c.Runnable() {
				fmt.Fprintf(&out, "\n```\n%s\n```\n", c.UseLine())
			}
			if c.Example != "" {
				fmt.Fprintf(&out, "\n```\n%s\n```\n", c.Example)
			}
			if flags := c.LocalNonPersistentFlags(); flags.HasAvailableFlags() {
				fmt.Fprintf(&out, "\n```\n%s```\n", flags.FlagUsages())
			}
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && sub.Name() != "completion" {
				section(sub)
			}
		}
	}
	section(root)
	return out.Bytes()
}

// markdownText keeps lines that are indented as they are, and lets <name> stand.
func markdownText(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "<", "\\<"), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "  ") {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}

// What a document says to type must be there: each `tidewheel …` in a line of code or in a block of commands.
func TestCommandsAndFlagsThatDocumentsNameExist(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	inline := regexp.MustCompile("`(?:bin/)?(tidewheel [^`]*)`")
	line := regexp.MustCompile(`(?m)(?:^\$ |^|\$\()(?:bin/)?(tidewheel [a-z][^)\n]*)`)
	found := 0
	for _, name := range append(names, "../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md") {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		said := append(inline.FindAllStringSubmatch(string(source), -1), line.FindAllStringSubmatch(string(source), -1)...)
		for _, said := range said {
			found++
			if err := exists(said[1]); err != nil {
				t.Errorf("%s says %q: %v", filepath.Base(name), said[1], err)
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d commands were found in the documents", found)
	}
}

// exists reports whether the program has a command, and the flags that come with it.
func exists(typed string) error {
	typed, _, _ = strings.Cut(typed, " #")
	typed, _, _ = strings.Cut(typed, "$(") // a command within the command is found by itself
	words := strings.Fields(typed)
	root := newCLI(nil, nil, nil).root()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(words[1:]...)
	root.InitDefaultVersionFlag()
	command, rest, err := root.Find(words[1:])
	switch {
	case err != nil:
		return err
	case command == root && len(rest) > 0 && !strings.HasPrefix(rest[0], "-"):
		return fmt.Errorf("%s is no command", rest[0])
	case command.HasAvailableSubCommands() && !command.Runnable() && len(rest) > 0 && regexp.MustCompile(`^[a-z-]+$`).MatchString(rest[0]) && !strings.HasPrefix(rest[0], "-"):
		return fmt.Errorf("%s has no command %s", command.CommandPath(), rest[0])
	}
	command.InitDefaultHelpFlag()
	for _, word := range rest {
		if word == "|" || word == "||" || word == "&&" || strings.HasPrefix(word, ">") {
			break
		}
		flag, _, _ := strings.Cut(word, "=")
		name, long := strings.CutPrefix(flag, "--")
		switch {
		case long && regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(name) && command.Flag(name) == nil:
			return fmt.Errorf("%s has no flag --%s", command.CommandPath(), name)
		case !long && len(flag) == 2 && flag[0] == '-' && command.Flags().ShorthandLookup(flag[1:]) == nil && command.InheritedFlags().ShorthandLookup(flag[1:]) == nil:
			return fmt.Errorf("%s has no flag %s", command.CommandPath(), flag)
		}
	}
	return nil
}
