package ui

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
)

// jobPage makes the frame of one of a job's pages, and what stands at its head.
func (u *UI) jobPage(c echo.Context, job *engine.Job, tab templates.JobTab) (templates.Page, templates.JobHead) {
	page := u.page(c, templates.SectionJobs, job.Name)
	page.Trail = []templates.Crumb{{Name: "Jobs", Href: "/jobs"}, {Name: job.Name}}
	head := templates.JobHead{
		Name: job.Name, Description: readable([]byte(job.Spec.Description)), Schedule: scheduleWords(job),
		Paused: job.Paused, PausedAt: job.PausedAt, PausedBy: job.PausedBy, PausedReason: readable([]byte(job.PausedReason)), Tab: tab,
		// The same for a page, another for the next: pressing the button twice asks for one run.
		RunKey: "page-" + strconv.FormatInt(page.Now.UnixNano(), 36),
	}
	if job.Spec.Manual() {
		head.Schedule = "by hand only"
	}
	if len(job.Spec.Payload) > 0 {
		if text, err := json.MarshalIndent(job.Spec.Payload, "", "  "); err == nil {
			head.Payload = string(text)
		}
	}
	return page, head
}

// job reads the job that the address names.
func (u *UI) job(ctx context.Context, c echo.Context) (engine.Job, error) {
	return u.service.Job(ctx, namespaceOf(ctx), c.Param("name"))
}

// jobAct shows the page that asks before something is done.
func (u *UI) jobAct(c echo.Context, status int, act, title string, fill func(*templates.JobAct)) error {
	job, err := u.job(c.Request().Context(), c)
	if err != nil {
		return err
	}
	view := templates.JobAct{Act: act}
	view.Page, view.Head = u.jobPage(c, &job, "")
	view.Page.Title = title + " " + job.Name
	view.Page.Trail = []templates.Crumb{{Name: "Jobs", Href: "/jobs"}, {Name: job.Name, Href: "/jobs/" + job.Name}, {Name: title}}
	view.Payload = view.Head.Payload
	if fill != nil {
		fill(&view)
	}
	return u.render(c, status, templates.JobActPage(view))
}
