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
		queues, err := a.service.ServedQueues(ctx)
		if err != nil {
			return nil, err
		}
		var items []wire.Queue
		for i := range queues {
			d := &queues[i]
			item := wire.Queue{Tier: d.Tier, Class: d.Class, Waiting: d.Waiting, Claimed: d.Claimed, Pulls: d.Pulls, Oldest: d.Oldest, Unserved: d.Unserved}
			for j, p := range d.Pools {
				item.Pools = append(item.Pools, wire.Pool{
					RunsOn: p.RunsOn, Waiting: p.Waiting, Claimed: p.Claimed, Pulls: p.Pulls, Oldest: p.Oldest, Unserved: d.Served[j].Unserved,
				})
			}
			items = append(items, item)
		}
		return answerPage(items, ""), nil
	})
}
