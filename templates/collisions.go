package templates

import (
	"strconv"
	"time"
)

// CollisionsPath is the page of the times at which more runs are planned than there are slots.
const CollisionsPath = TimelinePath + "/collisions"

// Collisions is that page.
type Collisions struct {
	Page    Page
	List    []Collision // the largest first
	More    int
	Notes   []string
	Problem string
	// Capacity says how many slots each tier has, in words.
	Capacity string
}

// Collision is such a time.
type Collision struct {
	At          time.Time
	Words       string // "900 light runs at Mon 30 Nov 02:00"
	Again       string // "and on 6 more days"; "" for once
	Tier        string
	Peak, Slots int
	Lag         string // how long the last waits; "" for next to nothing
	Href        string // the timeline around it
	Of          []CollisionOf
	MoreOf      int
	CanSpread   int // how many of Of can be spread
}

// CollisionOf is a schedule that takes part.
type CollisionOf struct {
	Href, Name, Value     string // Value is what the form sends
	Schedule, Spread, Why string
	Runs                  int
	Takes                 string
}

// share is how much of the width of the chart is a number, of the peak.
func (c Collision) share(n int) string { return percentage(100 * float64(n) / float64(max(c.Peak, 1))) }

func (c Collision) id(i int) string { return "collision-" + strconv.Itoa(i+1) }

// SpreadView asks before schedules are spread, and says what became of each.
type SpreadView struct {
	Page    Page
	Rows    []SpreadRow
	Ask     bool
	Problem string
	Saved   int
}

// Ready is how many can be spread.
func (v SpreadView) Ready() (ready int) {
	for i := range v.Rows {
		if v.Rows[i].Problem == "" {
			ready++
		}
	}
	return ready
}

// SpreadRow is what becomes of one.
type SpreadRow struct {
	Href, Name, Value, Before, After, Problem string
	Old, New                                  []time.Time
	Saved                                     bool
}
