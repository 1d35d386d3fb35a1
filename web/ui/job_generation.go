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
	view := templates.JobText{
		Definition:  string(text),
		Generations: templates.Generations{Of: job.Name, Path: "/jobs/" + job.Name, Note: "the forms it has had, the newest first", Present: job.Generation},
	}
	view.Page, view.Head = u.jobPage(c, &job, templates.JobDefinition)
	cursor := c.QueryParam("cursor")
	generations, next, err := u.service.GenerationsPage(ctx, namespaceOf(ctx), job.Name, cursor, generationsListed)
	if err != nil {
		return err
	}
	list := &view.Generations
	list.Pager = pager(c, cursor, next)
	for i := range generations {
		g := &generations[i]
		list.Forms = append(list.Forms, listedGeneration(g.Generation, g.At, g.By, g.Message))
	}
	if from, to, asked := comparedGenerations(c); asked {
		var forms [2]engine.Generation
		for i, number := range []int64{from, to} {
			if forms[i], err = u.service.Generation(ctx, namespaceOf(ctx), job.Name, number); err != nil {
				return err
			}
		}
		list.Compared, list.From, list.To = true, from, to
		if list.Changes, err = changes(&forms[0].Spec, forms[0].Source, &forms[1].Spec, forms[1].Source); err != nil {
			return err
		}
	}
	return u.show(c, templates.JobTextPage(view), templates.JobTextPage(view))
}

// jobRestore gives a job an earlier form again.
func (u *UI) jobRestore(c echo.Context) error {
	ctx := c.Request().Context()
	job, change, err := u.service.RestoreGeneration(ctx, namespaceOf(ctx), c.Param("name"), restoredGeneration(c), service.Actor(ctx), "")
	if err != nil {
		return err
	}
	return done(c, "/jobs/"+job.Name+"/definition", restored(change))
}
