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
	job, err := u.service.Jobs.Get(ctx, namespaceOf(ctx), c.Param("name"))
	if err != nil {
		return err
	}
	text, err := spec.Text(&job.Spec, job.Source)
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
	revision := revisionOf(c)
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
	job, change, err := u.service.Jobs.Save(ctx, namespaceOf(ctx), definition, service.Save{
		By: service.Actor(ctx), Message: form.Message, Source: sourceOf(form.Definition), IfRevision: revision,
	})
	if err != nil {
		return u.refuseError(c, form, definition, check, err)
	}
	return done(c, "/jobs/"+job.Name, saved(change))
}

// revisionOf is the one that a form was filled from.
func revisionOf(c echo.Context) int64 {
	// Saving over an edit that came between names the one that it goes over: a third one is told again.
	if over, err := strconv.ParseInt(c.FormValue("over"), 10, 64); err == nil && over > 0 {
		return over
	}
	revision, err := strconv.ParseInt(c.FormValue("revision"), 10, 64)
	if err != nil || revision < 1 {
		return -1 // what is no number is no revision of anything, and conflicts
	}
	return revision
}

// sourceOf is what is kept of the text of a form that holds one definition.
func sourceOf(text string) string {
	documents, problems := spec.Decode("", []byte(text))
	if len(problems) > 0 || len(documents) != 1 {
		return ""
	}
	return documents[0].Source
}
