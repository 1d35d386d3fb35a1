package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The files of the core can be read from the bottom up: no file uses a name from a file that itself uses, in one step or
// many, a name of the first.
func TestFilesOfTheCoreUseNoNameFromAbove(t *testing.T) {
	for of, least := range map[string]int{"engine": 20, "engine/core": 100, "engine/wave": 3, "engine/attempt": 1, "engine/plan": 1, "engine/incident": 10} {
		t.Run(of, func(t *testing.T) {
			uses := usesOf(t, filepath.Join("../..", of))
			found := 0
			for _, others := range uses {
				found += len(others)
			}
			if found < least {
				t.Fatalf("files use %d others, want %d at least: nothing is checked", found, least)
			}
			for file := range uses {
				if circle := findCircle(uses, file, nil); circle != nil {
					t.Fatalf("a circle of files: %s", strings.Join(circle, " -> "))
				}
			}
		})
	}
}

// usesOf returns for each file of a package those that declare what it uses. What other packages declare is not looked at.
func usesOf(t *testing.T, folder string) map[string][]string {
	t.Helper()
	fileset := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fileset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: nothing{}, Error: func(error) {}}
	p, _ := config.Check(folder, fileset, files, info) // names of other packages are not found
	uses := map[string][]string{}
	for id, object := range info.Uses {
		from, to := filepath.Base(fileset.Position(id.Pos()).Filename), filepath.Base(fileset.Position(object.Pos()).Filename)
		if object.Pkg() == p && from != to && !slices.Contains(uses[from], to) {
			uses[from] = append(uses[from], to)
		}
	}
	return uses
}

// nothing imports packages without their contents.
type nothing struct{}

func (nothing) Import(of string) (*types.Package, error) {
	p := types.NewPackage(of, path.Base(strings.TrimSuffix(of, "/v2")))
	p.MarkComplete()
	return p, nil
}

// findCircle follows the uses from a file on until it comes to one that it has passed; nil if it never does. What it has seen
// to the end has no uses left.
func findCircle(uses map[string][]string, file string, path []string) []string {
	path = append(path, file)
	if at := slices.Index(path, file); at < len(path)-1 {
		return path[at:]
	}
	for _, next := range uses[file] {
		if circle := findCircle(uses, next, path); circle != nil {
			return circle
		}
	}
	uses[file] = nil
	return nil
}
