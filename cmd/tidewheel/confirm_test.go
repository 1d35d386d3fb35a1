package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestDeletesAskAtATerminal(t *testing.T) {
	s := nameServer(t)
	s.terminal = true
	for answer, want := range map[string]string{"": "nothing was done", "\n": "nothing was done", "n\n": "nothing was done", "never\n": "nothing was done"} {
		got := s.runWith(answer, "delete", "job", "hello")
		if got.status != exitFailed || !strings.Contains(got.err, "Delete job hello? The history stays. [y/N]") || !strings.Contains(got.err, want) {
			t.Errorf("answer %q: exit %d, %s", answer, got.status, got.err)
		}
	}
	s.must("get", "job", "hello") // it is still there
	s.refusedWith("kind: Job\nname: hello\nbinary: say\n", exitFailed, "Delete ", "apply", "-f", "-", "--prune")
	s.must("get", "dag", "etl")
	for _, answer := range []string{"y\n", "YES\n"} {
		if got := s.runWith(answer, "delete", "hello"); got.status != exitDone || got.out != "Job hello is deleted.\n" {
			t.Errorf("answer %q: exit %d, %s%s", answer, got.status, got.out, got.err)
		}
		s.apply("kind: Job\nname: hello\nbinary: say\n")
	}
	if got := s.run("delete", "hello", "--yes"); got.status != exitDone || strings.Contains(got.err, "[y/N]") {
		t.Errorf("--yes: exit %d, %s", got.status, got.err)
	}
	s.terminal = false
	if got := s.run("delete", "etl"); got.status != exitDone || strings.Contains(got.err, "[y/N]") {
		t.Errorf("without a terminal: exit %d, %s", got.status, got.err)
	}
}

// Each command that destroys something has --yes, which asksFirst adds.
func TestEachDeleteAsks(t *testing.T) {
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		switch cmd.Name() {
		case "delete", "rm", "purge", "revoke":
			if cmd.Flags().Lookup("yes") == nil && cmd.CommandPath() != "tidewheel notify silence rm" { // a silence is made again as it was
				t.Errorf("%s does not ask", cmd.CommandPath())
			}
		}
		for _, child := range cmd.Commands() {
			visit(child)
		}
	}
	visit(newCLI(nil, nil, nil).root())
}
