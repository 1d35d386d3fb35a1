package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// jobCheck says, while a definition is typed, what is wrong with it or when it would run.
func (u *UI) jobCheck(c echo.Context) error {
	_, check, err := u.check(c.Request().Context(), c.Param("name"), definitionOf(c))
	if err != nil {
		return err
	}
	return u.render(c, http.StatusOK, templates.CheckPart(check))
}

// definitionOf reads the text of a form; browsers end its lines with CR LF.
func definitionOf(c echo.Context) string {
	return strings.ReplaceAll(c.FormValue("definition"), "\r\n", "\n")
}

// check reads a definition. The job is nil if there are problems. name is that of the job which is edited, "" for a
// new one.
func (u *UI) check(ctx context.Context, name, text string) (*spec.Job, templates.Check, error) {
	check := templates.Check{Now: u.now()}
	documents, problems := spec.Decode("", []byte(text))
	for _, p := range problems {
		check.Problems = append(check.Problems, templates.Problem{Message: p.Message, Line: p.Line, Column: p.Column})
	}
	switch {
	case len(problems) > 0:
		return nil, check, nil
	case len(documents) != 1:
		check.Problems = []templates.Problem{{Line: documents[1].Line, Message: fmt.Sprintf(
			"this form takes one job, and here are %d: use `tidewheel apply -f FILE` for many at once", len(documents))}}
		return nil, check, nil
	case name != "" && documents[0].Job.Name != name:
		check.Problems = []templates.Problem{{Line: lineOf(text, "body.name"), Message: fmt.Sprintf(
			"the name of job %q cannot be changed: make a new job, and delete this one", name)}}
		return nil, check, nil
	}
	job := documents[0].Job
	var known *service.Error
	switch err := u.service.CheckJob(ctx, namespace, job); {
	case errors.As(err, &known) && known.Kind == service.KindInvalid:
		check.Problems = problemsOf(known, text)
		return nil, check, nil
	case err != nil:
		return nil, check, err
	}
	anchor := check.Now
	if name != "" {
		old, err := u.service.Job(ctx, namespace, name)
		if err != nil {
			return nil, check, err
		}
		anchor = old.CreatedAt
	}
	definition := job.Definition(namespace+"/"+job.Name, anchor)
	definition.Since = check.Now
	slots, words, err := service.Preview(definition, check.Now, slotsShown)
	if err != nil {
		return nil, check, err
	}
	check.Schedule, check.Next, check.Manual = words, viewSlots(slots), job.Manual()
	return job, check, nil
}

// problemsOf tells the faults that the service found, with their lines as far as the text shows them.
func problemsOf(known *service.Error, text string) []templates.Problem {
	if len(known.Fields) == 0 {
		return []templates.Problem{{Message: known.Detail}}
	}
	problems := make([]templates.Problem, len(known.Fields))
	for i, f := range known.Fields {
		problems[i] = templates.Problem{Message: f.Message, Line: f.Line, Column: f.Column}
		if f.Line == 0 {
			problems[i].Line = lineOf(text, f.Location)
		}
	}
	return problems
}

var topLevelKey = regexp.MustCompile(`^body\.([a-z_]+)`)

// lineOf finds the line on which a key of the document stands; 0 if it is not there.
func lineOf(text, location string) int {
	key := topLevelKey.FindStringSubmatch(location)
	if key == nil {
		return 0
	}
	for i, line := range strings.Split(text, "\n") {
		if rest, ok := strings.CutPrefix(line, key[1]); ok && strings.HasPrefix(strings.TrimLeft(rest, " \t"), ":") {
			return i + 1
		}
	}
	return 0
}
