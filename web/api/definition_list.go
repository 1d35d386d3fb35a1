package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

// AskedList is the request for a list of definitions, as far as jobs and DAGs are asked for alike.
type AskedList struct {
	InNamespace
	Page
	Text  string `query:"q" doc:"In the name; case is ignored"`
	Label string `query:"label" doc:"A label that it has: key, or key=value" example:"team=finance"`
}

func (a *API) jobList() {
	register(a, huma.Operation{
		OperationID: "list-jobs", Method: http.MethodGet, Path: "/jobs", Tags: []string{"jobs"},
		Summary:     "List jobs",
		Description: "By name, or in another order; those leave out what they do not order: what has no slot to come, no run, or no failure. What is late, failing or ordered by failures is taken from the latest thousand runs. A page may be short where what matches is rare: follow next.",
	}, func(ctx context.Context, in *struct {
		AskedList
		Tier  string `query:"tier" enum:"light,medium,heavy" doc:"Its tier"`
		State string `query:"state" enum:"paused,failing,late" doc:"paused; failing: its last run failed; late: something is overdue"`
		Order string `query:"order" enum:"name,next,last,failures" default:"name" doc:"By name; by its next slot, the earliest first; by its last run, the newest first; by its failures of the last 7 days, the most first"`
	}) (*pageAnswer[wire.Job], error) {
		return a.jobRoutes().page(ctx, &in.AskedList, service.ListQuery{Tier: spec.Tier(in.Tier), State: service.State(in.State), Order: service.Order(in.Order)})
	})
}

func (a *API) dagList() {
	register(a, huma.Operation{
		OperationID: "list-dags", Method: http.MethodGet, Path: "/dags", Tags: []string{"dags"},
		Summary:     "List DAGs",
		Description: "By name, or in another order. What is running or failing, and another order, is found among the first 200 DAGs by name that match, by the last 20 waves of each. A page may be short where what matches is rare: follow next.",
	}, func(ctx context.Context, in *struct {
		AskedList
		Paused bool   `query:"paused" doc:"Only those that are paused"`
		State  string `query:"state" enum:"paused,failing,running" doc:"paused; failing: its last wave failed; running: a wave is open"`
		Order  string `query:"order" enum:"name,next,last,failures" default:"name" doc:"By name; by its next slot, the earliest first; by its last wave, the newest first; by how many of its last waves failed, the most first"`
	}) (*pageAnswer[wire.DAG], error) {
		return a.dagRoutes().page(ctx, &in.AskedList, service.ListQuery{Paused: in.Paused, State: service.State(in.State), Order: service.Order(in.Order)})
	})
}

// page answers with a page of what a query selects; its first fields are those that all lists have.
func (r *definitionRoutes[S, V, G]) page(ctx context.Context, in *AskedList, q service.ListQuery) (*pageAnswer[V], error) {
	q.Namespace, q.Text, q.Label, q.Cursor, q.Limit = in.Namespace, in.Text, in.Label, in.Cursor, in.Limit
	page, err := r.service.Page(ctx, q)
	if err != nil {
		return nil, err
	}
	var items []V
	for i := range page.Entries {
		items = append(items, r.view(&page.Entries[i].Definition, page.Entries[i].Next))
	}
	return answerPage(items, page.Next), nil
}
