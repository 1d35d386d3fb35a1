package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) jobList() {
	register(a, huma.Operation{
		OperationID: "list-jobs", Method: http.MethodGet, Path: "/jobs", Tags: []string{"jobs"},
		Summary:     "List jobs",
		Description: "By name, or in another order; those leave out what they do not order: what has no slot to come, no run, or no failure. What is late, failing or ordered by failures is taken from the latest thousand runs. A page may be short where what matches is rare: next tells.",
	}, func(ctx context.Context, in *struct {
		InNamespace
		Page
		Text  string `query:"q" doc:"In the name; case is ignored"`
		Label string `query:"label" doc:"A label that it has: key, or key=value" example:"team=finance"`
		Tier  string `query:"tier" enum:"light,medium,heavy" doc:"Its tier"`
		State string `query:"state" enum:"paused,failing,late" doc:"paused; failing: its last run failed; late: something is overdue"`
		Order string `query:"order" enum:"name,next,last,failures" default:"name" doc:"By name; by its next slot, the earliest first; by its last run, the newest first; by its failures of the last 7 days, the most first"`
	}) (*pageAnswer[wire.Job], error) {
		page, err := a.service.ListJobs(ctx, service.JobQuery{
			Namespace: in.Namespace, Text: in.Text, Label: in.Label, Tier: spec.Tier(in.Tier), State: service.JobState(in.State),
			Order: service.JobOrder(in.Order), Cursor: in.Cursor, Limit: in.Limit,
		})
		if err != nil {
			return nil, err
		}
		var items []wire.Job
		for i := range page.Entries {
			items = append(items, viewJob(&page.Entries[i].Job, page.Entries[i].Next))
		}
		return answerPage(items, page.Next), nil
	})
}
