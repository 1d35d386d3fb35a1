package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/cover"
)

// module is what paths of a profile begin with.
const module = "github.com/tidewheel/tidewheel/"

// file is a source with its functions, in the order of the text.
type file struct {
	path      string // below the module's root
	functions []function
}

type function struct {
	name   string // with its receiver's type, as in "Core.release"
	line   int
	end    int // its last line
	blocks []block
}

// block is a branch.
type block struct {
	line  int
	text  string // of its first line that says something
	count int    // how often it was entered
}

func (f *function) reached() (n int) {
	for i := range f.blocks {
		if f.blocks[i].count > 0 {
			n++
		}
	}
	return n
}

// readFile reads a source, and sorts the blocks of a profile into its functions.
func readFile(root string, p *cover.Profile) (*file, error) {
	f := &file{path: strings.TrimPrefix(p.FileName, module)}
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(f.path)))
	if err != nil {
		return nil, fmt.Errorf("read what the profile is of: %w", err)
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, f.path, source, 0)
	if err != nil {
		return nil, err
	}
	for _, declared := range tree.Decls {
		if fn, ok := declared.(*ast.FuncDecl); ok {
			f.functions = append(f.functions, function{name: nameOf(fn), line: set.Position(fn.Pos()).Line, end: set.Position(fn.End()).Line})
		}
	}
	lines := strings.Split(string(source), "\n")
	for _, b := range p.Blocks {
		if b.NumStmt == 0 {
			continue
		}
		line, text := begins(lines, b)
		for i := range f.functions {
			if fn := &f.functions[i]; fn.line <= b.StartLine && b.EndLine <= fn.end {
				fn.blocks = append(fn.blocks, block{line: line, text: text, count: b.Count})
			}
		}
	}
	return f, nil
}

func nameOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	of := fn.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if id, ok := of.(*ast.Ident); ok {
		return id.Name + "." + fn.Name.Name
	}
	return fn.Name.Name
}

// begins returns the first line of a block that says something, and what. A block begins behind the brace that opens it,
// or the colon of its case, and ends before the one that closes it.
func begins(lines []string, b cover.ProfileBlock) (int, string) {
	for line := b.StartLine; line <= b.EndLine; line++ {
		text := lines[line-1]
		if line == b.EndLine {
			text = text[:min(b.EndCol-1, len(text))]
		}
		if line == b.StartLine {
			text = text[min(b.StartCol-1, len(text)):]
		}
		text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "{"))
		if text != "" && !strings.HasPrefix(text, "//") {
			return line, text
		}
	}
	return b.StartLine, strings.TrimSpace(lines[b.StartLine-1])
}
