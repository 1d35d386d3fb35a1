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

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// dagCheck says, while a definition is drawn or typed, what is wrong with it or when its roots would start.
func (u *UI) dagCheck(c echo.Context) error {
	text := definitionOf(c)
	leave, err := u.large.wait(c.Request().Context(), len(text) > largeText)
	if err != nil {
		return err
	}
	defer leave()
	_, check, err := u.checkDAG(c.Request().Context(), c.Param("name"), text)
	if err != nil {
		return err
	}
	return u.render(c, http.StatusOK, templates.DAGCheckPart(check))
}

const (
	// rootsChecked is of how many roots the slots to come are shown, and slotsOfRoot how many of each.
	rootsChecked = 6
	slotsOfRoot  = 5
)

// checkDAG reads a definition, and says what it changes of the DAG which is edited, if name is not "". The document is
// nil if there are problems.
func (u *UI) checkDAG(ctx context.Context, name, text string) (*spec.Document, templates.DAGCheck, error) {
	if name == "" {
		return u.readDAG(ctx, nil, text)
	}
	saved, err := u.service.DAGs.Get(ctx, namespaceOf(ctx), name)
	if err != nil {
		return nil, templates.DAGCheck{}, err
	}
	document, check, err := u.readDAG(ctx, &saved, text)
	if err != nil || document == nil {
		return nil, check, err
	}
	check.Changes, err = changes(u.service.DAGs, &saved.Spec, saved.Source, document.DAG, document.Source)
	return document, check, err
}

// readDAG is checkDAG for a text that changes nothing, or that is new, if saved is nil.
func (u *UI) readDAG(ctx context.Context, saved *engine.DAG, text string) (*spec.Document, templates.DAGCheck, error) {
	check := templates.DAGCheck{Check: templates.Check{Now: u.now()}}
	name, anchor := "", check.Now
	if saved != nil {
		name, anchor, check.Saved = saved.Name, saved.CreatedAt, true
	}
	document, problems := onlyDAG(name, text)
	if document == nil {
		check.Saved, check.Problems = false, problems
		return nil, check, nil
	}
	var known *service.Error
	switch err := u.service.DAGs.Check(ctx, namespaceOf(ctx), document.DAG); {
	case errors.As(err, &known) && known.Kind == service.KindInvalid:
		check.Saved, check.Problems = false, dagProblemsOf(known, text)
		return nil, check, nil
	case err != nil:
		return nil, check, err
	}
	return document, check, foreseeDAG(namespaceOf(ctx), document.DAG, anchor, &check)
}

// onlyDAG reads a text that is to hold one DAG, of this name unless that is "".
func onlyDAG(name, text string) (*spec.Document, []templates.CheckProblem) {
	documents, faults := spec.Decode("", []byte(text))
	var problems []templates.CheckProblem
	for _, p := range faults {
		problems = append(problems, checkProblem(p.Path, p.Message, p.Line, p.Column))
	}
	switch {
	case len(faults) > 0:
		return nil, problems
	case len(documents) != 1:
		return nil, []templates.CheckProblem{checkProblem("", fmt.Sprintf(
			"this form takes one DAG, and here are %d: use `tidewheel apply -f FILE` for many at once", len(documents)), documents[1].Line, 0)}
	case documents[0].DAG == nil:
		return nil, []templates.CheckProblem{checkProblem("kind", "this form takes a DAG, and here is a job: write kind: DAG", documents[0].Line, 0)}
	case name != "" && documents[0].DAG.Name != name:
		return nil, []templates.CheckProblem{checkProblem("name", fmt.Sprintf(
			"the name of DAG %q cannot be changed: make a new DAG, and delete this one", name), lineOf(text, "body.name"), 0)}
	}
	return &documents[0], nil
}

// dagProblemsOf tells the faults that the service found, at the lines of their tasks.
func dagProblemsOf(known *service.Error, text string) []templates.CheckProblem {
	problems := problemsOf(known, text)
	for i := range problems {
		if line := lineOfTask(text, problems[i].Path); line > 0 {
			problems[i].Line, problems[i].Column = line, 0
		}
	}
	return problems
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

// foreseeDAG tells when the roots of a definition would start.
func foreseeDAG(namespace string, definition *spec.DAG, anchor time.Time, check *templates.DAGCheck) error {
	check.Tasks, check.Manual = len(definition.Tasks), definition.Manual()
	for i := range definition.Tasks {
		schedule := definition.Definition(i, namespace+"/"+definition.Name+"/"+definition.Tasks[i].Name, anchor)
		if !definition.Tasks[i].Root() || len(schedule.Cron) == 0 {
			continue
		}
		if len(check.Roots) == rootsChecked {
			check.More++
			continue
		}
		root, err := foreseeRoot(definition.Tasks[i].Name, schedule, check.Now)
		if err != nil {
			return err
		}
		check.Roots = append(check.Roots, root)
	}
	return nil
}

func foreseeRoot(name string, schedule cron.Definition, now time.Time) (templates.RootCheck, error) {
	schedule.Since = now
	slots, words, err := service.Preview(schedule, now, slotsOfRoot)
	if err != nil {
		return templates.RootCheck{}, err
	}
	root := templates.RootCheck{Task: name, Schedule: words}
	if schedule.Timezone != "UTC" {
		root.Zone = schedule.Timezone
	}
	for _, slot := range slots {
		view := templates.CheckSlot{At: slot.Slot, Note: slot.Note}
		if root.Zone != "" {
			view.Local = slot.Local.Format("Mon 2006-01-02 15:04:05")
		}
		root.Next = append(root.Next, view)
	}
	return root, nil
}
