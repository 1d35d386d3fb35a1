package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

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

// slotsChecked is how many slots to come are shown of a definition that is typed.
const slotsChecked = 10

// check reads a definition. The job is nil if there are problems. name is that of the job which is edited, "" for a
// new one.
func (u *UI) check(ctx context.Context, name, text string) (*spec.Job, templates.Check, error) {
	check := templates.Check{Now: u.now()}
	documents, problems := spec.Decode("", []byte(text))
	for _, p := range problems {
		check.Problems = append(check.Problems, checkProblem(p.Path, p.Message, p.Line, p.Column))
	}
	switch {
	case len(problems) > 0:
		return nil, check, nil
	case len(documents) != 1:
		check.Problems = []templates.CheckProblem{checkProblem("", fmt.Sprintf(
			"this form takes one job, and here are %d: use `tidewheel apply -f FILE` for many at once", len(documents)), documents[1].Line, 0)}
		return nil, check, nil
	case documents[0].Job == nil:
		check.Problems = []templates.CheckProblem{checkProblem("kind", "this form takes a job, and here is a DAG: write kind: Job", documents[0].Line, 0)}
		return nil, check, nil
	case name != "" && documents[0].Job.Name != name:
		check.Problems = []templates.CheckProblem{checkProblem("name", fmt.Sprintf(
			"the name of job %q cannot be changed: make a new job, and delete this one", name), lineOf(text, "body.name"), 0)}
		return nil, check, nil
	}
	job := documents[0].Job
	var known *service.Error
	switch err := u.service.Jobs.Check(ctx, namespaceOf(ctx), job); {
	case errors.As(err, &known) && known.Kind == service.KindInvalid:
		check.Problems = problemsOf(known, text)
		return nil, check, nil
	case err != nil:
		return nil, check, err
	}
	anchor := check.Now
	if name != "" {
		old, err := u.service.Jobs.Get(ctx, namespaceOf(ctx), name)
		if err != nil {
			return nil, check, err
		}
		anchor, check.Saved = old.CreatedAt, true
		if check.Changes, err = changes(u.service.Jobs, &old.Spec, old.Source, job, documents[0].Source); err != nil {
			return nil, check, err
		}
	}
	return job, check, foresee(namespaceOf(ctx), job, anchor, &check)
}

// foresee tells when a definition would run.
func foresee(namespace string, job *spec.Job, anchor time.Time, check *templates.Check) error {
	definition := job.Definition(namespace+"/"+job.Name, anchor)
	definition.Since = check.Now
	slots, words, err := service.Preview(definition, check.Now, slotsChecked)
	if err != nil {
		return err
	}
	check.Schedule, check.Manual = words, job.Manual()
	if len(job.Schedule) > 0 && job.Timezone != "UTC" {
		check.Zone = job.Timezone
	}
	for _, slot := range slots {
		view := templates.CheckSlot{At: slot.Slot, Note: slot.Note}
		if check.Zone != "" {
			view.Local = slot.Local.Format("Mon 2006-01-02 15:04:05")
		}
		check.Next = append(check.Next, view)
	}
	return nil
}

func checkProblem(path, message string, line, column int) templates.CheckProblem {
	return templates.CheckProblem{Path: path, Problem: templates.Problem{Message: message, Line: line, Column: column}}
}

// problemsOf tells the faults that the service found, with their lines as far as the text shows them.
func problemsOf(known *service.Error, text string) []templates.CheckProblem {
	if len(known.Fields) == 0 {
		return []templates.CheckProblem{checkProblem("", known.Detail, 0, 0)}
	}
	problems := make([]templates.CheckProblem, len(known.Fields))
	for i, f := range known.Fields {
		line := f.Line
		if line == 0 {
			line = lineOf(text, f.Location)
		}
		path, _ := strings.CutPrefix(f.Location, "body.")
		problems[i] = checkProblem(path, f.Message, line, f.Column)
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
