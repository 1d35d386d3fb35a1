package main

import (
	"go/parser"
	"go/token"
	"regexp"
	"testing"
)

// A list that has rotted proves nothing: each text must be found, once, and give a file that can be parsed. Whether it
// compiles is seen when it is run.
func TestMutantsApply(t *testing.T) {
	seen := map[string]bool{}
	names := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for _, m := range all() {
		if seen[m.name] || !names.MatchString(m.name) || m.guard == "" {
			t.Errorf("mutant %q: its name must be small letters, its own, and it must say what its guard is", m.name)
		}
		seen[m.name] = true
		changed, err := m.mutate("../..")
		if err != nil {
			t.Error(err)
			continue
		}
		for file, text := range changed {
			if _, err := parser.ParseFile(token.NewFileSet(), file, text, 0); err != nil {
				t.Errorf("mutant %s: %v", m.name, err)
			}
		}
	}
}
