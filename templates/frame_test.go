package templates_test

import (
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/templates"
)

// The frame is the same around every page, so only one golden page holds it.
func TestFrame(t *testing.T) {
	frame := page("Edit", templates.SectionJobs)
	frame.Trail = []templates.Crumb{{Name: "Jobs", Href: "/jobs"}, {Name: hostile, Href: "/jobs/x"}, {Name: "Edit"}}
	frame.Theme, frame.Notice = templates.ThemeDark, hostile
	html := render(t, templates.FailurePage(templates.Failure{Page: frame, Title: "Something went wrong"}))
	checkPage(t, html)
	golden(t, "frame", html)
}

func TestKit(t *testing.T) {
	html := render(t, templates.KitPage(templates.Kit{Page: page("Kit", ""), Statuses: []string{"running", "dead"}, Slots: []string{"missed", "silent"}}))
	checkPage(t, html)
	golden(t, "kit", own(html))
}

// own is a page's own part.
func own(html string) string {
	_, rest, found := strings.Cut(html, "<main ")
	main, _, ended := strings.Cut(rest, "</main>")
	if !found || !ended {
		return html
	}
	return "<main " + main + "</main>"
}
