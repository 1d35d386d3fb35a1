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
	DAG      string    `query:"dag" doc:"By the name of a DAG; this version has none, so it finds nothing"`
	Statuses []string  `query:"status,explode" doc:"One of them; give it more than once, or several with commas between" example:"failed,dead"`
	Tier     spec.Tier `query:"tier"`
	By       string    `query:"by" doc:"Who asked for it"`
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
		if in.DAG != "" {
			return answerPage[wire.Run](nil, ""), nil
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
		Namespace: in.Namespace, Job: in.Job, Tier: in.Tier, By: in.By, Text: in.Text, Cursor: in.Cursor, Limit: in.Limit,
	}
	for _, given := range in.Statuses {
		for name := range strings.SplitSeq(given, ",") {
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			status, err := engine.ParseStatus(name)
			if err != nil {
				return filter, invalid("invalid_request", "query.status", "%s", err)
			}
			filter.Statuses = append(filter.Statuses, status)
		}
	}
	if filter.Since, err = a.instant("since", in.Since); err != nil {
		return filter, err
	}
	filter.Until, err = a.instant("until", in.Until)
	return filter, err
}
