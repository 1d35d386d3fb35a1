package ui

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) jobEdit(c echo.Context) error {
	ctx := c.Request().Context()
	job, err := u.service.Job(ctx, namespace, c.Param("name"))
	if err != nil {
		return err
	}
	text, err := spec.Encode(&job.Spec)
	if err != nil {
		return err
	}
	_, check, err := u.check(ctx, job.Name, string(text))
	if err != nil {
		return err
	}
	names, err := u.binaryNames(ctx)
	if err != nil {
		return err
	}
	return u.render(c, http.StatusOK, templates.JobFormPage(templates.JobForm{
		Page: u.page(c, templates.SectionJobs, "Edit "+job.Name), Name: job.Name,
		Definition: string(text), Revision: job.Revision, Check: check, Binaries: names,
	}))
}

func (u *UI) jobSave(c echo.Context) error {
	ctx := c.Request().Context()
	name := c.Param("name")
	// What is no number is no revision of anything, and conflicts.
	revision, err := strconv.ParseInt(c.FormValue("revision"), 10, 64)
	if err != nil || revision < 1 {
		revision = -1
	}
	form := templates.JobForm{
		Page: u.page(c, templates.SectionJobs, "Edit "+name), Name: name,
		Definition: definitionOf(c), Message: c.FormValue("message"), Revision: revision,
	}
	definition, check, err := u.check(ctx, name, form.Definition)
	if err != nil {
		return err
	}
	if definition == nil {
		return u.refuse(c, http.StatusUnprocessableEntity, form, check)
	}
	job, change, err := u.service.SaveJob(ctx, namespace, definition, service.Save{By: service.Actor(ctx), Message: form.Message, IfRevision: revision})
	if err != nil {
		return u.refuseError(c, form, check, err)
	}
	return done(c, "/jobs/"+job.Name, saved(change))
}
