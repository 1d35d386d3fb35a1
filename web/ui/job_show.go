package ui

import (
	"fmt"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	slotsShown = 10
	runsShown  = 10
	stripShown = 60
)

func (u *UI) jobShow(c echo.Context) error {
	ctx := c.Request().Context()
	job, err := u.jobPages().read(c)
	if err != nil {
		return err
	}
	view := templates.Job{
		Shown: u.jobPages().shown(c, &job), Binary: job.Spec.Binary, BinaryName: binaryName(job.Spec.Binary), RunsOn: labelList(job.Spec.RunsOn),
	}
	view.Facts, view.Labels = jobFacts(&job.Spec), labelList(job.Spec.Labels)
	forecasts, _, err := u.service.Jobs.Forecast(&job, time.Time{}, 1, slotsShown)
	if err != nil {
		return err
	}
	for _, schedule := range viewForecasts(forecasts) {
		view.Next = schedule
	}
	found, err := u.service.Hindrances(ctx, &job)
	if err != nil {
		return err
	}
	view.Hindrances = viewHindrances(&view.Head, found)
	if view.Alerts, err = u.shownAlerts(ctx, job.Name, job.Spec.Alerts); err != nil {
		return err
	}
	if view.Triggers, err = u.shownTriggers(c, job.Name, false); err != nil {
		return err
	}
	statistics, err := u.service.Statistics(ctx, namespaceOf(ctx), job.Name)
	if err != nil {
		return err
	}
	view.Strip = viewMarks(statistics.Marks, stripShown)
	view.Rate, view.RateOf = rate(statistics.Succeeded, statistics.Ended), statistics.Ended
	view.Duration, view.Lag = durationChart(&statistics, zone(c)), lagChart(&statistics, zone(c))

	runs, _, err := u.service.Runs(ctx, engine.RunFilter{Namespace: namespaceOf(ctx), JobUID: job.UID, Limit: runsShown})
	if err != nil {
		return fmt.Errorf("list runs of job %s: %w", job.Name, err)
	}
	view.Runs = u.viewLiving(ctx, runs)
	return u.show(c, templates.JobPage(view), templates.JobPart(view))
}

// shown is what the pages of a job and of a DAG begin with.
func (p *definitionPages[S]) shown(c echo.Context, d *engine.Definition[S]) (view templates.Shown) {
	view.Page, view.Head = p.page(c, d, templates.TabNow)
	view.Created, view.CreatedBy, view.Updated, view.UpdatedBy = d.CreatedAt, d.CreatedBy, d.UpdatedAt, d.UpdatedBy
	view.Generation, view.Live = d.Generation, view.Head.Path("")
	return view
}

// viewHindrances says where the cure of each is.
func viewHindrances(of *templates.Head, hindrances []service.Hindrance) []templates.Hindrance {
	views := make([]templates.Hindrance, len(hindrances))
	for i, h := range hindrances {
		views[i] = templates.Hindrance{Words: readable([]byte(h.Words)), Stops: h.Stops, Since: h.Since, At: h.At}
		views[i].Href, views[i].Cure = cureOf(of, h.Code)
	}
	return views
}

func cureOf(of *templates.Head, code string) (href, words string) {
	switch code {
	case "binary_not_found":
		return "/binaries/upload", "Upload it"
	case "no_executor", "queue_unreachable", "executors_busy":
		return "/executors", "See the executors"
	case "never_again", "excluded", "active_time_over", "not_active_yet", "invalid_schedule", "interpreter_needed", "unsupported":
		return of.Path("/edit"), "Edit the definition"
	case "target_not_found", "alerts_undelivered", "alerts_of_nothing":
		return templates.NotificationsPath + "#targets", "See the targets"
	case "last_skipped", "last_missed":
		return of.Path("/slots"), "See its slots"
	}
	return "", ""
}

// jobFacts are what of a definition is asked about most; the definition itself says the rest.
func jobFacts(job *spec.Job) []templates.Fact {
	facts := []templates.Fact{
		{Name: "Tier", Value: string(job.Tier) + ", " + string(job.Class)},
		{Name: "Timeout", Value: job.Timeout.String()},
		{Name: "Attempts", Value: attemptsWords(job.Retry)},
	}
	if !job.Manual() {
		facts = append(facts,
			templates.Fact{Name: "Overlap", Value: string(job.Overlap)},
			templates.Fact{Name: "Catch-up", Value: catchUpWords(job.CatchUp)})
	}
	return facts
}

func attemptsWords(retry spec.Retry) string {
	if retry.MaxAttempts <= 1 {
		return "1: a failed run is not tried again"
	}
	return fmt.Sprintf("up to %d, waiting at most %s to %s", retry.MaxAttempts, retry.Delay, retry.MaxDelay)
}

func catchUpWords(catchUp spec.CatchUp) string {
	if catchUp.Policy == spec.CatchUpNone {
		return "none"
	}
	if catchUp.Window > 0 {
		return fmt.Sprintf("%s, within %s", catchUp.Policy, catchUp.Window)
	}
	return string(catchUp.Policy)
}

func viewSlot(slot cron.Slot) templates.Slot {
	view := templates.Slot{At: slot.Slot, Note: slot.Note}
	if slot.Local.Location() != time.UTC && slot.Local.Location().String() != "UTC" {
		view.Local = slot.Local.Format("Mon 2006-01-02 15:04:05")
	}
	return view
}
