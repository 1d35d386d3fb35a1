package ui

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) dagNew(c echo.Context) error {
	ctx := c.Request().Context()
	names, err := u.binaryNames(ctx)
	if err != nil {
		return err
	}
	from := c.QueryParam("from")
	text, leave, err := u.firstDAG(ctx, from, names)
	if err != nil {
		return err
	}
	defer leave()
	_, check, err := u.checkDAG(ctx, "", text)
	if err != nil {
		return err
	}
	return u.render(c, http.StatusOK, templates.DAGFormPage(templates.DAGForm{
		Page: u.page(c, templates.SectionDAGs, "New DAG"), From: from, Definition: text, Check: check, Binaries: names,
	}))
}

// firstDAG is what a new DAG begins with: a copy of another one, or the least that there can be. The caller calls leave
// once it has dealt with the text.
func (u *UI) firstDAG(ctx context.Context, from string, names []string) (text string, leave func(), err error) {
	if from == "" {
		binary := "hello"
		if len(names) > 0 {
			binary = names[0]
		}
		return "kind: DAG\nname: my-dag\nschedule: \"0 3 * * *\"   # every night\n\ntasks:\n  first: {binary: " + binary + "}\n", func() {}, nil
	}
	dag, err := u.service.DAGs.Get(ctx, namespaceOf(ctx), from)
	if err != nil {
		return "", nil, err
	}
	if leave, err = u.large.wait(ctx, isLarge(&dag.Spec)); err != nil {
		return "", nil, err
	}
	copied := dag.Spec.Clone()
	const suffix = "-copy"
	copied.Name = dag.Name[:min(len(dag.Name), spec.MaxNameLength-len(suffix))] + suffix
	encoded, err := spec.EncodeDAG(copied)
	if err != nil {
		leave()
		return "", nil, err
	}
	return string(encoded), leave, nil
}

func (u *UI) dagCreate(c echo.Context) error {
	ctx := c.Request().Context()
	form := templates.DAGForm{Page: u.page(c, templates.SectionDAGs, "New DAG"), Definition: definitionOf(c), Message: c.FormValue("message")}
	leave, err := u.large.wait(ctx, len(form.Definition) > largeText)
	if err != nil {
		return err
	}
	defer leave()
	document, check, err := u.checkDAG(ctx, "", form.Definition)
	if err != nil {
		return err
	}
	if document == nil {
		return u.refuseDAG(c, http.StatusUnprocessableEntity, form, check)
	}
	dag, change, err := u.service.DAGs.Save(ctx, namespaceOf(ctx), document.DAG, service.Save{By: service.Actor(ctx), Message: form.Message, Source: document.Source, Create: true})
	if err != nil {
		return u.refuseDAGError(c, form, document, check, err)
	}
	return done(c, "/dags/"+dag.Name, saved(change))
}

// refuseDAG shows the form again, with what is wrong.
func (u *UI) refuseDAG(c echo.Context, status int, form templates.DAGForm, check templates.DAGCheck) error {
	names, err := u.binaryNames(c.Request().Context())
	if err != nil {
		return err
	}
	form.Check, form.Binaries = check, names
	return u.render(c, status, templates.DAGFormPage(form))
}

// refuseDAGError shows the form again if the user can do something about the error.
func (u *UI) refuseDAGError(c echo.Context, form templates.DAGForm, document *spec.Document, check templates.DAGCheck, err error) error {
	known, refused := errors.AsType[*service.Error](err)
	switch {
	case !refused:
		return err
	case known.Kind == service.KindInvalid:
		check.Problems = dagProblemsOf(known, form.Definition)
		return u.refuseDAG(c, http.StatusUnprocessableEntity, form, check)
	case known.Kind == service.KindConflict && form.Name != "":
		if form.Conflict, err = u.dagConflict(c.Request().Context(), form.Name, document.DAG, document.Source); err != nil {
			return err
		}
		return u.refuseDAG(c, http.StatusConflict, form, check)
	case known.Kind == service.KindExists, known.Kind == service.KindConflict:
		check.Refused = known.Detail
		return u.refuseDAG(c, http.StatusConflict, form, check)
	default:
		return err
	}
}

// dagConflict tells of the edit that came between: by whom, and what mine would change of it.
func (u *UI) dagConflict(ctx context.Context, name string, mine *spec.DAG, source string) (*templates.Conflict, error) {
	theirs, err := u.service.DAGs.Get(ctx, namespaceOf(ctx), name)
	if err != nil {
		return nil, err
	}
	lines, err := changes(u.service.DAGs, &theirs.Spec, theirs.Source, mine, source)
	if err != nil {
		return nil, err
	}
	return &templates.Conflict{By: theirs.UpdatedBy, At: theirs.UpdatedAt, Message: theirs.Message, Revision: theirs.Revision, Changes: lines}, nil
}
