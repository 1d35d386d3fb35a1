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
	view := u.viewJob(c, &job)
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
	for i := range found {
		view.Hindrances = append(view.Hindrances, viewHindrance("/jobs/"+job.Name, &found[i]))
	}
	statistics, err := u.service.Statistics(ctx, namespaceOf(ctx), job.Name)
	if err != nil {
		return err
	}
	view.Strip = viewMarks(statistics.Marks, stripShown)
	if view.RateOf = statistics.Ended; view.RateOf > 0 {
		view.Rate = rate(statistics.Succeeded, statistics.Ended)
	}
	view.Duration, view.Lag = durationChart(&statistics), lagChart(&statistics)

	runs, _, err := u.service.Runs(ctx, engine.RunFilter{Namespace: namespaceOf(ctx), JobUID: job.UID, Limit: runsShown})
	if err != nil {
		return fmt.Errorf("list runs of job %s: %w", job.Name, err)
	}
	view.Runs = u.viewLiving(ctx, runs)
	return u.show(c, templates.JobPage(view), templates.JobPart(view))
}

func (u *UI) viewJob(c echo.Context, job *engine.Job) templates.Job {
	page, head := u.jobPages().page(c, job, templates.TabNow)
	view := templates.Job{
		Page: page, Head: head, Binary: job.Spec.Binary, BinaryName: binaryName(job.Spec.Binary), Facts: jobFacts(&job.Spec),
		Created: job.CreatedAt, CreatedBy: job.CreatedBy, Updated: job.UpdatedAt, UpdatedBy: job.UpdatedBy, Generation: job.Generation,
		Live: "/jobs/" + job.Name,
	}
	view.RunsOn = labelList(job.Spec.RunsOn)
	view.Labels = labelList(job.Spec.Labels)
	return view
}

// viewHindrance says where the cure of a hindrance is; address is the job's, or the DAG's.
func viewHindrance(address string, h *service.Hindrance) templates.Hindrance {
	view := templates.Hindrance{Words: readable([]byte(h.Words)), Stops: h.Stops, Since: h.Since, At: h.At}
	switch h.Code {
	case "binary_not_found":
		view.Href, view.Cure = "/binaries/upload", "Upload it"
	case "no_executor", "queue_unreachable", "executors_busy":
		view.Href, view.Cure = "/executors", "See the executors"
	case "never_again", "excluded", "active_time_over", "not_active_yet", "invalid_schedule", "interpreter_needed", "unsupported":
		view.Href, view.Cure = address+"/edit", "Edit the definition"
	case "last_skipped", "last_missed":
		view.Href, view.Cure = address+"/slots", "See its slots"
	}
	return view
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
		return fmt.Sprintf("%s, of the %s before", catchUp.Policy, catchUp.Window)
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
