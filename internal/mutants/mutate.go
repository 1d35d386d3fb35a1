package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mutant is the engine without one guard.
type mutant struct {
	name  string // short, for MUTANTS=name
	guard string // what is taken out, in words
	// also names what else holds the guard: where the simulator has a model in the place of the production code, the
	// test that does.
	also string
	// held is the test that turns red instead of the simulator, where no world needs the guard because another makes good
	// for it there. It is run without the guard, and must fail.
	held test

	file     string // below the module's root
	old, new string // the text to be replaced, which is there exactly once, and what replaces it
	more     []edit // elsewhere, where one place is not enough
}

// test is a Go test: its package below the module's root, and what go test -run takes.
type test struct{ packageOf, run string }

// edit replaces a text that is in a file exactly once.
type edit struct{ file, old, new string }

func (m *mutant) edits() []edit {
	return append([]edit{{m.file, m.old, m.new}}, m.more...)
}

// mutate returns the changed files, by their paths below root. It fails where a text is not there, or not only once: then
// the code has moved on, and the list must follow.
func (m *mutant) mutate(root string) (map[string]string, error) {
	changed := map[string]string{}
	for _, e := range m.edits() {
		text, known := changed[e.file]
		if !known {
			source, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				return nil, fmt.Errorf("mutant %s: %w", m.name, err)
			}
			text = string(source)
		}
		if e.old == e.new {
			return nil, fmt.Errorf("mutant %s changes nothing in %s", m.name, e.file)
		}
		if n := strings.Count(text, e.old); n != 1 {
			return nil, fmt.Errorf("mutant %s: its text is %d times in %s, want once; mend the list in internal/mutants:\n%s", m.name, n, e.file, e.old)
		}
		changed[e.file] = strings.Replace(text, e.old, e.new, 1)
	}
	return changed, nil
}

// overlay writes the changed files into a folder, with the list of them that `go build -overlay` takes, and returns the
// path of that list.
func (m *mutant) overlay(root, folder string) (string, error) {
	changed, err := m.mutate(root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for file, text := range changed {
		mutated := filepath.Join(folder, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(mutated, []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("mutant %s: %w", m.name, err)
		}
		replace[filepath.Join(root, file)] = mutated
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.name, err)
	}
	path := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(path, list, 0o600); err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.name, err)
	}
	return path, nil
}
