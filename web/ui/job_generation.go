package ui

import (
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// jobDefinition shows a definition, the forms it has had, and the difference of two of them.
func (u *UI) jobDefinition(c echo.Context) error {
	ctx := c.Request().Context()
	job, err := u.job(ctx, c)
	if err != nil {
		return err
	}
	text, err := spec.Text(&job.Spec, job.Source)
	if err != nil {
		return err
	}
	view := templates.JobText{Definition: string(text), Generation: job.Generation}
	view.Page, view.Head = u.jobPage(c, &job, templates.JobDefinition)
	generations, err := u.service.Generations(ctx, namespace, job.Name)
	if err != nil {
		return err
	}
	for i := range generations {
		g := &generations[i]
		view.Generations = append(view.Generations, templates.Generation{N: g.Generation, At: g.At, By: g.By, Message: readable([]byte(g.Message))})
	}
	from, fromErr := strconv.ParseInt(c.QueryParam("from"), 10, 64)
	to, toErr := strconv.ParseInt(c.QueryParam("to"), 10, 64)
	if fromErr == nil && toErr == nil {
		var forms [2]engine.Generation
		for i, number := range []int64{from, to} {
			if forms[i], err = u.service.Generation(ctx, namespace, job.Name, number); err != nil {
				return err
			}
		}
		view.Compared, view.From, view.To = true, from, to
		if view.Changes, err = changes(&forms[0].Spec, forms[0].Source, &forms[1].Spec, forms[1].Source); err != nil {
			return err
		}
	}
	return u.show(c, templates.JobTextPage(view), templates.JobTextPage(view))
}

// jobRestore gives a job an earlier form again.
func (u *UI) jobRestore(c echo.Context) error {
	ctx := c.Request().Context()
	number, err := strconv.ParseInt(c.FormValue("generation"), 10, 64)
	if err != nil {
		number = 0 // there is none: the service says so
	}
	job, change, err := u.service.RestoreGeneration(ctx, namespace, c.Param("name"), number, service.Actor(ctx), "")
	if err != nil {
		return err
	}
	if change == service.Unchanged {
		return done(c, "/jobs/"+job.Name+"/definition", "unchanged")
	}
	return done(c, "/jobs/"+job.Name+"/definition", "restored")
}
