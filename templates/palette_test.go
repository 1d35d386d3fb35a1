package templates_test

import (
	"strings"
	"testing"

	"github.com/a-h/templ"

	"github.com/tidewheel/tidewheel/templates"
)

func TestSearchAndShortcutPages(t *testing.T) {
	for name, part := range map[string]templ.Component{
		"search": templates.SearchPage(templates.Search{Page: page("Search", ""), Text: hostile, Items: []templates.SearchItem{
			{Kind: templates.SearchJob, Name: "tides", Detail: "every 5 minutes, UTC", Href: "/jobs/tides"},
			{Kind: templates.SearchRun, Name: "tides", Detail: "timed out", At: now, Href: "/runs/abc-s1"},
			{Kind: templates.SearchBinary, Name: "tides", Href: "/binaries/tides"},
		}}),
		"search-empty": templates.SearchPage(templates.Search{Page: page("Search", ""), Text: "x"}),
		"shortcuts":    templates.ShortcutsPage(page("Keyboard shortcuts", "")),
	} {
		t.Run(name, func(t *testing.T) {
			var html strings.Builder
			if err := part.Render(t.Context(), &html); err != nil {
				t.Fatal(err)
			}
			checkPage(t, html.String())
			golden(t, name, html.String())
		})
	}
}
