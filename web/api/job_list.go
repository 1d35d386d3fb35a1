package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

func (a *API) jobList() {
	register(a, huma.Operation{
		OperationID: "list-jobs", Method: http.MethodGet, Path: "/jobs", Tags: []string{"jobs"},
		Summary: "List jobs", Description: "By name.",
	}, func(ctx context.Context, in *struct {
		InNamespace
		Page
		Text string `query:"q" doc:"In the name; case is ignored"`
	}) (*pageAnswer[wire.Job], error) {
		jobs, more, err := a.service.Jobs(ctx, engine.JobFilter{Namespace: in.Namespace, Text: in.Text, Cursor: in.Cursor, Limit: in.Limit})
		if err != nil {
			return nil, err
		}
		next, err := a.service.NextSlotsOf(ctx, jobs...)
		if err != nil {
			return nil, err
		}
		var items []wire.Job
		for i := range jobs {
			items = append(items, viewJob(&jobs[i], next[jobs[i].UID]))
		}
		return answerPage(items, more), nil
	})
}
