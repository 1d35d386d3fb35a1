package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	// laneRows is how many runs of a lane that overlap stand below each other; what else overlaps is in the last row.
	laneRows = 4
	// nearBars is the part of the window within which short runs are drawn as one.
	nearBars = 1.0 / 240
	// plannedMarks is how many planned slots are drawn in all lanes, about.
	plannedMarks = 8_000
)

// laneDrawing draws lanes of a window.
type laneDrawing struct {
	window  engine.Window
	now     time.Time
	zone    templates.Zone
	address timelineAddress
	apart   time.Duration // planned slots nearer to each other are one mark
}

func (d *laneDrawing) near() time.Duration {
	return time.Duration(float64(d.window.Until.Sub(d.window.From)) * nearBars)
}

func (d *laneDrawing) lane(lane *service.Lane) templates.Lane {
	view := templates.Lane{DAG: lane.DAG, Name: lane.Name}
	for first := 0; first < len(lane.Bars); {
		next := d.together(lane.Bars, first)
		if next-first > 1 {
			view.Bars = append(view.Bars, d.many(lane, lane.Bars[first:next]))
		} else {
			view.Bars = append(view.Bars, d.one(lane, &lane.Bars[first]))
		}
		first = next
	}
	view.Rows = stack(view.Bars)
	view.Planned = d.planned(lane)
	view.Words = lane.Name
	if n := len(lane.Planned); n > 0 {
		count := templates.Plural(int64(n), "slot", "slots")
		if lane.More {
			count = fmt.Sprintf("more than %d slots", n)
		}
		view.Words += ": " + count + " to come, the next " + d.zone.Words(lane.Planned[0])
	}
	if !lane.Reached.IsZero() {
		view.More = "runs made before " + d.zone.Words(lane.Reached) + " are left out"
	}
	return view
}

// planned draws slots to come; those that stand too near each other are one mark.
func (d *laneDrawing) planned(lane *service.Lane) (marks []templates.LanePlanned) {
	slots := lane.Planned
	for first := 0; first < len(slots); {
		last := first
		for last+1 < len(slots) && slots[last+1].Sub(slots[last]) < d.apart {
			last++
		}
		mark := templates.LanePlanned{At: slots[first], Until: slots[last].Add(lane.Takes), Words: lane.Name + ": planned for " + d.zone.Words(slots[first])}
		if n := last - first + 1; n > 1 {
			mark.Many = true
			mark.Words = fmt.Sprintf("%s: %d slots, %s", lane.Name, n, d.zone.Span(slots[first], slots[last]))
		} else if lane.Takes > 0 {
			mark.Words += "; takes " + templates.Span(lane.Takes)
		}
		marks = append(marks, mark)
		first = last + 1
	}
	if lane.More { // it goes on like that
		end := slots[len(slots)-1]
		marks = append(marks, templates.LanePlanned{At: end, Until: d.window.Until, Many: true, Words: lane.Name + ": more slots, until " + d.zone.Words(d.window.Until)})
	}
	return marks
}

// spread says how near each other planned slots are drawn apart: where there are too many, the farther the more lanes there are.
func (d *laneDrawing) spread(lanes []service.Lane) {
	with, all := 0, 0
	for i := range lanes {
		if n := len(lanes[i].Planned); n > 0 {
			with, all = with+1, all+n
		}
	}
	part := nearBars
	if all > plannedMarks {
		part = max(part, float64(with)/plannedMarks)
	}
	d.apart = time.Duration(float64(d.window.Until.Sub(d.window.From)) * part)
}

// end is where a bar ends: now, while it goes on.
func (d *laneDrawing) end(bar *service.Bar) time.Time {
	switch {
	case !bar.Finished.IsZero():
		return bar.Finished
	case bar.Due.After(d.now):
		return bar.Due
	}
	return d.now
}

// together returns the end of what stands too near the bar at first to be drawn apart: short runs that have ended.
func (d *laneDrawing) together(bars []service.Bar, first int) int {
	short := func(bar *service.Bar) bool { return bar.Status.Terminal() && d.end(bar).Sub(bar.Due) < d.near() }
	at := first + 1
	for at < len(bars) && short(&bars[at-1]) && short(&bars[at]) && bars[at].Due.Sub(d.end(&bars[at-1])) < d.near()/4 {
		at++
	}
	return at
}

