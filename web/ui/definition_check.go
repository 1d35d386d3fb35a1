package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// checkText says, while a definition is drawn or typed, what is wrong with it or when it would run.
func (p *definitionPages[S]) checkText(c echo.Context) error {
	ctx, text := c.Request().Context(), definitionOf(c)
	leave, err := p.large.wait(ctx, len(text) > largeText)
	if err != nil {
		return err
	}
	defer leave()
	_, check, err := p.check(ctx, c.Param("name"), text)
	if err != nil {
		return err
	}
	return p.render(c, http.StatusOK, templates.CheckPart(check))
}

// definitionOf reads the text of a form; browsers end its lines with CR LF.
func definitionOf(c echo.Context) string {
	return strings.ReplaceAll(c.FormValue("definition"), "\r\n", "\n")
}

// check reads a definition, and says what it changes of the one that is edited, if name is not "". The document is nil if
// there are problems.
func (p *definitionPages[S]) check(ctx context.Context, name, text string) (*spec.Document, templates.Check, error) {
	if name == "" {
		return p.readText(ctx, nil, text)
	}
	saved, err := p.service.Get(ctx, namespaceOf(ctx), name)
	if err != nil {
		return nil, templates.Check{}, err
	}
	document, check, err := p.readText(ctx, &saved, text)
	if err != nil || document == nil {
		return nil, check, err
	}
	check.Changes, err = changes(p.service, &saved.Spec, saved.Source, p.of(document), document.Source)
	return document, check, err
}

// readText is check for a text that changes nothing, or that is new, if saved is nil.
func (p *definitionPages[S]) readText(ctx context.Context, saved *engine.Definition[S], text string) (*spec.Document, templates.Check, error) {
	check := templates.Check{Now: p.now()}
	typed := engine.Definition[S]{Namespace: namespaceOf(ctx), CreatedAt: check.Now}
	if saved != nil {
		typed.Name, typed.CreatedAt = saved.Name, saved.CreatedAt
	}
	document, problems := p.only(typed.Name, text)
	if document == nil {
		check.Problems = problems
		return nil, check, nil
	}
	typed.Name, typed.Spec = document.Name(), *p.of(document)
	switch err := p.service.Check(ctx, typed.Namespace, &typed.Spec); {
	case refused(err) != "":
		known, _ := errors.AsType[*service.Error](err)
		check.Problems = problemsOf(known, text)
		return nil, check, nil
	case err != nil:
		return nil, check, err
	}
	check.Saved = saved != nil
	if document.DAG != nil {
		check.Tasks = len(document.DAG.Tasks)
	}
	forecasts, more, err := p.service.Forecast(&typed, check.Now, p.schedules, p.slotsOfEach)
	check.Next, check.More = viewForecasts(forecasts), more
	return document, check, err
}

// viewForecasts shows what comes next of each schedule.
func viewForecasts(forecasts []service.Forecast) []templates.ScheduleSlots {
	views := make([]templates.ScheduleSlots, len(forecasts))
	for i, forecast := range forecasts {
		view := &views[i]
		view.Root, view.Schedule = forecast.Root, forecast.Description
		for _, slot := range forecast.Slots {
			view.Next = append(view.Next, viewSlot(slot))
			if zone := slot.Local.Location().String(); zone != "UTC" {
				view.Zone = zone
			}
		}
	}
	return views
}

// only reads a text that is to hold one definition, of this name unless that is "".
func (p *definitionPages[S]) only(name, text string) (*spec.Document, []templates.CheckProblem) {
	documents, faults := spec.Decode("", []byte(text))
	var problems []templates.CheckProblem
	for _, fault := range faults {
		problems = append(problems, checkProblem(fault.Path, fault.Message, fault.Line, fault.Column))
	}
	switch {
	case len(faults) > 0:
		return nil, problems
	case len(documents) != 1:
		return nil, []templates.CheckProblem{checkProblem("", fmt.Sprintf(
			"this form takes one %s, and here are %d: use `tidewheel apply -f FILE` for many at once", p.kind.Noun, len(documents)), documents[1].Line, 0)}
	case p.of(&documents[0]) == nil:
		return nil, []templates.CheckProblem{checkProblem("kind", fmt.Sprintf(
			"this form takes a %s, and here is kind: %s", p.kind.Noun, documents[0].Kind()), documents[0].Line, 0)}
	case name != "" && documents[0].Name() != name:
		return nil, []templates.CheckProblem{checkProblem("name", fmt.Sprintf(
			"the name of %s %q cannot be changed: make a new %[1]s, and delete this one", p.kind.Noun, name), lineOf(text, "body.name"), 0)}
	}
	return &documents[0], nil
}

func checkProblem(path, message string, line, column int) templates.CheckProblem {
	return templates.CheckProblem{Path: path, Problem: templates.Problem{Message: message, Line: line, Column: column}}
}

// problemsOf returns the faults that the service found, with their lines as far as the text shows them.
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
		if task := lineOfTask(text, path); task > 0 {
			problems[i].Line, problems[i].Column = task, 0
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

var (
	taskPath = regexp.MustCompile(`^tasks\.([A-Za-z0-9_-]+)(?:\.([a-z_]+))?`)
	keyLine  = regexp.MustCompile(`^( *)["']?([A-Za-z0-9_-]+)["']?\s*:`)
)

// lineOfTask finds the line on which a task or one of its keys stands, in a text that was read without fault; 0 if it
// is not there.
func lineOfTask(text, path string) int {
	asked := taskPath.FindStringSubmatch(path)
	if asked == nil {
		return 0
	}
	inTasks, depth, found := false, 0, 0
	for i, line := range strings.Split(text, "\n") {
		key := keyLine.FindStringSubmatch(line)
		if key == nil {
			continue
		}
		indent := len(key[1])
		switch {
		case indent == 0:
			inTasks = key[2] == "tasks"
		case !inTasks:
		case found > 0 && indent <= depth:
			return found // the next task
		case found > 0 && key[2] == asked[2]:
			return i + 1
		case found == 0 && (depth == 0 || indent <= depth):
			depth = indent
			if key[2] == asked[1] {
				found = i + 1
			}
		}
	}
	return found
}
