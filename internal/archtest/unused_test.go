package archtest

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// testOnly are the packages that exist for tests, measurements and the build: what they call counts as called by a test,
// and what they declare is not judged.
var testOnly = []string{
	"bench", "e2e", "engine/sim", "examples", "internal", "queue/jetstream/natstest", "queue/queuetest", "static", "store/storetest", "web/webtest", "templates/templatetest",
}

// interfaceMethods are called by the standard library or by a dependency through an interface.
var interfaceMethods = strings.Fields(`Error Unwrap Is As String GoString Format Read Write Close Len Less Swap Push Pop
	MarshalJSON UnmarshalJSON MarshalText UnmarshalText MarshalYAML UnmarshalYAML MarshalBSON UnmarshalBSON MarshalBSONValue UnmarshalBSONValue
	Scan Value ServeHTTP RoundTrip Resolve Schema Enabled Handle WithAttrs WithGroup LogValue Collect Describe Seek ReadAt WriteTo ReadFrom
	Flush Hijack SetReadDeadline SetWriteDeadline Timeout Temporary Accept Addr
	Noticef Warnf Fatalf Errorf Debugf Tracef Printf GetStatus Visit Generate`)

// calledElsewhere are names that no file of the product says, each with the reason why it stays.
var calledElsewhere = map[string]string{
	"CreateJob": goClient, "CreateDAG": goClient, "PutJob": goClient, "PutDAG": goClient, "RunOnce": goClient, "PreviewSchedule": goClient,
}

const goClient = "for programs that use the Go client; the command line needs no such call"

// A function that the product needs is called by the product, not only by its tests: the trimming of a stream once had no
// other caller, and the stream grew for ever. This looks at names only, so it also sees methods that the linker keeps
// because their type becomes an interface; deadcode, in make lint, sees what shares its name with something else.
func TestEveryFunctionIsCalledByTheProduct(t *testing.T) {
	root := "../.."
	declared := map[string]string{} // name → where
	used := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if entry.IsDir() {
			if skipped(os.DirFS(root), filepath.ToSlash(name)) || slices.Contains(testOnly, filepath.ToSlash(name)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		fits, err := build.Default.MatchFile(filepath.Dir(path), filepath.Base(path))
		if err != nil {
			return err
		}
		positions := token.NewFileSet()
		parsed, err := parser.ParseFile(positions, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		collect(parsed, func(ident *ast.Ident) {
			if fits {
				declared[ident.Name] = filepath.ToSlash(name) + ":" + positions.Position(ident.Pos()).String()[len(path)+1:]
			}
		}, func(ident *ast.Ident) { used[ident.Name] = true })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(declared) < 1000 {
		t.Fatalf("only %d functions were found", len(declared))
	}
	for name, where := range declared {
		_, allowed := calledElsewhere[name]
		switch known := used[name] || slices.Contains(interfaceMethods, name); {
		case !known && !allowed:
			t.Errorf("%s: %s has no caller outside tests: call it from the product, or delete it", where, name)
		case known && allowed:
			t.Errorf("%s: %s has a caller now: take it off the list", where, name)
		}
	}
	for name := range calledElsewhere {
		if declared[name] == "" {
			t.Errorf("%s is on the list, and there is no such function", name)
		}
	}
}

// collect finds the functions and methods that a file declares, and every other name in it: methods that an interface
// lists are no calls of them.
func collect(parsed *ast.File, declares, uses func(*ast.Ident)) {
	own := map[*ast.Ident]bool{}
	ast.Inspect(parsed, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncDecl:
			own[node.Name] = true
			if name := node.Name.Name; name != "main" && name != "init" && name != "_" {
				declares(node.Name)
			}
		case *ast.InterfaceType:
			for _, method := range node.Methods.List {
				for _, name := range method.Names {
					own[name] = true
				}
			}
		case *ast.Ident:
			if !own[node] {
				uses(node)
			}
		}
		return true
	})
}

func TestFunctionsWithoutCallersAreFound(t *testing.T) {
	const source = `package p
type Queue interface { Trim() ; Take() }
type queue struct{}
func (queue) Trim() {}
func (queue) Take() {}
func New(q Queue) { q.Take() }
var _ = New
`
	parsed, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	used := map[string]bool{}
	collect(parsed, func(ident *ast.Ident) { declared = append(declared, ident.Name) }, func(ident *ast.Ident) { used[ident.Name] = true })
	declared = slices.DeleteFunc(declared, func(name string) bool { return used[name] })
	if !slices.Equal(declared, []string{"Trim"}) {
		t.Errorf("without a caller are %v, want Trim", declared)
	}
}
