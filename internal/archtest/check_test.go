package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

const modulePath = "github.com/tidewheel/tidewheel"

// check reads every Go file of the module under root, whatever its build tags, and returns what breaks the rules as
// "file:line: what". It only parses, so it needs no build and takes milliseconds.
func check(root fs.FS) ([]string, error) {
	var problems []string
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if skipped(root, name) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		found, err := checkFile(root, name)
		problems = append(problems, found...)
		return err
	})
	return problems, err
}

// skipped reports whether the go command, too, would pass by this folder: hidden, test data, or another module.
func skipped(root fs.FS, folder string) bool {
	if folder == "." {
		return false
	}
	base := path.Base(folder)
	if base[0] == '.' || base[0] == '_' || base == "testdata" || base == "node_modules" {
		return true
	}
	_, err := fs.Stat(root, path.Join(folder, "go.mod"))
	return err == nil
}

type file struct {
	*ast.File
	positions *token.FileSet
	pkg       string // below the module's path
	test      bool
	rule      rule
	problems  []string
}

func checkFile(root fs.FS, name string) ([]string, error) {
	source, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	f := &file{positions: token.NewFileSet(), pkg: path.Dir(name), test: strings.HasSuffix(name, "_test.go")}
	f.File, err = parser.ParseFile(f.positions, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var known bool
	if f.rule, known = ruleFor(f.pkg); !known {
		f.report(f.Package, "package %s is missing from the table in internal/archtest/rules_test.go", f.pkg)
		return f.problems, nil
	}
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if own, inside := strings.CutPrefix(imported, modulePath+"/"); inside {
			f.checkArrow(spec, own)
		} else {
			f.checkLibrary(spec, imported)
		}
	}
	if f.rule.pure && !f.test {
		f.checkPurity()
	}
	return f.problems, nil
}

func (f *file) report(at token.Pos, format string, arguments ...any) {
	f.problems = append(f.problems, fmt.Sprintf("%v: ", f.positions.Position(at))+fmt.Sprintf(format, arguments...))
}

// checkArrow judges an import of one of Tidewheel's own packages.
func (f *file) checkArrow(spec *ast.ImportSpec, imported string) {
	switch {
	case imported == f.pkg && f.test: // an external test of the package itself
	case contains(f.rule.may, imported), f.rule.may == "*":
	case f.test && (contains(f.rule.tests, imported) || testMayImport(f.rule, imported)):
	default:
		f.report(spec.Pos(), "%s may not import %s", f.pkg, imported)
	}
}

// testMayImport: test files may put real parts together, but no package reaches up to the web or the command, and an
// adapter is tested without the others.
func testMayImport(from rule, imported string) bool {
	if imported == "web" || strings.HasPrefix(imported, "web/") || strings.HasPrefix(imported, "cmd/") {
		return false
	}
	to, known := ruleFor(imported)
	return known && !(from.adapter && to.adapter)
}

// checkLibrary judges an import from the standard library or from another module.
func (f *file) checkLibrary(spec *ast.ImportSpec, imported string) {
	for _, owner := range owners {
		if strings.HasPrefix(imported, owner.module) && !contains(owner.packages, f.pkg) {
			f.report(spec.Pos(), "only %s may import %s", owner.packages, imported)
		}
	}
	if !f.rule.pure || f.test {
		return
	}
	first, _, _ := strings.Cut(imported, "/")
	switch standard := !strings.Contains(first, "."); {
	case standard && slices.ContainsFunc(impureImports, under(imported)) && !slices.Contains(pureImports, imported):
		f.report(spec.Pos(), "%s is pure and may not import %s", f.pkg, imported)
	case !standard && !slices.ContainsFunc(strings.Fields(f.rule.libraries), under(imported)):
		f.report(spec.Pos(), "%s is pure and may not import %s", f.pkg, imported)
	case spec.Name != nil && spec.Name.Name == "." && impureNames[imported] != nil:
		f.report(spec.Pos(), "%s is pure and may not import %s into its own names", f.pkg, imported)
	}
}

// checkPurity looks for clocks, hidden randomness and goroutines.
func (f *file) checkPurity() {
	names := map[string]string{} // local name of an import to its path
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil || impureNames[imported] == nil {
			continue
		}
		local := path.Base(strings.TrimSuffix(imported, "/v2"))
		if spec.Name != nil {
			local = spec.Name.Name
		}
		names[local] = imported
	}
	ast.Inspect(f.File, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GoStmt:
			f.report(node.Pos(), "%s is pure and may not start a goroutine", f.pkg)
		case *ast.SelectorExpr:
			from, isName := node.X.(*ast.Ident)
			if isName && slices.Contains(impureNames[names[from.Name]], node.Sel.Name) {
				f.report(node.Pos(), "%s is pure and may not use %s.%s", f.pkg, from.Name, node.Sel.Name)
			}
		}
		return true
	})
}

// ruleFor finds a package's own line, or else that of the nearest folder above with "/...".
func ruleFor(pkg string) (rule, bool) {
	for pattern := pkg; ; pattern = path.Dir(strings.TrimSuffix(pattern, "/...")) + "/..." {
		index := slices.IndexFunc(rules, func(r rule) bool { return r.pkg == pattern })
		if index >= 0 {
			return rules[index], true
		}
		if strings.HasPrefix(pattern, "./") || pattern == "." {
			return rule{}, false
		}
	}
}

func contains(list, word string) bool { return slices.Contains(strings.Fields(list), word) }

// under returns a test of whether imported is a path or lies below it.
func under(imported string) func(string) bool {
	return func(above string) bool { return imported == above || strings.HasPrefix(imported, above+"/") }
}
