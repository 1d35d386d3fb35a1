package templates

import (
	"math"
	"strconv"
	"time"
)

// Timeline is what ran and what comes, with now in the middle.
type Timeline struct {
	Now    time.Time
	Reach  time.Duration // to each side
	Bars   []TimelineBar // in the order of time
	Beyond string        // what the future leaves out, in words; "" for nothing
}

// TimelineBar is what happened, or is to happen, in a span of time.
type TimelineBar struct {
	From, Until time.Time
	Href        string
	Words       string // what it holds: "12 runs: 10 succeeded, 2 failed"
	Good        int
	Bad         int
	Open        int // not ended yet
	Idle        int // cancelled or skipped
	Slots       int // to come
	Future      bool
}

func (b TimelineBar) total() int { return b.Good + b.Bad + b.Open + b.Idle + b.Slots }

const (
	timelineWidth  = 1200.0
	timelineHeight = 132.0
	timelineFloor  = 120.0 // where bars stand
	timelineTop    = 10.0
)

// timelineMark is a part of a bar.
type timelineMark struct {
	class       string
	x, y, width float64
	height      float64
}

// x is where an instant stands. It moves by the minute, so that the chart stands still between.
func (t Timeline) x(at time.Time) float64 {
	now := t.Now.Truncate(time.Minute)
	return timelineWidth/2 + at.Sub(now).Seconds()/t.Reach.Seconds()*timelineWidth/2
}

// left and right are the ends of a bar: beside the line of now, not over it.
func (t Timeline) left(b *TimelineBar) float64 {
	if b.Future {
		return max(t.x(b.From), timelineWidth/2) + 1.5
	}
	return t.x(b.From) + 1
}

func (t Timeline) width(b *TimelineBar) float64 {
	right := t.x(b.Until) - 1
	if !b.Future {
		right = min(right, timelineWidth/2-1.5)
	}
	return max(right-t.left(b), 1)
}

// marks are the parts of a bar, from its foot up. Its height grows with the root of its number, so that one failure
// can be seen beside a thousand successes.
func (t Timeline) marks(b *TimelineBar) (marks []timelineMark) {
	most := 0 // of its own half: what ran and what is to come are not measured by each other
	for i := range t.Bars {
		if t.Bars[i].Future == b.Future {
			most = max(most, t.Bars[i].total())
		}
	}
	if b.total() == 0 {
		return nil
	}
	full := (timelineFloor - timelineTop) * max(math.Sqrt(float64(b.total())/float64(max(most, 12))), 0.06)
	foot, left, width := timelineFloor, t.left(b), t.width(b)
	for _, part := range []struct {
		class string
		n     int
	}{{"good", b.Good}, {"slots", b.Slots}, {"idle", b.Idle}, {"busy", b.Open}, {"bad", b.Bad}} {
		if part.n == 0 {
			continue
		}
		height := max(full*float64(part.n)/float64(b.total()), 5)
		foot -= height
		marks = append(marks, timelineMark{class: part.class, x: left, y: foot + 0.5, width: width, height: height - 0.5})
	}
	return marks
}

// focused is the bar that Tab reaches; arrow keys lead from there to the others. It is the last that holds a run.
func (t Timeline) focused() int {
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

// timelineTicks are the words below the chart.
func (t Timeline) ticks() []string {
	hours := int(t.Reach / time.Hour)
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

// spanWords names a bar's time where no script says it in the reader's zone.
func spanWords(b *TimelineBar) string {
	return b.From.UTC().Format("2 Jan 15:04") + " to " + b.Until.UTC().Format("15:04") + " UTC"
}
