package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every command that docs/scale.md says its figures come from is there: the scenarios and flags of this program, tests
// and benchmarks by their names, flags of the server.
func TestCommandsOfTheScalePageAreThere(t *testing.T) {
	page, program := read(t, "../docs/scale.md"), read(t, "main.go")
	commands := regexp.MustCompile("`((?:cd [^`]+ && )?go (?:run|test) [^`]+)`").FindAllStringSubmatch(page, -1)
	if len(commands) < 5 {
		t.Fatalf("the page names %d commands only", len(commands))
	}
	for _, command := range commands {
		words := strings.Fields(command[1])
		if words[0] == "go" && words[1] == "run" {
			for i, word := range words {
				if flag, is := strings.CutPrefix(word, "-"); is && !strings.Contains(program, `"`+flag+`", `) {
					t.Errorf("%s: there is no flag -%s", command[1], flag)
				}
				if word == "-only" && !strings.Contains(program, `{"`+words[i+1]+`", func`) {
					t.Errorf("%s: there is no scenario %s", command[1], words[i+1])
				}
			}
			continue
		}
		folder := words[len(words)-1]
		if words[0] == "cd" {
			folder = words[1]
		}
		for i, word := range words {
			kind := map[string]string{"-bench": "Benchmark", "-run": "Test"}[word]
			if kind == "" || words[i+1] == "'^$'" {
				continue
			}
			for name := range strings.SplitSeq(strings.Trim(words[i+1], "'"), "|") {
				name, _, _ = strings.Cut(name, "/")
				if !strings.Contains(testsIn(t, filepath.Join("..", folder)), "func "+kind+strings.TrimPrefix(name, kind)) {
					t.Errorf("%s: %s has no %s%s", command[1], folder, kind, name)
				}
			}
		}
	}
	flags := read(t, "../cmd/tidewheel/server_flags.go")
	for _, flag := range regexp.MustCompile("`--([a-z0-9-]+)[ `]").FindAllStringSubmatch(page, -1) {
		if !strings.Contains(flags, `"`+flag[1]+`", `) {
			t.Errorf("the server has no flag --%s", flag[1])
		}
	}
	for _, name := range regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(page, -1) {
		if !strings.Contains(testsIn(t, "../store/mongo/mongotest"), "func "+name[1]+"(") {
			t.Errorf("there is no test %s", name[1])
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// testsIn returns the text of a folder's tests.
func testsIn(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		all.WriteString(read(t, file))
	}
	return all.String()
}
