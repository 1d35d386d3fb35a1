package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
)

type runEffectsRequest struct {
	RunPath
	Page
}

func (a *API) runEffects() {
	register(a, huma.Operation{
		OperationID: "list-effects", Method: http.MethodGet, Path: "/runs/{id}/effects", Tags: []string{"runs"},
		Summary:     "List the effects of a run",
		Description: "What its program does once, whatever the number of attempts, in the order of the keys. Whether an open effect was done is not known.",
	}, func(ctx context.Context, in *runEffectsRequest) (*pageAnswer[wire.Effect], error) {
		effects, next, err := a.service.RunEffects(ctx, in.Namespace, in.ID, in.Cursor, in.Limit)
		if err != nil {
			return nil, err
		}
		views := make([]wire.Effect, len(effects))
		for i := range effects {
			views[i] = viewEffect(&effects[i])
		}
		return answerPage(views, next), nil
	})
}
