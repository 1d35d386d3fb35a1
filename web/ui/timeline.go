package ui

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	timelineSpan = 6 * time.Hour // that is shown at first
	// timelineAhead is how much of a window that goes with the time is to come.
	timelineAhead = 3 // a third
	shortestZoom  = 10 * time.Minute
	longestZoom   = 7 * 24 * time.Hour
)

// timelineWindow is which window of time a request asks for.
type timelineWindow struct {
	engine.Window
	follows bool // it goes with the time
	query   url.Values
}

func (u *UI) timeline(c echo.Context) error {
	ctx := c.Request().Context()
	view := templates.Timeline{Page: u.page(c, templates.SectionTimeline, "Timeline")}
	window := readWindow(c, view.Page.Now, &view.Problem)
	query := service.TimelineQuery{
		Namespace: namespaceOf(ctx), Window: window.Window, Text: strings.TrimSpace(c.QueryParam("q")), Label: knownLabel(strings.TrimSpace(c.QueryParam("label")), &view.Problem),
		Tier: knownTier(c.QueryParam("tier")), Statuses: chosenStatuses(c.QueryParams()["status"], &view.Problem), After: c.QueryParam("after"),
	}
	view.Filter = templates.TimelineFilter{Text: query.Text, Label: c.QueryParam("label"), Tier: string(query.Tier), Tiers: tierNames, Window: window.query}
	for _, status := range engine.Statuses() {
		view.Filter.Statuses = append(view.Filter.Statuses, status.String())
	}
	for _, status := range query.Statuses {
		view.Filter.Chosen = append(view.Filter.Chosen, status.String())
	}
	found, err := u.service.Timeline(ctx, query)
	var known *service.Error
	if errors.As(err, &known) && refused(err) != "" {
		view.Problem = known.Detail
		window = followingWindow(timelineSpan, view.Page.Now)
		query.Window, view.Filter.Window = window.Window, window.query
		found, err = u.service.Timeline(ctx, query)
	}
	if err != nil {
		return err
	}
	fillTimeline(&view, &found, &query, window, zone(c))
	return u.show(c, templates.TimelinePage(view), templates.TimelinePart(view))
}

var tierNames = []string{string(spec.TierLight), string(spec.TierMedium), string(spec.TierHeavy)}

func knownTier(name string) spec.Tier {
	for _, tier := range tierNames {
		if tier == name {
			return spec.Tier(tier)
		}
	}
	return ""
}

// readWindow reads from and until, or a span that goes with the time.
func readWindow(c echo.Context, now time.Time, problem *string) timelineWindow {
	from, fromErr := time.Parse(time.RFC3339, c.QueryParam("from"))
	until, untilErr := time.Parse(time.RFC3339, c.QueryParam("until"))
	if fromErr == nil && untilErr == nil && until.After(from) {
		return fixedWindow(from.UTC(), until.UTC())
	}
	if c.QueryParam("from") != "" || c.QueryParam("until") != "" {
		*problem = "The window of time is invalid and was ignored: write from and until as 2026-11-21T09:30:00Z."
	}
	span, err := time.ParseDuration(c.QueryParam("span"))
	if err != nil || span < shortestZoom || span > longestZoom {
		span = timelineSpan
	}
	return followingWindow(span, now)
}

func fixedWindow(from, until time.Time) timelineWindow {
	return timelineWindow{
		Window: engine.Window{From: from, Until: until},
		query:  url.Values{"from": {from.Format(time.RFC3339)}, "until": {until.Format(time.RFC3339)}},
	}
}

// followingWindow is a window that goes with the time, in steps: bars stand still between.
func followingWindow(span time.Duration, now time.Time) timelineWindow {
	from := now.UTC().Add(span / timelineAhead).Truncate(span / 60).Add(-span)
	return timelineWindow{Window: engine.Window{From: from, Until: from.Add(span)}, follows: true, query: url.Values{"span": {span.String()}}}
}

// timelineAddress makes addresses of other windows of a timeline, with what it is narrowed to.
type timelineAddress struct{ filter templates.TimelineFilter }

func (a timelineAddress) of(window timelineWindow) string {
	query := url.Values{}
	for name, values := range window.query {
		query[name] = values
	}
	for name, value := range map[string]string{"q": a.filter.Text, "label": a.filter.Label, "tier": a.filter.Tier} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for _, status := range a.filter.Chosen {
		query.Add("status", status)
	}
	return templates.TimelinePath + "?" + query.Encode()
}

// around is a window of a length with the same middle.
func around(window timelineWindow, span time.Duration, now time.Time) timelineWindow {
	span = min(max(span, shortestZoom), longestZoom)
	if window.follows {
		return followingWindow(span, now)
	}
	middle := window.From.Add(window.Until.Sub(window.From) / 2)
	from := middle.Add(-span / 2).Truncate(time.Second)
	return fixedWindow(from, from.Add(span))
}

