package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) runRetry() {
	register(a, huma.Operation{
		OperationID: "retry-run", Method: http.MethodPost, Path: "/runs/{id}/retry", Tags: []string{"runs"}, DefaultStatus: http.StatusAccepted,
		Summary: "Try a run again", Description: "One more attempt of a run that ended badly: 202 as soon as the request is durable. 409 if it succeeded or has not ended.",
	}, a.retry)
}

func (a *API) retry(ctx context.Context, in *RunPath) (*runAnswer, error) {
	run, err := a.service.RetryRun(ctx, in.Namespace, in.ID, service.Actor(ctx))
	if err != nil {
		return nil, err
	}
	return &runAnswer{Status: http.StatusAccepted, Body: viewRun(&run, true)}, nil
}
