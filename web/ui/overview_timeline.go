package ui

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

func viewTimeline(t *service.Timeline) templates.Timeline {
	view := templates.Timeline{Now: t.Now, Reach: service.Reach}
	for i := range t.Past {
		view.Bars = append(view.Bars, pastBar(&t.Past[i]))
	}
	for i := range t.Future {
		view.Bars = append(view.Bars, futureBar(&t.Future[i]))
	}
	if !t.Beyond.IsZero() {
		view.Beyond = "The upcoming part shows the jobs that fire first; from " + t.Beyond.UTC().Format("15:04") + " UTC on there are more."
	}
	return view
}

// open are the statuses of runs that have begun, or should have.
var open = []engine.Status{engine.StatusQueued, engine.StatusRunning, engine.StatusRetrying}

func pastBar(b *service.PastBucket) templates.TimelineBar {
	bar := templates.TimelineBar{
		From: b.From, Until: b.Until, Good: b.Runs[engine.StatusSucceeded].N, Bad: b.Runs.Sum(bad...).N, Open: b.Runs.Sum(open...).N,
		Idle: b.Runs.Sum(engine.StatusCancelled, engine.StatusSkipped).N,
		Href: "/runs?" + url.Values{"from": {b.From.UTC().Format(formTime)}, "until": {b.From.Add(service.Bucket).UTC().Format(formTime)}}.Encode(),
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
	bar.Words = fmt.Sprintf("%s: %s", runsWord(all), strings.Join(parts, ", "))
	return bar
}

func runsWord(n engine.Tally) string {
	if n.N == 1 && !n.More {
		return "1 run"
	}
	return tally(n) + " runs"
}

func futureBar(b *service.FutureBucket) templates.TimelineBar {
	bar := templates.TimelineBar{From: b.From, Until: b.Until, Slots: b.Slots.N, Future: true, Href: "/jobs"}
	words := tally(b.Slots) + " upcoming slots"
	if b.Slots.N == 1 && !b.Slots.More {
		words = "1 upcoming slot"
	}
	if b.Jobs == 1 {
		bar.Href = "/jobs/" + url.PathEscape(b.Names[0])
		if dag, _, root := strings.Cut(b.Names[0], "/"); root {
			bar.Href = "/dags/" + url.PathEscape(dag)
		}
	}
	bar.Words = words + ": " + strings.Join(b.Names, ", ")
	if more := b.Jobs - len(b.Names); more > 0 {
		bar.Words += fmt.Sprintf(" and %d more", more)
	}
	return bar
}
