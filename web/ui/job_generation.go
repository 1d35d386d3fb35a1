package ui

import (
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
		view.Generations = append(view.Generations, listedGeneration(g.Generation, g.At, g.By, g.Message))
	}
	if from, to, asked := comparedGenerations(c); asked {
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
	job, change, err := u.service.RestoreGeneration(ctx, namespace, c.Param("name"), restoredGeneration(c), service.Actor(ctx), "")
	if err != nil {
		return err
	}
	return done(c, "/jobs/"+job.Name+"/definition", restored(change))
}
