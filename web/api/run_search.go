package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

type logSearchRequest struct {
	RunPath
	Attempt int    `query:"attempt" minimum:"0" doc:"From 1; the latest if absent"`
	Text    string `query:"q" maxLength:"200" doc:"The text; the case of its letters is ignored"`
	Errors  bool   `query:"errors" doc:"Lines that look like errors, instead of a text"`
	From    string `query:"from" doc:"Where to begin: the number of a line, from 1, or the next of the answer before" example:"120"`
	Limit   int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"The most lines of an answer"`
}

type logSearchAnswer struct{ Body wire.LogMatches }

func (a *API) runSearch() {
	register(a, huma.Operation{
		OperationID: "search-logs", Method: http.MethodGet, Path: "/runs/{id}/logs/search", Tags: []string{"runs"},
		Summary: "Search a run's output",
		Description: "Tells in which lines a text stands. One answer looks through 64 MiB or for a second at most: while there is a next, " +
			"give it as from to search on, also where nothing was found so far.",
	}, func(ctx context.Context, in *logSearchRequest) (*logSearchAnswer, error) {
		log, err := a.service.OpenLog(ctx, in.Namespace, in.ID, in.Attempt)
		if err != nil {
			return nil, err
		}
		found, err := log.Search(ctx, service.LogSearch{Text: in.Text, Errors: in.Errors, From: in.From, Limit: in.Limit})
		if err != nil {
			return nil, err
		}
		body := wire.LogMatches{Items: viewLogMatches(found.Matches), Next: found.Next, Searched: found.Searched, Size: log.Size, Attempt: log.Attempt}
		return &logSearchAnswer{Body: body}, nil
	})
}

type outputSearchRequest struct {
	InNamespace
	Job    string `query:"job" doc:"By name, through all jobs that had it; this or dag is required"`
	DAG    string `query:"dag" doc:"By name, through all DAGs that had it: the runs of their tasks"`
	Task   string `query:"task" doc:"Of the DAG"`
	Since  string `query:"since" doc:"Runs made at or after this time, or since so long ago: 24h" example:"24h"`
	Until  string `query:"until" doc:"Runs made before this time, or so long ago"`
	Text   string `query:"q" maxLength:"200" doc:"The text; the case of its letters is ignored"`
	Errors bool   `query:"errors" doc:"Lines that look like errors, instead of a text"`
	Cursor string `query:"cursor" doc:"The next of the answer before; absent for the first"`
}

type outputSearchAnswer struct{ Body wire.RunMatches }

func (a *API) outputSearch() {
	register(a, huma.Operation{
		OperationID: "search-runs", Method: http.MethodGet, Path: "/runs/search", Tags: []string{"runs"},
		Summary: "Search the outputs of many runs",
		Description: "Returns the lines in which a text stands in the outputs of the runs of a job or DAG, all attempts of them, the newest run first. One answer looks through 500 runs or " +
			"64 MiB, or for two seconds, at most, and returns the first lines of 50 outputs: while there is a next, give it as cursor to search on, also where nothing was found so far.",
	}, func(ctx context.Context, in *outputSearchRequest) (*outputSearchAnswer, error) {
		filter, err := a.runFilter(&runListRequest{
			InNamespace: in.InNamespace, Page: Page{Cursor: in.Cursor}, Job: in.Job, DAG: in.DAG, Task: in.Task, Since: in.Since, Until: in.Until,
		})
		if err != nil {
			return nil, err
		}
		found, err := a.service.SearchRuns(ctx, service.RunSearch{Filter: filter, Text: in.Text, Errors: in.Errors})
		if err != nil {
			return nil, err
		}
		body := wire.RunMatches{Items: []wire.OutputMatches{}, Next: found.Next, Stopped: found.Stopped, Runs: found.Runs, Bytes: found.Bytes}
		if !found.Reached.IsZero() {
			body.Reached = &found.Reached
		}
		for i := range found.Items {
			item := &found.Items[i]
			body.Items = append(body.Items, wire.OutputMatches{
				Run: item.Run.ID, Job: item.Run.Job, DAG: item.Run.DAG, Task: item.Run.Task, Status: item.Run.Status.String(), Created: item.Run.CreatedAt,
				Attempt: item.Attempt, Lines: viewLogMatches(item.Lines), More: item.More,
			})
		}
		return &outputSearchAnswer{Body: body}, nil
	})
}

func viewLogMatches(matches []service.LogMatch) []wire.LogMatch {
	items := []wire.LogMatch{}
	for _, match := range matches {
		items = append(items, wire.LogMatch{Line: match.Line, Offset: match.Offset, Text: strings.ToValidUTF8(string(match.Text), "\ufffd")})
	}
	return items
}
