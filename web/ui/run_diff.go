package ui

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) runDiff(c echo.Context) error {
	a, b, exact := c.QueryParam("a"), c.QueryParam("b"), c.QueryParam("exact") != ""
	switch {
	case b == "":
		return echo.ErrBadRequest
	case a == "":
		return u.runCompare(c, b)
	}
	diff, err := u.service.CompareRuns(c.Request().Context(), namespaceOf(c.Request().Context()), a, b, exact)
	if err != nil {
		return err
	}
	view := templates.RunDiff{
		Page: u.page(c, templates.SectionRuns, "Difference of "+diff.A.Label()+" and "+diff.B.Label()), Exact: exact,
		A: diffSide(&diff.A, "Left", a), B: diffSide(&diff.B, "Right", b),
		Output: viewLineDiff(&diff.Output), Notes: diffNotes(&diff.Output, exact),
		Choose: "/runs/diff?" + url.Values{"b": {diff.B.ID}}.Encode(),
		Other:  diffURL(a, b, !exact), Swap: diffURL(diff.B.ID, diff.A.ID, exact),
	}
	if diff.A.Label() == diff.B.Label() {
		view.Page.Title = "Difference of two runs of " + diff.A.Label()
	}
	view.Fields, view.Same = viewFields(diff.Fields)
	return u.show(c, templates.DiffPage(view), nil)
}

// comparedWith is how many runs are offered to compare with.
const comparedWith = 50

// runCompare lets the reader choose the run to compare with: one of the same job or task, or any other by its id.
func (u *UI) runCompare(c echo.Context, id string) error {
	ctx := c.Request().Context()
	run, err := u.service.Run(ctx, namespaceOf(ctx), id)
	if err != nil {
		return err
	}
	view := templates.RunCompare{Page: u.page(c, runSection(&run), "Compare run of "+run.Label()), Run: viewRun(&run)}
	if _, found, err := u.service.LastGoodRun(ctx, &run); err != nil {
		return err
	} else if found {
		view.LastGood = diffURL(service.LastGood, run.ID, false)
	}
	filter := engine.RunFilter{Namespace: run.Namespace, JobUID: run.JobUID, Task: run.Task, Limit: comparedWith, Cursor: c.QueryParam("cursor")}
	others, next, err := u.service.Runs(ctx, filter)
	if errors.Is(err, engine.ErrCursor) {
		return echo.ErrBadRequest
	}
	if err != nil {
		return err
	}
	for i := range others {
		if others[i].ID != run.ID {
			view.Others = append(view.Others, templates.RunChoice{Row: viewRun(&others[i]), Href: diffURL(others[i].ID, run.ID, false)})
		}
	}
	view.Pager = pager(c, filter.Cursor, next)
	return u.show(c, templates.ComparePage(view), nil)
}

func diffURL(a, b string, exact bool) string {
	query := url.Values{"a": {a}, "b": {b}}
	if exact {
		query.Set("exact", "1")
	}
	return "/runs/diff?" + query.Encode()
}

func diffSide(run *engine.Run, words, asked string) templates.DiffSide {
	if asked == service.LastGood {
		words += ": the last good run"
	}
	return templates.DiffSide{ID: run.ID, Job: run.Job, Status: run.Status.String(), Words: words, Row: viewRun(run)}
}

// diffNotes say what of the outputs was compared.
func diffNotes(output *service.LineDiff, exact bool) (notes []string) {
	if output.Missing != "" {
		return []string{"The outputs are not compared: " + output.Missing}
	}
	var skipped []string
	for _, side := range []struct {
		name string
		n    int64
	}{{"left", output.SkippedA}, {"right", output.SkippedB}} {
		if side.n > 0 {
			skipped = append(skipped, fmt.Sprintf("%s %s before them", templates.Plural(side.n, "line", "lines"), side.name))
		}
	}
	if len(skipped) > 0 {
		notes = append(notes, fmt.Sprintf("Only the last %d lines of each output are compared: there are %s.", service.DiffLines, strings.Join(skipped, ", and ")))
	}
	if !exact {
		notes = append(notes, "Lines that differ only in numbers, times or hashes count as alike.")
	}
	return notes
}

// viewFields parts what differs from what does not.
func viewFields(fields []service.FieldDiff) (differ, same []templates.DiffField) {
	for _, field := range fields {
		shown := templates.DiffField{Name: field.Name, A: field.A, B: field.B}
		if field.Differs {
			differ = append(differ, shown)
		} else {
			same = append(same, shown)
		}
	}
	return differ, same
}

func viewLineDiff(diff *service.LineDiff) templates.LineDiff {
	view := templates.LineDiff{Removed: diff.Removed, Added: diff.Added, Missing: diff.Missing != ""}
	for i := range diff.Rows {
		row := &diff.Rows[i]
		shown := templates.DiffRow{Kind: string(row.Kind), A: row.LineA, B: row.LineB, Gap: row.Gap, TextA: plain(row.TextA), TextB: plain(row.TextB)}
		if row.Differs() {
			shown.Kind = "numbers"
		}
		view.Rows = append(view.Rows, shown)
	}
	return view
}
