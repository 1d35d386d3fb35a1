package ui

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// outputsURL leads to the search of the outputs of a job's, a DAG's or a task's runs.
func outputsURL(job, dag, task string) string {
	query := url.Values{}
	for name, value := range map[string]string{"job": job, "dag": dag, "task": task} {
		if value != "" && (name != "job" || dag == "") {
			query.Set(name, value)
		}
	}
	return "/runs/search?" + query.Encode()
}

// outputSearch is the page that searches the outputs of many runs.
func (u *UI) outputSearch(c echo.Context) error {
	ctx := c.Request().Context()
	view := templates.Outputs{
		Page: u.page(c, templates.SectionRuns, "Search outputs"), Spans: spans, Task: c.QueryParam("task"), Since: c.QueryParam("since"), Until: c.QueryParam("until"),
		Text: c.QueryParam("q"), Errors: c.QueryParam("errors") != "", Job: c.QueryParam("job"), DAG: c.QueryParam("dag"),
	}
	view.Page.Trail = []templates.Crumb{{Name: "Runs", Href: "/runs"}, {Name: "Search outputs"}}
	if view.Since == "" {
		view.Since = "24h"
	}
	if view.Text == "" && !view.Errors {
		return u.show(c, templates.OutputsPage(view), nil)
	}
	filter := engine.RunFilter{Namespace: namespaceOf(ctx), Job: view.Job, DAG: view.DAG, Cursor: c.QueryParam("cursor")}
	if view.DAG != "" {
		filter.Task = view.Task
	}
	if span, err := time.ParseDuration(view.Since); err == nil && span > 0 {
		filter.Since = view.Page.Now.Add(-span)
	} else if view.Since != "all" {
		view.Problem = "The period is invalid: write it as 90m or 24h."
		return u.show(c, templates.OutputsPage(view), nil)
	}
	if view.Until != "" {
		at, note, ok := typedTime(c, view.Until)
		if !ok {
			view.Problem = "The time is invalid: write it as 2026-11-21T09:30."
			return u.show(c, templates.OutputsPage(view), nil)
		}
		if filter.Until, view.Until = at, zone(c).Input(at); note != "" {
			view.Notes = append(view.Notes, note)
		}
	}
	found, err := u.service.SearchRuns(ctx, service.RunSearch{Filter: filter, Text: view.Text, Errors: view.Errors})
	if errors.Is(err, engine.ErrCursor) {
		view.Problem = "This place in the search no longer exists: search again."
		return u.show(c, templates.OutputsPage(view), nil)
	}
	if problem := refused(err); problem != "" {
		view.Problem = capital(problem) + "."
		return u.show(c, templates.OutputsPage(view), nil)
	}
	if err != nil {
		return err
	}
	view.Searched, view.Looked = true, searchedWords(&found, zone(c))
	search := url.Values{"find": {view.Text}}
	if view.Errors {
		search = url.Values{"errors": {"1"}}
	}
	for i := range found.Items {
		item := &found.Items[i]
		search.Set("attempt", fmt.Sprint(item.Attempt))
		run := templates.FoundRun{Row: viewRun(&item.Run), Attempt: item.Attempt, More: item.More, Href: "/runs/" + item.Run.ID + "?" + search.Encode() + "#output"}
		for _, match := range item.Lines {
			run.Lines = append(run.Lines, templates.FoundLine{
				Match: templates.Match{N: match.Line, Before: plain(match.Text[:match.Start]), Hit: plain(match.Text[match.Start:match.End]), Behind: plain(match.Text[match.End:])},
				Href:  templates.LineURL(item.Run.ID, item.Attempt, match.Line),
			})
		}
		view.Runs = append(view.Runs, run)
	}
	if found.Next != "" {
		query := c.QueryParams()
		query.Set("cursor", found.Next)
		view.Next = "/runs/search?" + query.Encode()
	}
	return u.show(c, templates.OutputsPage(view), nil)
}

// searchedWords says how much was searched, and why no more.
func searchedWords(found *service.FoundRuns, zone templates.Zone) string {
	words := "Searched " + templates.Plural(int64(found.Runs), "run", "runs") + ", " + templates.Size(found.Bytes)
	if found.Stopped == "" {
		return words + ": these are all."
	}
	if !found.Reached.IsZero() {
		words += ", back to " + zone.Words(found.Reached)
	}
	return words + ". It stopped there: " + found.Stopped + "."
}
