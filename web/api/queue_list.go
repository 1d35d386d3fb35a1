package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
)

func (a *API) queueList() {
	register(a, huma.Operation{
		OperationID: "list-queues", Method: http.MethodGet, Path: "/queues", Tags: []string{"cluster"},
		Summary: "What waits in each tier and class",
	}, func(ctx context.Context, _ *struct{}) (*pageAnswer[wire.Queue], error) {
		depths, err := a.service.Queues(ctx)
		if err != nil {
			return nil, err
		}
		var items []wire.Queue
		for _, d := range depths {
			items = append(items, wire.Queue{Tier: d.Tier, Class: d.Class, Waiting: d.Waiting, Claimed: d.Claimed, Pulls: d.Pulls, Oldest: d.Oldest})
		}
		return answerPage(items, ""), nil
	})
}
