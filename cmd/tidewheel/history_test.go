package main

import (
	"regexp"
	"strings"
	"testing"
)

func TestDefinitionIsComparedAndReverted(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.push("say", `echo "one $1"; echo two`)
	for kind, definition := range map[string]string{"job": "kind: Job\nname: %\nbinary: say\nargs: [first]\n", "dag": "kind: DAG\nname: %\ntasks:\n  only: {binary: say, args: [first]}\n"} {
		name := "my-" + kind
		definition = strings.Replace(definition, "%", name, 1)
		s.apply(definition)
		s.mustWith(strings.Replace(definition, "first", "second", 1), "apply", "-f", "-", "-m", "try it")
		if out := s.must("history", name); !strings.Contains(out, "try it") || strings.Count(out, "\n") != 3 {
			t.Errorf("history: %s", out)
		}
		for _, call := range [][]string{{"history", name, "1"}, {"history", name, "1", "2"}} {
			if out := s.must(call...); !strings.Contains(out, "-") || !strings.Contains(out, "first") || !strings.Contains(out, "second") {
				t.Errorf("%v: %s", call, out)
			}
		}
		if out := s.must("revert", name, "1", "-m", "it did not work"); !strings.Contains(out, name+" is as in generation 1; this is generation 3.") {
			t.Errorf("revert: %s", out)
		}
		if out := s.must("history", name, "1", "3"); out != "No differences.\n" {
			t.Errorf("what was reverted to: %s", out)
		}
	}
	s.refused(exitRefused, `"first" is no generation`, "revert", "my-job", "first")
	s.refused(exitRefused, "--limit is for the list", "history", "my-job", "1", "--limit", "3")
	s.must("run", "my-job", "--wait")
	if out := s.must("logs", "my-job", "--search", "ONE"); out != "1: one first\n" {
		t.Errorf("logs --search: %q", out)
	}
	if out := s.must("logs", "my-job", "-t"); !regexp.MustCompile(`^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z - one first\n`).MatchString(out) {
		t.Errorf("with times: %q", out)
	}
	if plain, stamped := s.must("logs", "my-job"), s.must("logs", "my-job", "-t", "-f"); strings.Count(plain, "\n") != strings.Count(stamped, "\n") {
		t.Errorf("with times, followed: %q", stamped)
	}
	s.refused(exitFailed, `"three" is not in the output`, "logs", "my-job", "--search", "three")
	if out := s.must("logs", "my-job", "--search", "ONE", "--since", "1h"); !strings.HasPrefix(out, "==> run ") || !strings.HasSuffix(out, "attempt 1 <==\n1: one first\n") {
		t.Errorf("logs --search --since: %q", out)
	}
	s.refused(exitFailed, `"one" is not in the outputs of the 0 runs of my-job in that time`, "logs", "my-job", "--search", "one", "--until", "1h")
	s.refused(exitRefused, "--since and --until are for --search", "logs", "my-job", "--since", "1h")
}
