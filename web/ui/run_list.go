package ui

import (
	"errors"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
)

const runsPerPage = 50

// badStatus stands for all endings that somebody may have to look at.
const badStatus = "bad"

// spans are what the list of runs can be narrowed to.
var spans = []templates.Option{
	{Value: "1h", Name: "in the last hour"}, {Value: "24h", Name: "in the last 24 hours"},
	{Value: "168h", Name: "in the last 7 days"}, {Value: "720h", Name: "in the last 30 days"},
}

func (u *UI) runList(c echo.Context) error {
	view := templates.Runs{Page: u.page(c, templates.SectionRuns, "Runs")}
	filter := u.runFilter(c, &view)
	runs, next, err := u.service.Runs(c.Request().Context(), filter)
	if errors.Is(err, engine.ErrCursor) {
		view.Problem = "This page of the list cannot be found any more: here is the first."
		filter.Cursor = ""
		runs, next, err = u.service.Runs(c.Request().Context(), filter)
	}
	if err != nil {
		return err
	}
	view.Rows, view.Pager = viewRuns(runs), pager(c, filter.Cursor, next)
	if filter.Cursor == "" {
		view.Live = here(c) // older pages do not change
	}
	return u.show(c, templates.RunsPage(view), templates.RunsPart(view))
}

// runFilter reads the form. What it does not understand it leaves out, and says so.
func (u *UI) runFilter(c echo.Context, view *templates.Runs) engine.RunFilter {
	form := templates.RunFilter{
		Job: c.QueryParam("job"), Status: c.QueryParam("status"), Tier: c.QueryParam("tier"), Since: c.QueryParam("since"),
		Text: c.QueryParam("q"), Tiers: []string{string(spec.TierLight), string(spec.TierMedium), string(spec.TierHeavy)}, Spans: spans,
	}
	filter := engine.RunFilter{
		Namespace: namespace, Job: form.Job, Tier: spec.Tier(form.Tier), Text: form.Text, Cursor: c.QueryParam("cursor"), Limit: runsPerPage,
	}
	form.Statuses = append(form.Statuses, badStatus)
	for _, status := range engine.Statuses() {
		form.Statuses = append(form.Statuses, status.String())
	}
	switch status, err := engine.ParseStatus(form.Status); {
	case form.Status == "":
	case form.Status == badStatus:
		filter.Statuses = bad
	case err != nil:
		view.Problem, form.Status = "This status is not known, and was left out.", ""
	default:
		filter.Statuses = []engine.Status{status}
	}
	if form.Since != "" {
		span, err := time.ParseDuration(form.Since)
		if err != nil || span <= 0 {
			view.Problem, form.Since = "This span of time is not understood, and was left out: write it as 90m or 24h.", ""
		} else {
			filter.Since = view.Page.Now.Add(-span)
		}
	}
	view.Filter = form
	return filter
}
