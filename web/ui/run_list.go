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
)

const runsPerPage = 50

// badStatus stands for all final statuses that may need a user's attention.
const badStatus = "bad"

// spans are what the list of runs can be narrowed to.
var spans = []templates.Option{
	{Value: "1h", Name: "in the last hour"}, {Value: "24h", Name: "in the last 24 hours"},
	{Value: "168h", Name: "in the last 7 days"}, {Value: "720h", Name: "in the last 30 days"},
}

func (u *UI) runList(c echo.Context) error {
	ctx := c.Request().Context()
	view := templates.Runs{Page: u.page(c, templates.SectionRuns, "Runs")}
	filter := u.runFilter(c, &view)
	runs, next, err := u.service.Runs(ctx, filter)
	if errors.Is(err, engine.ErrCursor) {
		view.Problem = "That page of the list no longer exists; this is the first page."
		filter.Cursor = ""
		runs, next, err = u.service.Runs(ctx, filter)
	}
	if err != nil {
		return err
	}
	view.SearchAll = outputsURL(filter.Job, filter.DAG, "")
	view.Rows, view.Pager = u.viewLiving(ctx, runs), pager(c, filter.Cursor, next)
	if next != "" && len(runs) < filter.Limit {
		view.Looked = looked(next, len(runs), zone(c))
	}
	if filter.Cursor == "" {
		view.Live = here(c) // older pages do not change
		if filter.Job != "" {
			if view.WhyNot, err = u.whyNot(ctx, &filter, len(runs) > 0, zone(c)); err != nil {
				return err
			}
		}
	}
	return u.show(c, templates.RunsPage(view), templates.RunsPart(view))
}

// looked says how far a search for rare runs has come: each page looks at a bounded part of the history.
func looked(next string, found int, zone templates.Zone) string {
	words := "These are all so far"
	if found == 0 {
		words = "Nothing so far"
	}
	cursor, _, err := engine.DecodeCursor("runs", next)
	if err != nil || cursor.At.IsZero() {
		return words + ": only a part of the history has been searched."
	}
	return words + ": the history has been searched back to " + zone.Words(cursor.At) + "."
}

// runFilter reads the form. What it does not understand it leaves out, and says so.
func (u *UI) runFilter(c echo.Context, view *templates.Runs) engine.RunFilter {
	form := templates.RunFilter{
		Job: c.QueryParam("job"), DAG: c.QueryParam("dag"), Tier: c.QueryParam("tier"), By: c.QueryParam("by"), Since: c.QueryParam("since"), Text: c.QueryParam("q"),
		From: c.QueryParam("from"), Until: c.QueryParam("until"),
		Tiers: []string{string(spec.TierLight), string(spec.TierMedium), string(spec.TierHeavy)}, Spans: spans,
	}
	filter := engine.RunFilter{
		Namespace: namespaceOf(c.Request().Context()), Job: form.Job, DAG: form.DAG, Tier: spec.Tier(form.Tier), By: form.By, Text: form.Text, Cursor: c.QueryParam("cursor"), Limit: runsPerPage,
	}
	for _, status := range engine.Statuses() {
		form.Statuses = append(form.Statuses, status.String())
	}
	filter.Statuses = chosenStatuses(c.QueryParams()["status"], &view.Problem)
	for _, status := range filter.Statuses {
		form.Chosen = append(form.Chosen, status.String())
	}
	if form.Since != "" {
		span, err := time.ParseDuration(form.Since)
		if err != nil || span <= 0 {
			view.Problem, form.Since = "The period is invalid and was ignored: write it as 90m or 24h.", ""
		} else {
			filter.Since = view.Page.Now.Add(-span)
		}
	}
	for _, end := range []struct {
		given *string
		at    *time.Time
	}{{&form.From, &filter.Since}, {&form.Until, &filter.Until}} {
		if *end.given == "" {
			continue
		}
		at, note, ok := typedTime(c, *end.given)
		if !ok {
			view.Problem, *end.given = "The time is invalid and was ignored: write it as 2026-11-21T09:30.", ""
			continue
		}
		*end.given = zone(c).Input(at) // whatever the zone was that the address names
		if note != "" {
			view.Notes = append(view.Notes, note)
		}
		if at.After(*end.at) {
			*end.at = at
		}
	}
	form.Bad = badRuns(c)
	view.Filter = form
	return filter
}

// chosenStatuses reads statuses that are given one by one or with commas between.
func chosenStatuses(given []string, problem *string) (chosen []engine.Status) {
	for _, name := range strings.FieldsFunc(strings.Join(given, ","), func(r rune) bool { return r == ',' }) {
		if name == badStatus {
			chosen = append(chosen, bad...)
			continue
		}
		status, err := engine.ParseStatus(name)
		if err != nil {
			*problem = "The status is unknown and was ignored."
			continue
		}
		chosen = append(chosen, status)
	}
	slices.Sort(chosen)
	return slices.Compact(chosen)
}

// badRuns leads to what of the list ended badly.
func badRuns(c echo.Context) string {
	query := url.Values{}
	for name, values := range c.QueryParams() {
		if name != "cursor" && name != "status" && strings.Join(values, "") != "" {
			query[name] = values
		}
	}
	for _, status := range bad {
		query.Add("status", status.String())
	}
	return "/runs?" + query.Encode()
}
