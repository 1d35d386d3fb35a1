package ui

import (
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// backfillListed is how many slots of a plan are listed.
const backfillListed = 200

// clockForms are how browsers write what a field of kind datetime-local holds.
var clockForms = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05.000"}

// jobBackfillPlan says which slots of a range would run, and asks for the range where none is given.
func (u *UI) jobBackfillPlan(c echo.Context) error {
	return u.backfill(c, c.QueryParam("from"), c.QueryParam("to"), true)
}

func (u *UI) jobBackfill(c echo.Context) error {
	return u.backfill(c, c.FormValue("from"), c.FormValue("to"), false)
}

func (u *UI) backfill(c echo.Context, from, to string, dryRun bool) error {
	ctx := c.Request().Context()
	job, err := u.job(ctx, c)
	if err != nil {
		return err
	}
	zone := zoneOf(&job)
	view := templates.Backfill{From: from, To: to, Zone: zone.String()}
	view.Page, view.Head = u.jobPage(c, &job, templates.JobBackfill)
	if from == "" && to == "" && dryRun {
		now := view.Page.Now.In(zone)
		view.From, view.To = now.Add(-24*time.Hour).Format(clockForms[1]), now.Format(clockForms[1])
		return u.render(c, http.StatusOK, templates.BackfillPage(view))
	}
	begin, ok := readClock(from, zone)
	end, okEnd := readClock(to, zone)
	if !ok || !okEnd {
		view.Problem = "Give both ends of the range, as in 2026-12-01T03:00."
		return u.render(c, http.StatusUnprocessableEntity, templates.BackfillPage(view))
	}
	plan, err := u.service.BackfillJob(ctx, namespaceOf(ctx), job.Name, begin, end, service.Actor(ctx), dryRun)
	var known *service.Error
	switch {
	case errors.As(err, &known) && (known.Kind == service.KindInvalid || known.Kind == service.KindConflict):
		view.Problem = known.Detail
		return u.render(c, http.StatusUnprocessableEntity, templates.BackfillPage(view))
	case err != nil:
		return err
	case !dryRun && plan.New > 0:
		return done(c, "/jobs/"+job.Name, "backfilled")
	}
	view.Planned, view.New, view.More = true, plan.New, max(len(plan.Slots)-backfillListed, 0)
	for _, slot := range plan.Slots[:len(plan.Slots)-view.More] {
		row := templates.BackfillSlot{At: slot.Slot, Local: slot.Slot.In(zone).Format("Mon 2006-01-02 15:04:05"), Run: slot.Run}
		if slot.Run != "" {
			row.Status = slot.Status.String()
		}
		view.Slots = append(view.Slots, row)
	}
	return u.render(c, http.StatusOK, templates.BackfillPage(view))
}

func readClock(text string, zone *time.Location) (time.Time, bool) {
	for _, form := range clockForms {
		if at, err := time.ParseInLocation(form, text, zone); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// zoneOf is the zone of a job's schedule, UTC where it has none.
func zoneOf(job *engine.Job) *time.Location {
	schedule, err := cron.Compile(job.Spec.Definition(job.Key(), job.CreatedAt))
	if err != nil {
		return time.UTC
	}
	return schedule.Location()
}
