package templates

import (
	"math"
	"strconv"
	"time"
)

// Tides is how much ran, and how much is to come, in a span of time.
type Tides struct {
	Now         time.Time
	From, Until time.Time
	Bars        []TideBar // in the order of time
	Beyond      string    // what the future leaves out, in words; "" for nothing
}

// TideBar is what happened, or is to happen, in a span of time.
type TideBar struct {
	From, Until time.Time
	Href        string
	Words       string // when, and what it holds: "24 Nov 09:30 to 10:00: 12 runs: 10 succeeded, 2 failed"
	Good        int
	Bad         int
	Open        int // not ended yet
	Idle        int // cancelled or skipped
	Slots       int // to come
	Future      bool
}

func (b TideBar) total() int { return b.Good + b.Bad + b.Open + b.Idle + b.Slots }

// tideTop is left free above the highest bar, for its notch.
const tideTop = 8

// tideMark is a part of a bar: y and height in pixels.
type tideMark struct {
	class     string
	y, height float64
}

// axis places instants between two others, in percent. Charts of time are drawn in percent, so that neither lines nor letters are
// stretched with them.
type axis struct{ from, until time.Time }

func (a axis) at(t time.Time) float64 {
	return 100 * float64(t.Sub(a.from)) / float64(a.until.Sub(a.from))
}

func percentage(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) + "%" }

func (t Tides) axis() axis { return axis{t.From, t.Until} }

// left and width are where a bar stands: a little apart from its neighbours, and beside the line of now.
func (t Tides) left(b *TideBar) float64 { return t.axis().at(b.From) + t.gap(b) }

func (t Tides) width(b *TideBar) float64 {
	return max(t.axis().at(b.Until)-t.axis().at(b.From)-2*t.gap(b), 0.05)
}

func (t Tides) gap(b *TideBar) float64 {
	return min((t.axis().at(b.Until)-t.axis().at(b.From))*0.08, 0.1)
}

// marks are the parts of a bar, from its foot up. Its height grows with the root of its number, so that one failure
// can be seen beside a thousand successes.
func (t Tides) marks(b *TideBar, floor float64) (marks []tideMark) {
	most := 0 // of its own half: what ran and what is to come are not measured by each other
	for i := range t.Bars {
		if t.Bars[i].Future == b.Future {
			most = max(most, t.Bars[i].total())
		}
	}
	if b.total() == 0 {
		return nil
	}
	full := (floor - tideTop) * max(math.Sqrt(float64(b.total())/float64(max(most, 12))), 0.06)
	foot := floor
	for _, part := range []struct {
		class string
		n     int
	}{{"good", b.Good}, {"slots", b.Slots}, {"idle", b.Idle}, {"busy", b.Open}, {"bad", b.Bad}} {
		if part.n == 0 {
			continue
		}
		height := max(full*float64(part.n)/float64(b.total()), 4)
		foot -= height
		marks = append(marks, tideMark{class: part.class, y: foot + 0.5, height: height - 0.5})
	}
	return marks
}

// focused is the bar that Tab reaches; arrow keys lead from there to the others. It is the last that holds a run.
func (t Tides) focused() int {
	found := -1
	for i := range t.Bars {
		if t.Bars[i].total() > 0 && (found < 0 || !t.Bars[i].Future) {
			found = i
		}
	}
	return found
}

func tabIndex(is bool) string {
	if is {
		return "0"
	}
	return "-1"
}

// ticks are the words below the chart of the overview: how far from now.
func (t Tides) ticks() []string {
	hours := int(t.Until.Sub(t.From) / 2 / time.Hour)
	ticks := make([]string, 0, 9)
	for i := -4; i <= 4; i++ {
		switch at := hours * i / 4; {
		case at == 0:
			ticks = append(ticks, "now")
		case at < 0:
			ticks = append(ticks, "−"+strconv.Itoa(-at)+" h")
		default:
			ticks = append(ticks, "+"+strconv.Itoa(at)+" h")
		}
	}
	return ticks
}
