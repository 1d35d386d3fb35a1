package templates

import "github.com/a-h/templ"

// Kit is every component with its states.
type Kit struct {
	Page     Page
	Statuses []string // of runs
	Slots    []string // of slots, jobs and executors
}

// kitSections are the parts of the kit, in the order of the page. Add each new component here.
var kitSections = []kitSection{
	{"colours", "Colours", kitColours},
	{"type", "Type and keys", kitType},
	{"icons", "Icons", kitIcons},
	{"statuses", "Statuses, tiers and classes", kitStatuses},
	{"buttons", "Buttons and links", kitButtons},
	{"fields", "Fields", kitFields},
	{"choices", "Tabs, segments and menus", kitChoices},
	{"notes", "Notes, toasts and waiting", kitNotes},
	{"dialogs", "Dialogs and tooltips", kitDialogs},
	{"figures", "Tiles, strips and lines", kitFigures},
	{"lists", "Tables, facts, trail and pager", kitLists},
	{"text", "Code and differences", kitText},
	{"empty", "Empty states", kitEmpty},
}

type kitSection struct {
	id, name string
	// show takes what keeps its ids apart from those in the other theme.
	show func(v Kit, id string) templ.Component
}

var kitTokens = []string{
	"ground", "surface", "raised", "hover", "line", "edge", "track", "ink", "ink-soft", "accent", "accent-strong", "accent-ground", "deep", "foam", "water",
	"good", "good-ground", "bad", "bad-ground", "warn", "warn-ground", "busy", "busy-ground", "idle", "idle-ground",
}

var kitIconNames = []string{
	"overview", "jobs", "runs", "dags", "binaries", "executors", "search", "plus", "upload", "download", "play", "retry", "pause", "stop", "edit", "trash",
	"copy", "filter", "diff", "link", "left", "right", "up", "down", "more", "close", "tick", "warn", "info", "clock", "key", "book", "bell", "user", "keyboard", "system", "light", "dark",
	"tier-1", "tier-2", "tier-3", "premium",
}

var kitStrip = []StripCell{
	{"succeeded", 0.3}, {"succeeded", 0.35}, {"succeeded", 0.3}, {"skipped", 0}, {"succeeded", 0.4}, {"failed", 0.2}, {"succeeded", 0.5}, {"succeeded", 0.45},
	{"timed_out", 1}, {"succeeded", 0.6}, {"missed", 0}, {"succeeded", 0.3}, {"succeeded", 0.9}, {"cancelled", 0.1}, {"running", 0},
}

var kitSpark = Spark{Points: []float64{4.1, 4.3, 4.0, 4.6, 5.1, 4.2, 4.4, 6.8, 9.0, 7.2, 6.9, 5.5}, Words: "duration of the last 12 runs, 4.0 s to 9.0 s"}

var kitTiles = []Tile{
	{Name: "running", Value: "14", Href: "/runs?status=running", Tone: "busy", Note: "of 16 slots", Level: 0.875},
	{Name: "waiting", Value: "3", Href: "/runs?status=queued", Note: "2 light, 1 heavy"},
	{Name: "late", Value: "0", Href: "/runs"},
	{Name: "failed in 24 hours", Value: "100+", Href: "/runs?status=bad", Tone: "bad"},
}

var kitTrail = []Crumb{{"Jobs", "/jobs"}, {"nightly-report", "/jobs"}, {"Edit", ""}}