func (d *laneDrawing) one(lane *service.Lane, bar *service.Bar) templates.LaneBar {
	view := templates.LaneBar{
		Href: "/runs/" + bar.ID, Tone: barTone(bar.Status), From: bar.Due, Until: d.end(bar), Planned: bar.Due.After(d.now),
	}
	name := lane.Name
	if lane.DAG {
		view.Href, name = "/waves/"+bar.ID, lane.Name+", "+strings.ToLower(templates.WaveName(bar.Epoch))
	}
	for _, part := range bar.Parts {
		if part.Until.IsZero() {
			part.Until = d.end(bar)
		}
		view.Parts = append(view.Parts, templates.LanePart{From: part.From, Until: part.Until, Waiting: part.Waiting})
	}
	words := []string{name + ": " + strings.ReplaceAll(bar.Status.String(), "_", " ")}
	switch {
	case view.Planned:
		words = append(words, "for "+d.zone.Words(bar.Due))
	case !bar.Slot.IsZero():
		words = append(words, "slot "+d.zone.Words(bar.Slot))
	default:
		words = append(words, string(bar.Trigger)+", "+d.zone.Words(bar.Due))
	}
	if !view.Planned {
		words = append(words, "waited "+templates.Span(bar.Waited(d.now)))
	}
	if !bar.Started.IsZero() {
		took := "took " + templates.Span(bar.Took(d.now))
		if bar.Finished.IsZero() {
			took = "running for " + templates.Span(bar.Took(d.now))
		}
		words = append(words, took)
	}
	if bar.Attempts > 1 {
		words = append(words, fmt.Sprintf("%d attempts", bar.Attempts))
	}
	view.Words = strings.Join(words, "; ")
	return view
}

// many draws runs as one bar, which leads to a window in which they stand apart.
func (d *laneDrawing) many(lane *service.Lane, bars []service.Bar) templates.LaneBar {
	counts := map[string]int{}
	view := templates.LaneBar{Tone: "idle", Many: len(bars), From: bars[0].Due, Until: bars[0].Due}
	for i := range bars {
		if end := d.end(&bars[i]); end.After(view.Until) {
			view.Until = end
		}
		if barTone(bars[i].Status) == "good" {
			view.Tone = "good"
		}
		counts[strings.ReplaceAll(bars[i].Status.String(), "_", " ")]++
	}
	failed := 0
	for _, status := range bad {
		failed += counts[strings.ReplaceAll(status.String(), "_", " ")]
	}
	view.Bad = float64(failed) / float64(len(bars))
	var parts []string
	for _, status := range engine.Statuses() {
		name := strings.ReplaceAll(status.String(), "_", " ")
		if counts[name] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[name], name))
		}
	}
	noun := "runs"
	if lane.DAG {
		noun = "waves"
	}
	view.Words = fmt.Sprintf("%s: %d %s; %s; %s; opens nearer", lane.Name, len(bars), noun, d.zone.Span(view.From, view.Until), strings.Join(parts, ", "))
	span := max(2*view.Until.Sub(view.From), shortestZoom)
	if half := d.window.Until.Sub(d.window.From) / 2; span > half {
		span = max(half, shortestZoom)
	}
	view.Href = d.address.of(around(fixedWindow(view.From, view.Until.Add(time.Second)), span, d.now))
	return view
}

func barTone(status engine.Status) string {
	switch {
	case status == engine.StatusSucceeded:
		return "good"
	case slices.Contains(bad, status):
		return "bad"
	case !status.Terminal():
		return "busy"
	}
	return "idle"
}

// stack puts bars that overlap into rows, and returns how many there are.
func stack(bars []templates.LaneBar) (rows int) {
	var ends []time.Time
	for i := range bars {
		free := slices.IndexFunc(ends, func(end time.Time) bool { return !end.After(bars[i].From) })
		switch {
		case free < 0 && len(ends) < laneRows:
			free = len(ends)
			ends = append(ends, bars[i].Until)
		case free < 0:
			free = len(ends) - 1
		}
		if bars[i].Until.After(ends[free]) {
			ends[free] = bars[i].Until
		}
		bars[i].Row = free
	}
	return len(ends)
}
