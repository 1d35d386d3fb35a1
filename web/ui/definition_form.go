package ui

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// newForm shows the form with a copy of another definition, or with the least that there can be.
func (p *definitionPages[S]) newForm(c echo.Context) error {
	ctx := c.Request().Context()
	form := templates.DefinitionForm{Page: p.UI.page(c, "", ""), Kind: p.kind, From: c.QueryParam("from")}
	if err := p.choices(ctx, &form); err != nil {
		return err
	}
	text, leave, err := p.firstText(ctx, form.From, c.QueryParam("binary"), form.Binaries)
	if err != nil {
		return err
	}
	defer leave()
	form.Definition = text
	if _, form.Check, err = p.check(ctx, "", text); err != nil {
		return err
	}
	return p.render(c, http.StatusOK, templates.DefinitionFormPage(form))
}

// firstText is what a new definition begins with. The caller calls leave once it has dealt with it.
func (p *definitionPages[S]) firstText(ctx context.Context, from, binary string, names []string) (text string, leave func(), err error) {
	if from == "" {
		name := "hello"
		if len(names) > 0 {
			name = names[0]
		}
		if reference, err := spec.ParseBinary(binary); err == nil && reference.Name != "" {
			name = reference.Name
		} else {
			binary = name
		}
		return strings.NewReplacer("NAME", name, "BINARY", binary).Replace(p.least), func() {}, nil
	}
	definition, err := p.service.Get(ctx, namespaceOf(ctx), from)
	if err != nil {
		return "", nil, err
	}
	if leave, err = p.large.wait(ctx, p.isLarge(&definition.Spec)); err != nil {
		return "", nil, err
	}
	copied := definition.Clone()
	const suffix = "-copy"
	*p.nameOf(&copied.Spec) = from[:min(len(from), spec.MaxNameLength-len(suffix))] + suffix
	if text, err = p.service.Text(&copied.Spec, ""); err != nil {
		leave()
		return "", nil, err
	}
	return text, leave, nil
}

// editForm shows the form with what is saved, or with the earlier generation that is to come back.
func (p *definitionPages[S]) editForm(c echo.Context) error {
	ctx := c.Request().Context()
	saved, err := p.read(c)
	if err != nil {
		return err
	}
	form := templates.DefinitionForm{Page: p.UI.page(c, "", ""), Kind: p.kind, Name: saved.Name, Revision: saved.Revision}
	shown := saved.Present()
	if number, err := strconv.ParseInt(c.QueryParam("generation"), 10, 64); err == nil && number != saved.Generation {
		if shown, err = p.service.Generation(ctx, namespaceOf(ctx), saved.Name, number); err != nil {
			return err
		}
		form.Generation, form.Message = number, "restored generation "+strconv.FormatInt(number, 10)
	}
	leave, err := p.large.wait(ctx, p.isLarge(&shown.Spec))
	if err != nil {
		return err
	}
	defer leave()
	if form.Definition, err = p.service.Text(&shown.Spec, shown.Source); err != nil {
		return err
	}
	if form.Generation > 0 {
		_, form.Check, err = p.check(ctx, saved.Name, form.Definition)
	} else {
		_, form.Check, err = p.readText(ctx, &saved, form.Definition)
	}
	if err != nil {
		return err
	}
	if err := p.choices(ctx, &form); err != nil {
		return err
	}
	return p.render(c, http.StatusOK, templates.DefinitionFormPage(form))
}

// save saves what was written, of the definition that the address names, or of a new one.
func (p *definitionPages[S]) save(c echo.Context) error {
	ctx := c.Request().Context()
	form := templates.DefinitionForm{
		Page: p.UI.page(c, "", ""), Kind: p.kind, Name: c.Param("name"), Definition: definitionOf(c), Message: c.FormValue("message"),
	}
	how := service.Save{By: service.Actor(ctx), Message: form.Message, Create: form.Name == ""}
	if form.Name != "" {
		form.Revision = revisionOf(c)
		how.IfRevision = form.Revision
	}
	leave, err := p.large.wait(ctx, len(form.Definition) > largeText)
	if err != nil {
		return err
	}
	defer leave()
	document, check, err := p.check(ctx, form.Name, form.Definition)
	if err != nil {
		return err
	}
	form.Check = check
	if document == nil {
		return p.refuse(c, http.StatusUnprocessableEntity, form)
	}
	how.Source = document.Source
	definition, change, err := p.service.Save(ctx, namespaceOf(ctx), p.of(document), how)
	if err != nil {
		return p.refuseError(c, form, document, err)
	}
	return saved(c, p.kind.Address("/"+definition.Name), change)
}

