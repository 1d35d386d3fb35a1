package templates

import (
	"strconv"
	"strings"

	"github.com/a-h/templ"
)

// liveAttributes make an element with an id fetch itself again, and change only where it differs.
func liveAttributes(url, every string) templ.Attributes {
	return templ.Attributes{
		"data-live": true, "hx-get": url, "hx-trigger": "every " + every + ", refresh", "hx-swap": "morph", "hx-sync": "this:drop",
	}
}

// shortID leaves of a run's id what tells it from others of its job.
func shortID(id string) string {
	_, rest, found := strings.Cut(id, "-")
	if !found {
		return id
	}
	if len(rest) > 10 {
		rest = rest[:1] + "…" + rest[len(rest)-8:]
	}
	return rest
}

func fraction(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) }

func percent(f float64) string { return strconv.Itoa(int(f*100)) + "%" }
