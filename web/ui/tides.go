package ui

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	// overviewReach is how far the tides of the overview go each way, overviewBucket how long one bar of them is.
	overviewReach  = 24 * time.Hour
	overviewBucket = 30 * time.Minute
)

// overviewWindow is what of time the overview shows the tides of.
func overviewWindow(now time.Time) engine.Window {
	return engine.Window{From: now.Add(-overviewReach), Until: now.Add(overviewReach)}
}

// viewTides shows what ran and what comes as bars; each leads to what at says of its span, and to the page of a job where it is
// the only one that fires in it.
func viewTides(t *service.Tides, window engine.Window, zone templates.Zone, at func(engine.Window) string) templates.Tides {
	view := templates.Tides{Now: t.Now, From: window.From, Until: window.Until}
	for i := range t.Past {
		view.Bars = append(view.Bars, pastBar(&t.Past[i], zone, at))
	}
	for i := range t.Future {
		view.Bars = append(view.Bars, futureBar(&t.Future[i], zone, at))
	}
	if !t.Beyond.IsZero() {
		view.Beyond = "The upcoming part shows the jobs that fire first; from " + zone.Words(t.Beyond) + " on there are more."
	}
	return view
}

// runsWithin leads to the list of the runs that were made in a span.
func runsWithin(span engine.Window) string {
	return "/runs?" + url.Values{
		"from": {span.From.UTC().Format(templates.InputForm + ":05")}, "until": {span.Until.UTC().Format(templates.InputForm + ":05")}, zoneParameter: {"UTC"},
	}.Encode()
}

// open are the statuses of runs that have begun, or should have.
var open = []engine.Status{engine.StatusQueued, engine.StatusRunning, engine.StatusRetrying}

func pastBar(b *service.PastBucket, zone templates.Zone, at func(engine.Window) string) templates.TideBar {
	bar := templates.TideBar{
		From: b.From, Until: b.Until, Good: b.Runs[engine.StatusSucceeded].N, Bad: b.Runs.Sum(bad...).N, Open: b.Runs.Sum(open...).N,
		Idle: b.Runs.Sum(engine.StatusCancelled, engine.StatusSkipped).N, Href: at(b.Window),
	}
	var parts []string
	all := engine.Tally{}
	for _, status := range engine.Statuses() {
		n := b.Runs[status]
		if status == engine.StatusScheduled || n.N == 0 && !n.More {
			continue
		}
		all.N += n.N
		all.More = all.More || n.More
		parts = append(parts, tally(n)+" "+strings.ReplaceAll(status.String(), "_", " "))
	}
	bar.Words = fmt.Sprintf("%s: %s: %s", zone.Span(b.From, b.Until), runsWord(all), strings.Join(parts, ", "))
	return bar
}

func runsWord(n engine.Tally) string {
	if n.N == 1 && !n.More {
		return "1 run"
	}
	return tally(n) + " runs"
}

func futureBar(b *service.FutureBucket, zone templates.Zone, at func(engine.Window) string) templates.TideBar {
	bar := templates.TideBar{From: b.From, Until: b.Until, Slots: b.Slots.N, Future: true, Href: at(b.Window)}
	words := tally(b.Slots) + " upcoming slots"
	if b.Slots.N == 1 && !b.Slots.More {
		words = "1 upcoming slot"
	}
	if b.Jobs == 1 {
		bar.Href = templates.OwnerHref(b.Names[0])
	}
	bar.Words = zone.Span(b.From, b.Until) + ": " + words + ": " + strings.Join(b.Names, ", ")
	if more := b.Jobs - len(b.Names); more > 0 {
		bar.Words += fmt.Sprintf(" and %d more", more)
	}
	return bar
}