// revisionOf is the one that a form was filled from.
func revisionOf(c echo.Context) int64 {
	// A save that overwrites another user's edit names the revision it overwrites: a third edit is refused again.
	if over, err := strconv.ParseInt(c.FormValue("over"), 10, 64); err == nil && over > 0 {
		return over
	}
	revision, err := strconv.ParseInt(c.FormValue("revision"), 10, 64)
	if err != nil || revision < 1 {
		return -1 // what is no number is no revision of anything, and conflicts
	}
	return revision
}

// saved leads to the page of the definition. The script of the form, which stays on the page, gets the address instead.
func saved(c echo.Context, path string, change service.Change) error {
	notice := "saved"
	if change == service.Created || change == service.Unchanged {
		notice = string(change)
	}
	if !refreshes(c) {
		return done(c, path, notice)
	}
	c.Response().Header().Set("HX-Redirect", noticed(path, notice))
	return c.NoContent(http.StatusNoContent)
}

// refuse shows the form again, with what is wrong.
func (p *definitionPages[S]) refuse(c echo.Context, status int, form templates.DefinitionForm) error {
	if err := p.choices(c.Request().Context(), &form); err != nil {
		return err
	}
	return p.render(c, status, templates.DefinitionFormPage(form))
}

// refuseError shows the form again if the user can do something about the error.
func (p *definitionPages[S]) refuseError(c echo.Context, form templates.DefinitionForm, document *spec.Document, err error) error {
	known, refused := errors.AsType[*service.Error](err)
	switch {
	case !refused:
		return err
	case known.Kind == service.KindInvalid:
		form.Check.Problems = problemsOf(known, form.Definition)
		return p.refuse(c, http.StatusUnprocessableEntity, form)
	case known.Kind == service.KindConflict && form.Name != "":
		if form.Conflict, err = p.conflict(c.Request().Context(), form.Name, document); err != nil {
			return err
		}
		return p.refuse(c, http.StatusConflict, form)
	case known.Kind == service.KindForbidden: // by a quota
		form.Check.Refused = known.Detail
		return p.refuse(c, http.StatusForbidden, form)
	case known.Kind == service.KindExists, known.Kind == service.KindConflict:
		form.Check.Refused = known.Detail
		return p.refuse(c, http.StatusConflict, form)
	default:
		return err
	}
}

// conflict describes the edit that came between: by whom, and what mine would change of it.
func (p *definitionPages[S]) conflict(ctx context.Context, name string, mine *spec.Document) (*templates.Conflict, error) {
	theirs, err := p.service.Get(ctx, namespaceOf(ctx), name)
	if err != nil {
		return nil, err
	}
	lines, err := changes(p.service, &theirs.Spec, theirs.Source, p.of(mine), mine.Source)
	if err != nil {
		return nil, err
	}
	return &templates.Conflict{By: theirs.UpdatedBy, At: theirs.UpdatedAt, Message: theirs.Message, Revision: theirs.Revision, Changes: lines}, nil
}

// choices are what the fields of a form offer.
func (u *UI) choices(ctx context.Context, form *templates.DefinitionForm) (err error) {
	if form.Binaries, err = u.binaryNames(ctx); err != nil {
		return err
	}
	return u.alertChoices(ctx, form)
}

// binaryNames are the programs to choose from, the first few by name.
func (u *UI) binaryNames(ctx context.Context) ([]string, error) {
	binaries, _, err := u.service.Binaries(ctx, namespaceOf(ctx), "", 200)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(binaries))
	for i := range binaries {
		names[i] = binaries[i].Name
	}
	return names, nil
}
