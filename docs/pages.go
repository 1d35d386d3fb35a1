// Package docs holds the documents, and renders them for the server's own pages.
//
// What it promises: each document of this folder and each decision below adr is a page, and each link between them leads to a page and
// to a heading that is there. What lies elsewhere in the repository is named, without a link.
//
// It imports nothing of Tidewheel.
package docs

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// Prefix is below which the pages lie.
const Prefix = "/docs/"

//go:embed *.md adr/*.md images
var files embed.FS

// Page is one document.
type Page struct {
	Slug     string // its address below Prefix: "deploy", "adr/0001-libraries"
	Title    string
	Group    string // one of Groups
	HTML     string // the body, without the title
	Headings []Heading
}

// Heading is one of the second level.
type Heading struct{ ID, Text string }

// Group is what some pages are for.
type Group struct {
	Name  string
	Slugs []string
}

// groups are in the order of the pages' list. The decisions are a group of their own after these.
var groups = []Group{
	{"Start here", []string{"tutorial", "concepts", "comparison", "troubleshooting"}},
	{"How to", []string{"jobs", "dags", "failures", "triggers", "notifications", "tracing", "secrets", "ci", "clients", "users", "deploy", "upgrade", "moving", "import"}},
	{Reference, []string{"definitions", "cli", "surface", "schedules", "programs", "metrics", "limits", "roles", "audit", "keyboard"}},
	{"How it works", []string{"guarantees", "security", "scale", "pages", "design-language"}},
}

// The groups that are more than their names: of the decisions, which are the pages below adr, and of what is looked up.
const (
	Decisions = "Decisions"
	Reference = "Reference"
)

// Library has all pages. It is made once and not changed.
type Library struct {
	Groups []Group
	pages  map[string]*Page
}

// Page finds a page by its address below Prefix.
func (l *Library) Page(slug string) (*Page, bool) {
	page, ok := l.pages[slug]
	return page, ok
}

// Load renders all documents, at the first call. Error: a document is in no group.
var Load = sync.OnceValues(func() (*Library, error) {
	library := &Library{pages: map[string]*Page{}}
	names, err := fs.Glob(files, "*.md")
	if err != nil {
		return nil, fmt.Errorf("docs: %w", err)
	}
	for _, group := range groups {
		kept := Group{Name: group.Name}
		for _, slug := range group.Slugs {
			if err := library.add(slug, group.Name); err != nil {
				return nil, err
			}
			kept.Slugs = append(kept.Slugs, slug)
		}
		library.Groups = append(library.Groups, kept)
	}
	for _, name := range names {
		if _, ok := library.pages[slugOf(name)]; !ok {
			return nil, fmt.Errorf("docs: %s is in no group of the list of pages", name)
		}
	}
	decisions, err := fs.Glob(files, "adr/*.md")
	if err != nil {
		return nil, fmt.Errorf("docs: %w", err)
	}
	group := Group{Name: Decisions}
	for _, name := range decisions {
		if err := library.add(slugOf(name), Decisions); err != nil {
			return nil, err
		}
		group.Slugs = append(group.Slugs, slugOf(name))
	}
	library.Groups = append(library.Groups, group)
	return library, nil
})

// Image gives a picture of the documents by its name.
func Image(name string) ([]byte, error) { return files.ReadFile("images/" + name) }

func slugOf(name string) string { return strings.TrimSuffix(name, ".md") }

// markdown is as GitHub reads it.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), extension.Strikethrough, extension.Linkify),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(html.WithUnsafe()), // the documents are our own
)

func (l *Library) add(slug, group string) error {
	source, err := files.ReadFile(slug + ".md")
	if err != nil {
		return fmt.Errorf("docs: %w", err)
	}
	page := &Page{Slug: slug, Group: group, Title: slug}
	root := markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(&headingIDs{seen: map[string]int{}}))))
	var elsewhere []*ast.Link
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker gives no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			id, _ := n.AttributeString("id")
			idText, _ := id.([]byte)
			if n.Level == 2 {
				page.Headings = append(page.Headings, Heading{string(idText), plain(n, source)})
			}
		case *ast.Link:
			if target, ok := address(slug, string(n.Destination)); ok {
				n.Destination = []byte(target)
			} else {
				elsewhere = append(elsewhere, n)
			}
		case *ast.Image:
			n.Destination = []byte(Prefix + path.Join(path.Dir(slug), string(n.Destination)))
		}
		return ast.WalkContinue, nil
	})
	for _, link := range elsewhere {
		unlink(link)
	}
	if first, ok := root.FirstChild().(*ast.Heading); ok && first.Level == 1 {
		page.Title = plain(first, source)
		root.RemoveChild(root, first)
	}
	var out bytes.Buffer
	if err := markdown.Renderer().Render(&out, source, root); err != nil {
		return fmt.Errorf("docs: render %s: %w", slug, err)
	}
	page.HTML = reachable.Replace(out.String())
	l.pages[slug] = page
	return nil
}

// reachable lets what may be wider than the page be scrolled by the keyboard.
var reachable = strings.NewReplacer("<table>", `<table tabindex="0">`, "<pre>", `<pre tabindex="0">`)

// address turns a link of a document into one of the pages. Not ok: it leads to a file that is no page.
func address(slug, link string) (string, bool) {
	if strings.HasPrefix(link, "#") || strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return link, true
	}
	file, anchor, hasAnchor := strings.Cut(link, "#")
	file = path.Join(path.Dir(slug), file)
	if !strings.HasSuffix(file, ".md") || strings.HasPrefix(file, "..") {
		return "", false
	}
	if hasAnchor {
		anchor = "#" + anchor
	}
	return Prefix + slugOf(file) + anchor, true
}

// unlink puts the text of a link in its place.
func unlink(link *ast.Link) {
	parent := link.Parent()
	for child := link.FirstChild(); child != nil; {
		next := child.NextSibling()
		parent.InsertBefore(parent, link, child)
		child = next
	}
	parent.RemoveChild(parent, link)
}

// plain is the text of a node without its marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker gives no error
		if leaf, ok := n.(*ast.Text); ok && entering {
			b.Write(leaf.Segment.Value(source))
			if leaf.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// headingIDs names headings as GitHub does, so that a link holds there and here.
type headingIDs struct{ seen map[string]int }

var notInID = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// Generate makes the id of a heading.
func (h *headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.ReplaceAll(notInID.ReplaceAllString(strings.ToLower(strings.TrimSpace(string(value))), ""), " ", "-")
	count := h.seen[id]
	h.seen[id]++
	if count > 0 {
		return fmt.Appendf(nil, "%s-%d", id, count)
	}
	return []byte(id)
}

// Put takes an id that a document gives itself.
func (h *headingIDs) Put(value []byte) { h.seen[string(value)]++ }
