package main

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

var colourCode = regexp.MustCompile("\x1b\\[[0-9]+m")

func TestStatusesHaveColoursOnATerminal(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.push("exit", `exit "$1"`)
	s.apply("kind: Job\nname: good\nbinary: exit\nargs: [\"0\"]\n")
	s.apply("kind: Job\nname: bad\nbinary: exit\nargs: [\"65\"]\n")
	s.must("run", "good", "--wait")
	s.run("run", "bad", "--wait")
	s.must("pause", "bad")
	call := []string{"get", "runs", "--status", "succeeded,failed,dead"}
	plain := s.must(call...)
	s.terminal = true
	coloured := s.must(call...)
	if !strings.Contains(coloured, "\x1b[32msucceeded\x1b[0m") || !strings.Contains(coloured, "\x1b[31m") {
		t.Errorf("without colours: %q", coloured)
	}
	// Columns are where they were; only how long ago it was may have changed.
	header := func(text string) string {
		line, _, _ := strings.Cut(text, "\n")
		return colourCode.ReplaceAllString(line, "")
	}
	if header(coloured) != header(plain) {
		t.Errorf("the columns have moved:\n%s\n%s", header(plain), header(coloured))
	}
	if out := s.must("describe", "bad"); !strings.Contains(out, "\x1b[33mpaused") {
		t.Errorf("describe: %q", out)
	}
	if out := s.must("get", "runs", "-o", "json"); strings.Contains(out, "\x1b") {
		t.Errorf("JSON has colours: %q", out)
	}
	if plain != colourCode.ReplaceAllString(plain, "") {
		t.Errorf("colours without a terminal: %q", plain)
	}
}

func TestTerminalIsRecognized(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminal can be made: %v", err)
	}
	defer terminal.Close()
	t.Setenv("TERM", "xterm")
	env := map[string]string{}
	c := newCLI(terminal, terminal, terminal)
	c.getenv = func(name string) string { return env[name] }
	if !c.colours() || !c.interactive() {
		t.Error("a terminal is not recognized")
	}
	env["NO_COLOR"] = "1"
	if c.colours() {
		t.Error("colours though NO_COLOR is set")
	}
	c.in, c.out = strings.NewReader("y\n"), io.Discard
	env["NO_COLOR"] = ""
	if c.colours() || c.interactive() {
		t.Error("a pipe is taken for a terminal")
	}
}
