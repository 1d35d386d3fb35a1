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

func (u *UI) jobNew(c echo.Context) error {
	ctx := c.Request().Context()
	names, err := u.binaryNames(ctx)
	if err != nil {
		return err
	}
	from := c.QueryParam("from")
	text, err := u.firstDefinition(ctx, from, c.QueryParam("binary"), names)
	if err != nil {
		return err
	}
	_, check, err := u.check(ctx, "", text)
	if err != nil {
		return err
	}
	return u.render(c, http.StatusOK, templates.JobFormPage(templates.JobForm{
		Page: u.page(c, templates.SectionJobs, "New job"), From: from, Definition: text, Check: check, Binaries: names,
	}))
}

// firstDefinition is what a new job begins with: a copy of another one, or the least that there can be.
func (u *UI) firstDefinition(ctx context.Context, from, binary string, names []string) (string, error) {
	if from == "" {
		if spec.ValidName("binary", binary) != nil {
			binary = "hello"
			if len(names) > 0 {
				binary = names[0]
			}
		}
		return "kind: Job\nname: " + binary + "-job\nbinary: " + binary + "\nschedule: \"*/5 * * * *\"   # every five minutes\ntimeout: 1m\n", nil
	}
	job, err := u.service.Jobs.Get(ctx, namespaceOf(ctx), from)
	if err != nil {
		return "", err
	}
	copied := job.Spec.Clone()
	const suffix = "-copy"
	copied.Name = job.Name[:min(len(job.Name), spec.MaxNameLength-len(suffix))] + suffix
	text, err := spec.Encode(copied)
	return string(text), err
}

func (u *UI) jobCreate(c echo.Context) error {
	ctx := c.Request().Context()
	form := templates.JobForm{Page: u.page(c, templates.SectionJobs, "New job"), Definition: definitionOf(c), Message: c.FormValue("message")}
	definition, check, err := u.check(ctx, "", form.Definition)
	if err != nil {
		return err
	}
	if definition == nil {
		return u.refuse(c, http.StatusUnprocessableEntity, form, check)
	}
	job, change, err := u.service.Jobs.Save(ctx, namespaceOf(ctx), definition, service.Save{By: service.Actor(ctx), Message: form.Message, Source: sourceOf(form.Definition), Create: true})
	if err != nil {
		return u.refuseError(c, form, definition, check, err)
	}
	return done(c, "/jobs/"+job.Name, saved(change))
}

func saved(change service.Change) string {
	switch change {
	case service.Created:
		return "created"
	case service.Unchanged:
		return "unchanged"
	default:
		return "saved"
	}
}

// refuse shows the form again, with what is wrong.
func (u *UI) refuse(c echo.Context, status int, form templates.JobForm, check templates.Check) error {
	names, err := u.binaryNames(c.Request().Context())
	if err != nil {
		return err
	}
	form.Check, form.Binaries = check, names
	return u.render(c, status, templates.JobFormPage(form))
}

// refuseError shows the form again if the user can do something about the error.
func (u *UI) refuseError(c echo.Context, form templates.JobForm, definition *spec.Job, check templates.Check, err error) error {
	var known *service.Error
	switch {
	case !errors.As(err, &known):
		return err
	case known.Kind == service.KindInvalid:
		check.Problems = problemsOf(known, form.Definition)
		return u.refuse(c, http.StatusUnprocessableEntity, form, check)
	case known.Kind == service.KindConflict && form.Name != "" && definition != nil:
		if form.Conflict, err = u.conflict(c.Request().Context(), form.Name, definition, sourceOf(form.Definition)); err != nil {
			return err
		}
		return u.refuse(c, http.StatusConflict, form, check)
	case known.Kind == service.KindExists, known.Kind == service.KindConflict:
		check.Refused = known.Detail
		return u.refuse(c, http.StatusConflict, form, check)
	default:
		return err
	}
}

// conflict tells of the edit that came between: by whom, and what mine would change of it.
func (u *UI) conflict(ctx context.Context, name string, mine *spec.Job, source string) (*templates.Conflict, error) {
	theirs, err := u.service.Jobs.Get(ctx, namespaceOf(ctx), name)
	if err != nil {
		return nil, err
	}
	lines, err := changes(u.service.Jobs, &theirs.Spec, theirs.Source, mine, source)
	if err != nil {
		return nil, err
	}
	return &templates.Conflict{By: theirs.UpdatedBy, At: theirs.UpdatedAt, Message: theirs.Message, Revision: theirs.Revision, Changes: lines}, nil
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
