package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) runCancel() {
	register(a, huma.Operation{
		OperationID: "cancel-run", Method: http.MethodPost, Path: "/runs/{id}/cancel", Tags: []string{"runs"}, DefaultStatus: http.StatusAccepted,
		Summary: "Cancel a run", Description: "202 as soon as the request is durable; the run ends a moment later. 409 if it has ended.",
	}, func(ctx context.Context, in *RunPath) (*runAnswer, error) {
		run, err := a.service.CancelRun(ctx, in.Namespace, in.ID, service.Actor(ctx))
		if err != nil {
			return nil, err
		}
		return &runAnswer{Status: http.StatusAccepted, Body: viewRun(&run, true)}, nil
	})
}
