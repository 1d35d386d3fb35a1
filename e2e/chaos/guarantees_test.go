package chaos

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/e2e"
)

var (
	namedTest    = regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
	namedPromise = regexp.MustCompile(`[^*]\*([a-z][^*]+)\*[^*]`)
)

// What the page of guarantees names as shown by a test is shown by a test of that name.
func TestGuaranteesNameTestsThatAreThere(t *testing.T) {
	t.Parallel()
	root, err := e2e.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "guarantees.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests, promises := &strings.Builder{}, &strings.Builder{}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "node_modules" || strings.HasPrefix(name, ".") && path != root):
			return filepath.SkipDir
		case !strings.HasSuffix(name, ".go"):
			return nil
		}
		of := promises
		if strings.HasSuffix(name, "_test.go") {
			of = tests
		} else if folder := filepath.Base(filepath.Dir(path)); folder != "queuetest" && folder != "storetest" && folder != "sim" {
			return nil
		}
		text, err := os.ReadFile(path)
		of.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := namedTest.FindAllStringSubmatch(string(page), -1)
	if len(named) < 30 {
		t.Errorf("the page names %d tests only: does it write them otherwise?", len(named))
	}
	for _, name := range named {
		if !strings.Contains(tests.String(), "func "+name[1]+"(t *testing.T)") {
			t.Errorf("there is no test %s", name[1])
		}
	}
	for _, words := range namedPromise.FindAllStringSubmatch(string(page), -1) {
		if text := strings.Join(strings.Fields(words[1]), " "); text != "italics" && !strings.Contains(promises.String(), `"`+text+`"`) {
			t.Errorf("no suite promises %q", text)
		}
	}
}
