package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

type runListRequest struct {
	InNamespace
	Page
	Job      string    `query:"job" doc:"By name, through all jobs that had it"`
	DAG      string    `query:"dag" doc:"By name, through all DAGs that had it: the runs of their tasks"`
	Task     string    `query:"task" doc:"Of a DAG"`
	Statuses []string  `query:"status,explode" doc:"One of them; give it more than once, or several with commas between" example:"failed,dead"`
	Tier     spec.Tier `query:"tier"`
	By       string    `query:"by" doc:"The user who triggered it"`
	Since    string    `query:"since" doc:"Made at or after this time, or since so long ago: 24h" example:"24h"`
	Until    string    `query:"until" doc:"Made before this time, or so long ago"`
	Text     string    `query:"q" maxLength:"200" doc:"In the id, the job's name or the reason; case is ignored"`
}

func (a *API) runList() {
	register(a, huma.Operation{
		OperationID: "list-runs", Method: http.MethodGet, Path: "/runs", Tags: []string{"runs"},
		Summary: "List runs", Description: "The newest first.",
	}, func(ctx context.Context, in *runListRequest) (*pageAnswer[wire.Run], error) {
		filter, err := a.runFilter(in)
		if err != nil {
			return nil, err
		}
		runs, next, err := a.service.Runs(ctx, filter)
		if err != nil {
			return nil, err
		}
		var items []wire.Run
		for i := range runs {
			items = append(items, viewRun(&runs[i], false))
		}
		return answerPage(items, next), nil
	})
}

func (a *API) runFilter(in *runListRequest) (filter engine.RunFilter, err error) {
	filter = engine.RunFilter{
		Namespace: in.Namespace, Job: in.Job, DAG: in.DAG, Task: in.Task, Tier: in.Tier, By: in.By, Text: in.Text, Cursor: in.Cursor, Limit: in.Limit,
	}
	if in.Task != "" && in.DAG == "" {
		return filter, invalid("invalid_request", "query.task", "task is one of a DAG: give dag, too")
	}
	if filter.Statuses, err = statusesOf(in.Statuses); err != nil {
		return filter, err
	}
	if filter.Since, err = a.instant("since", in.Since); err != nil {
		return filter, err
	}
	filter.Until, err = a.instant("until", in.Until)
	return filter, err
}

// statusesOf reads statuses of a query, each of which may be several with commas between.
func statusesOf(words []string) (statuses []engine.Status, err error) {
	for _, given := range words {
		for name := range strings.SplitSeq(given, ",") {
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			status, err := engine.ParseStatus(name)
			if err != nil {
				return nil, invalid("invalid_request", "query.status", "%s", err)
			}
			statuses = append(statuses, status)
		}
	}
	return statuses, nil
}
