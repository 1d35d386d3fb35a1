package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) dagList() {
	register(a, huma.Operation{
		OperationID: "list-dags", Method: http.MethodGet, Path: "/dags", Tags: []string{"dags"},
		Summary: "List DAGs", Description: "By name. A page may be short where what matches is rare: next tells.",
	}, func(ctx context.Context, in *struct {
		InNamespace
		Page
		Text   string `query:"q" doc:"In the name; case is ignored"`
		Label  string `query:"label" doc:"A label that it has: key, or key=value" example:"team=finance"`
		Paused bool   `query:"paused" doc:"Only those that are paused"`
	}) (*pageAnswer[wire.DAG], error) {
		page, err := a.service.ListDAGs(ctx, service.DAGQuery{
			Namespace: in.Namespace, Text: in.Text, Label: in.Label, Paused: in.Paused, Cursor: in.Cursor, Limit: in.Limit,
		})
		if err != nil {
			return nil, err
		}
		var items []wire.DAG
		for i := range page.DAGs {
			items = append(items, viewDAG(&page.DAGs[i], page.NextSlots[page.DAGs[i].UID]))
		}
		return answerPage(items, page.Next), nil
	})
}
