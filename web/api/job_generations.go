package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
)

func (a *API) jobGenerations() {
	register(a, huma.Operation{
		OperationID: "list-generations", Method: http.MethodGet, Path: "/jobs/{name}/generations", Tags: []string{"jobs"},
		Summary: "The forms that a job has had", Description: "The newest first.",
	}, func(ctx context.Context, in *struct {
		JobPath
		Page
	}) (*pageAnswer[wire.Generation], error) {
		generations, next, err := a.service.GenerationsPage(ctx, in.Namespace, in.Name, in.Cursor, in.Limit)
		if err != nil {
			return nil, err
		}
		var items []wire.Generation
		for _, g := range generations {
			items = append(items, wire.Generation{Generation: g.Generation, At: g.At, By: g.By, Message: g.Message, Spec: g.Spec})
		}
		return answerPage(items, next), nil
	})
}
