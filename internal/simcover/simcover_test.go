package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/cover"
)

// What is left out must be there: an outdated list hides code that no world reaches.
func TestWhatIsLeftOutIsThere(t *testing.T) {
	others, err := parseOutside(outsideList)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range others {
		f, err := readFile("../..", &cover.Profile{FileName: module + o.path})
		if err != nil {
			t.Errorf("outside.txt:%d: %v", o.line, err)
			continue
		}
		for i := range f.functions {
			isOutside([]*outside{o}, f, &f.functions[i])
		}
		if !o.found {
			t.Errorf("outside.txt:%d: there is no %s in %s", o.line, o.function, o.path)
		}
	}
}

const source = `package p

func (c *Core) step(now int) int {
	if now < 0 { // the clock went back
		return -1
	}
	return now
}
`

func TestBranchesAreReportedByFunctionAndLine(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "p.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	profile := filepath.Join(root, "profile")
	text := "mode: atomic\n" + module + "p.go:3.34,4.13 1 7\n" + module + "p.go:4.13,6.3 1 0\n" + module + "p.go:7.2,7.12 1 7\n"
	if err := os.WriteFile(profile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	profiles, err := cover.ParseProfiles(profile)
	if err != nil {
		t.Fatal(err)
	}
	f, err := readFile(root, profiles[0])
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := (report{out: &out, blocks: true}).all([]*file{f}, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"p.go:3 Core.step", "2 of   3", "7 times, least 0: line 5", "5          0  return -1", "p.go:5 ", "2 of 3 branches were reached",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	gone := []*outside{{line: 4, path: "q.go", function: "Core.gone"}}
	if err := (report{out: &out}).all([]*file{f}, gone); err == nil || !strings.Contains(err.Error(), "outside.txt:4") {
		t.Errorf("of an entry about nothing it says %v", err)
	}
}
