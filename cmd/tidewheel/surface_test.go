package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// surfaceRow is a row of the tables of docs/surface.md.
type surfaceRow struct{ what, page, command, api string }

var (
	quoted      = regexp.MustCompile("`([^`]+)`")
	parameter   = regexp.MustCompile(`:(\w+)`)
	routePrefix = "/api/v1"
)

func surfaceRows(t *testing.T) (rows []surfaceRow) {
	t.Helper()
	text, err := os.ReadFile("../../docs/surface.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 || strings.HasPrefix(cells[0], "---") || strings.TrimSpace(cells[0]) == "what" {
			continue
		}
		rows = append(rows, surfaceRow{strings.TrimSpace(cells[0]), cells[1], cells[2], cells[3]})
	}
	return rows
}

// surfaceRoutes are the routes of the server, as the test of roles writes them down: pages by their address, the API by method and
// address below its prefix.
func surfaceRoutes(t *testing.T) (pages, api map[string]bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "web", "testdata", "roles.txt"))
	if err != nil {
		t.Fatal(err)
	}
	pages, api = map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 2 || !strings.HasPrefix(words[1], "/") {
			continue
		}
		path := parameter.ReplaceAllString(words[1], "{$1}")
		if below, is := strings.CutPrefix(path, routePrefix); is {
			api[words[0]+" "+below] = true
		} else {
			pages[path] = true
		}
	}
	return pages, api
}

// surfaceCommands are all commands that do something, without the program's name.
func surfaceCommands() map[string]bool {
	commands := map[string]bool{}
	root := newCLI(nil, nil, nil).root()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		name := strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), root.Name()), " ")
		switch {
		case name == "get":
			for _, kind := range getKinds {
				commands["get "+kind.name] = true
			}
		case name == "completion" || name != "" && (!cmd.HasSubCommands() || cmd.LocalFlags().HasFlags() && cmd.Args != nil):
			commands[name] = true
		}
		if name != "completion" {
			for _, child := range cmd.Commands() {
				visit(child)
			}
		}
	}
	visit(root)
	return commands
}

func TestSurfaceDocumentIsWhole(t *testing.T) {
	rows := surfaceRows(t)
	if len(rows) < 50 {
		t.Fatalf("only %d rows were found", len(rows))
	}
	pages, api := surfaceRoutes(t)
	for _, column := range []struct {
		name  string
		there map[string]bool
		cell  func(surfaceRow) string
		is    func(string) bool
	}{
		{"page", pages, func(r surfaceRow) string { return r.page }, func(item string) bool { return strings.HasPrefix(item, "/") }},
		{"command", surfaceCommands(), func(r surfaceRow) string { return r.command }, func(item string) bool { return item == strings.ToLower(item) && !strings.HasPrefix(item, "-") }},
		{"route", api, func(r surfaceRow) string { return r.api }, func(item string) bool { return strings.Contains(item, " /") }},
	} {
		named := map[string]bool{}
		for _, row := range rows {
			if strings.TrimSpace(column.cell(row)) == "" {
				t.Errorf("%s: no %s, and no words that say why", row.what, column.name)
			}
			for _, item := range quoted.FindAllStringSubmatch(column.cell(row), -1) {
				if !column.is(item[1]) {
					continue
				}
				named[item[1]] = true
				if !column.there[item[1]] {
					t.Errorf("%s: there is no %s %q", row.what, column.name, item[1])
				}
			}
		}
		for _, one := range slices.Sorted(maps.Keys(column.there)) {
			if !named[one] {
				t.Errorf("the %s %q is in no row of docs/surface.md", column.name, one)
			}
		}
	}
}
