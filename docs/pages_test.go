package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/docs"
)

var (
	link   = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	anchor = regexp.MustCompile(`id="([^"]*)"`)
)

func TestEachLinkOfThePagesLeadsSomewhere(t *testing.T) {
	library, err := docs.Load()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, group := range library.Groups {
		for _, slug := range group.Slugs {
			page, ok := library.Page(slug)
			if !ok || page.Title == "" || page.HTML == "" {
				t.Fatalf("%s has no title or nothing in it", slug)
			}
			for _, found := range link.FindAllStringSubmatch(page.HTML, -1) {
				checked++
				if problem := follow(library, page, found[1]); problem != "" {
					t.Errorf("%s: %s: %s", slug, found[1], problem)
				}
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d links were found", checked)
	}
}

// follow returns what is wrong with a link, "" for nothing.
func follow(library *docs.Library, page *docs.Page, target string) string {
	if strings.Contains(target, "://") {
		return ""
	}
	if name, ok := strings.CutPrefix(target, docs.Prefix+"images/"); ok {
		if _, err := docs.Image(name); err != nil {
			return "there is no such picture"
		}
		return ""
	}
	slug, id, hasID := strings.Cut(target, "#")
	if slug != "" {
		var ok bool
		if page, ok = library.Page(strings.TrimPrefix(slug, docs.Prefix)); !ok {
			return "there is no such page"
		}
	}
	if !hasID {
		return ""
	}
	for _, found := range anchor.FindAllStringSubmatch(page.HTML, -1) {
		if found[1] == id {
			return ""
		}
	}
	return "there is no such heading"
}

func TestWhatLiesElsewhereIsNamedWithoutALink(t *testing.T) {
	library, err := docs.Load()
	if err != nil {
		t.Fatal(err)
	}
	page, _ := library.Page("security")
	if strings.Contains(page.HTML, `href="..`) || strings.Contains(page.HTML, ".md") && strings.Contains(page.HTML, `.md"`) {
		t.Error("a link leads out of the pages")
	}
}
