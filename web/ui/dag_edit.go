package ui

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// dagEdit shows the form with what is saved, or with the earlier generation that is to come back.
func (u *UI) dagEdit(c echo.Context) error {
	ctx := c.Request().Context()
	dag, err := u.service.DAGs.Get(ctx, namespaceOf(ctx), c.Param("name"))
	if err != nil {
		return err
	}
	form := templates.DAGForm{Page: u.page(c, templates.SectionDAGs, "Edit "+dag.Name), Name: dag.Name, Revision: dag.Revision}
	definition, source := &dag.Spec, dag.Source
	if number, err := strconv.ParseInt(c.QueryParam("generation"), 10, 64); err == nil && number != dag.Generation {
		earlier, err := u.service.DAGs.Generation(ctx, namespaceOf(ctx), dag.Name, number)
		if err != nil {
			return err
		}
		definition, source = &earlier.Spec, earlier.Source
		form.Generation, form.Message = number, "restored generation "+strconv.FormatInt(number, 10)
	}
	leave, err := u.large.wait(ctx, isLarge(definition))
	if err != nil {
		return err
	}
	defer leave()
	text, err := spec.TextDAG(definition, source)
	if err != nil {
		return err
	}
	form.Definition = string(text)
	if form.Generation > 0 {
		_, form.Check, err = u.checkDAG(ctx, dag.Name, form.Definition)
	} else {
		_, form.Check, err = u.readDAG(ctx, &dag, form.Definition)
	}
	if err != nil {
		return err
	}
	if form.Binaries, err = u.binaryNames(ctx); err != nil {
		return err
	}
	return u.render(c, http.StatusOK, templates.DAGFormPage(form))
}

func (u *UI) dagSave(c echo.Context) error {
	ctx := c.Request().Context()
	name := c.Param("name")
	form := templates.DAGForm{
		Page: u.page(c, templates.SectionDAGs, "Edit "+name), Name: name,
		Definition: definitionOf(c), Message: c.FormValue("message"), Revision: revisionOf(c),
	}
	leave, err := u.large.wait(ctx, len(form.Definition) > largeText)
	if err != nil {
		return err
	}
	defer leave()
	document, check, err := u.checkDAG(ctx, name, form.Definition)
	if err != nil {
		return err
	}
	if document == nil {
		return u.refuseDAG(c, http.StatusUnprocessableEntity, form, check)
	}
	dag, change, err := u.service.DAGs.Save(ctx, namespaceOf(ctx), document.DAG, service.Save{By: service.Actor(ctx), Message: form.Message, Source: document.Source, IfRevision: form.Revision})
	if err != nil {
		return u.refuseDAGError(c, form, document, check, err)
	}
	return done(c, "/dags/"+dag.Name, saved(change))
}
