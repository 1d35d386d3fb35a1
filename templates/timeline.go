package templates

import (
	"net/url"
	"slices"
	"time"

	"github.com/a-h/templ"
)

// TimelinePath is the page of what ran and what is to come, by jobs and DAGs.
const TimelinePath = "/timeline"

// Timeline is that page.
type Timeline struct {
	Page   Page
	Filter TimelineFilter
	Tides  Tides
	Span   string // of time, in words
	Lanes  []Lane
	Ticks  []TimelineTick
	Counts string   // "37 jobs and DAGs, 1,204 runs, 86 slots to come"
	Notes  []Crumb  // what is left out, in words, and what shows it; an empty address for nothing
	Zooms  []Option // the lengths that are offered, by what leads to them
	// Addresses of other windows; "" where there is none.
	Earlier, Later, In, Out, Follow, First, Next string
	Follows                                      bool // the window goes with the time
	Self                                         string
	Live                                         bool
	Problem                                      string
	// Reached is from when on all that ran is shown; zero: all is.
	Reached time.Time
}

// TimelineFilter is what a timeline is narrowed to, as the form says it.
type TimelineFilter struct {
	Text, Label, Tier string
	Chosen            []string // statuses
	Statuses, Tiers   []string // to choose from
	Window            url.Values
}

// Filtered reports whether anything is narrowed.
func (f TimelineFilter) Filtered() bool {
	return f.Text != "" || f.Label != "" || f.Tier != "" || len(f.Chosen) > 0
}

func (f TimelineFilter) has(status string) bool { return slices.Contains(f.Chosen, status) }

// clear leads to the same window of all.
func (f TimelineFilter) clear() string { return TimelinePath + "?" + f.Window.Encode() }

// TimelineTick is a line of the scale.
type TimelineTick struct {
	At    time.Time
	Words string
	Day   bool // a day begins
	Wide  bool // left out on narrow screens
}

// Lane is what one job or DAG does.
type Lane struct {
	DAG     bool
	Name    string
	Words   string // its name, and what it has planned
	Rows    int    // that its bars take
	Bars    []LaneBar
	Planned []LanePlanned
	More    string // what is left out, in words
}

// LaneBar is a run, a wave, or several that stand too near each other.
type LaneBar struct {
	Href, Words string
	Tone        string  // "good", "bad", "busy" or "idle"
	Many        int     // how many runs it is; 0 for one
	Bad         float64 // the share of many that failed
	Row         int
	From, Until time.Time
	Parts       []LanePart
	Planned     bool // it waits for a later time
}

// LanePart is a time in which a run waited, or ran.
type LanePart struct {
	From, Until time.Time
	Waiting     bool
}

// LanePlanned is a slot to come.
type LanePlanned struct {
	At, Until time.Time
	Words     string
	Many      bool // slots that are too near each other to be drawn apart
}

func (l Lane) href() string {
	if l.DAG {
		return "/dags/" + l.Name
	}
	return "/jobs/" + l.Name
}

func (l Lane) id() string {
	if l.DAG {
		return "lane-dag-" + l.Name
	}
	return "lane-" + l.Name
}

func (l Lane) icon() string {
	if l.DAG {
		return "dags"
	}
	return "jobs"
}

// Pixels of a lane.
const (
	laneRow = 20
	laneBar = 14
	lanePad = 5
)

func (l Lane) height() string {
	return short(float64(2*lanePad + max(l.Rows, 1)*laneRow - (laneRow - laneBar)))
}

func rowTop(row int, add float64) string { return short(float64(lanePad+row*laneRow) + add) }

func (t Timeline) axis() axis { return axis{t.Tides.From, t.Tides.Until} }

// place is where a span begins in percent, and how long it is; what lies far outside is cut off.
func (t Timeline) place(from, until time.Time, least float64) (x, width string) {
	left, right := max(t.axis().at(from), -100), min(t.axis().at(until), 200)
	return percentage(left), percentage(max(right-left, least))
}

// leastBar is the width of the shortest bar, in percent.
const leastBar = 0.35

// focused is the lane whose last bar Tab reaches.
func (t Timeline) focused() int {
	return slices.IndexFunc(t.Lanes, func(l Lane) bool { return len(l.Bars) > 0 })
}

// least is the width of the shortest part: what ran is always seen.
func (p LanePart) least() float64 {
	if p.Waiting {
		return 0
	}
	return leastBar
}

// zoomed is the name of the length that is shown, "" if it is none that is offered.
func (t Timeline) zoomed() string {
	span := t.Tides.Until.Sub(t.Tides.From)
	for _, zoom := range TimelineZooms {
		if zoom.Length == span {
			return zoom.Name
		}
	}
	return ""
}

// TimelineZooms are the lengths that are offered.
var TimelineZooms = []struct {
	Name   string
	Length time.Duration
}{
	{"10 min", 10 * time.Minute}, {"1 h", time.Hour}, {"6 h", 6 * time.Hour}, {"24 h", 24 * time.Hour}, {"3 d", 72 * time.Hour}, {"7 d", 168 * time.Hour},
}

// timelineLive is as liveAttributes, but the window that is asked for last is shown; one that now is not in changes only when
// another one is asked for.
func timelineLive(self string, live bool) templ.Attributes {
	attributes := liveAttributes(self, "5s")
	attributes["hx-sync"] = "this:replace"
	if !live {
		attributes["hx-trigger"] = "refresh"
	}
	return attributes
}

func sortedNames(values url.Values) []string {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
