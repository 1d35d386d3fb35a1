package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
)

func (a *API) engineList() {
	register(a, huma.Operation{
		OperationID: "list-engines", Method: http.MethodGet, Path: "/engines", Tags: []string{"cluster"},
		Summary: "List engines that are alive", Description: "There are 64 shards; shards without an owner wait for an engine.",
	}, func(ctx context.Context, _ *struct{}) (*pageAnswer[wire.Engine], error) {
		engines, err := a.service.Engines(ctx)
		if err != nil {
			return nil, err
		}
		var items []wire.Engine
		for _, e := range engines.All {
			items = append(items, wire.Engine{
				ID: e.ID, Host: e.Host, PID: e.PID, Version: e.Version, Shards: e.Shards, Leaving: e.Leaving, Since: e.Since, Seen: e.Seen, Problem: e.Slow(),
			})
		}
		return answerPage(items, ""), nil
	})
}