func fillTimeline(view *templates.Timeline, t *service.Timeline, query *service.TimelineQuery, window timelineWindow, zone templates.Zone) {
	address := timelineAddress{view.Filter}
	span := window.Until.Sub(window.From)
	view.Tides = viewTides(&t.Tides, window.Window, zone, func(span engine.Window) string {
		return address.of(around(fixedWindow(span.From, span.Until), 4*span.Until.Sub(span.From), t.Now))
	})
	view.Span, view.Live, view.Follows, view.Reached = zone.Span(window.From, window.Until), window.Until.After(t.Now) && window.From.Before(t.Now), window.follows, t.Reached
	view.Ticks = timelineTicks(window.Window, zone)
	view.Earlier = address.of(fixedWindow(window.From.Add(-span/2), window.Until.Add(-span/2)))
	view.Later = address.of(fixedWindow(window.From.Add(span/2), window.Until.Add(span/2)))
	view.Follow = address.of(followingWindow(min(max(span, shortestZoom), longestZoom), t.Now))
	for _, zoom := range templates.TimelineZooms {
		view.Zooms = append(view.Zooms, templates.Option{Value: address.of(around(window, zoom.Length, t.Now)), Name: zoom.Name})
	}
	if span > shortestZoom {
		view.In = address.of(around(window, span/2, t.Now))
	}
	if span < longestZoom {
		view.Out = address.of(around(window, span*2, t.Now))
	}
	view.Self = address.of(window)
	if query.After != "" {
		view.First, view.Self = view.Self, view.Self+"&after="+url.QueryEscape(query.After)
	}
	if t.Next != "" {
		view.Next = address.of(window) + "&after=" + url.QueryEscape(t.Next)
	}
	draw := laneDrawing{window: window.Window, now: t.Now, zone: zone, address: address}
	draw.spread(t.Lanes)
	runs, slots := 0, 0
	for i := range t.Lanes {
		lane := draw.lane(&t.Lanes[i])
		view.Lanes = append(view.Lanes, lane)
		runs += len(t.Lanes[i].Bars)
		slots += len(t.Lanes[i].Planned)
	}
	view.Counts = timelineCounts(t, runs, slots)
	view.Notes = timelineNotes(t, window, zone, address)
}

func timelineCounts(t *service.Timeline, runs, slots int) string {
	words := templates.Plural(int64(len(t.Lanes)), "job or DAG", "jobs and DAGs")
	if t.All > len(t.Lanes) {
		words += " of " + templates.Plural(int64(t.All), "lane", "lanes")
	}
	words += ", " + templates.Plural(int64(runs), "run or wave", "runs and waves")
	if slots > 0 {
		words += ", " + templates.Plural(int64(slots), "slot", "slots") + " to come"
	}
	return words + "."
}

// timelineNotes say what is left out.
func timelineNotes(t *service.Timeline, window timelineWindow, zone templates.Zone, address timelineAddress) (notes []templates.Crumb) {
	if !t.Reached.IsZero() && t.Reached.Before(window.Until) {
		notes = append(notes, templates.Crumb{
			Name: "There are more runs than are read for one timeline. The newest are shown: those made before " + zone.Words(t.Reached) + " are left out.",
			Href: address.of(fixedWindow(window.From, t.Reached.UTC().Truncate(time.Second).Add(time.Second))),
		})
	}
	if t.MoreChosen {
		notes = append(notes, templates.Crumb{Name: "More jobs and DAGs match than are looked at, " + templates.Plural(service.TimelineLanes, "one", "of each") + ". Narrow them further."})
	}
	if !t.Beyond.IsZero() && t.Beyond.Before(window.Until) {
		notes = append(notes, templates.Crumb{
			Name: "Planned slots are those of the jobs that fire first: from " + zone.Words(t.Beyond) + " on there are more. Narrow the jobs to see all of theirs.",
		})
	}
	return notes
}

// timelineTicks are the lines of the scale, on full hours and days of the zone.
func timelineTicks(window engine.Window, zone templates.Zone) (ticks []templates.TimelineTick) {
	steps := []time.Duration{
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
	}
	step := steps[len(steps)-1]
	for _, one := range steps {
		if window.Until.Sub(window.From)/one <= 9 {
			step = one
			break
		}
	}
	location := zone.Location()
	from := window.From.In(location)
	midnight := func(day int) time.Time {
		return time.Date(from.Year(), from.Month(), from.Day()+day, 0, 0, 0, 0, location)
	}
	for day := 0; midnight(day).Before(window.Until); day++ {
		// By the clock, not by what has elapsed: a day may have 23 hours.
		for clock := time.Duration(0); clock < 24*time.Hour; clock += step {
			at := time.Date(from.Year(), from.Month(), from.Day()+day, 0, 0, int(clock/time.Second), 0, location)
			if at.Before(window.From) || !at.Before(window.Until) || len(ticks) > 0 && !at.After(ticks[len(ticks)-1].At) {
				continue
			}
			tick := templates.TimelineTick{At: at, Words: at.Format("15:04")}
			if at.Hour() == 0 && at.Minute() == 0 {
				tick.Words, tick.Day = at.Format("Mon 2 Jan"), true
			}
			ticks = append(ticks, tick)
		}
	}
	// Narrow screens show every other one, and so that days are among them: their names are the longest.
	shown := max(slices.IndexFunc(ticks, func(t templates.TimelineTick) bool { return t.Day }), 0) % 2
	for i := range ticks {
		ticks[i].Wide = i%2 != shown
	}
	return ticks
}
