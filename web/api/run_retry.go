package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) runRetry() {
	register(a, huma.Operation{
		OperationID: "retry-run", Method: http.MethodPost, Path: "/runs/{id}/retry", Tags: []string{"runs"}, DefaultStatus: http.StatusAccepted,
		Summary: "Try a run again", Description: "One more attempt of a run that ended badly: 202 as soon as the request is durable. 409 if it succeeded or has not ended.",
	}, func(ctx context.Context, in *struct {
		RunPath
		Keyed
	}) (*runAnswer, error) {
		request := service.Request{Namespace: in.Namespace, Operation: "retry-run " + in.ID, Key: in.Key}
		return a.triedAgain(ctx, request, &in.RunPath, a.service.RetryRun)
	})
}

// triedAgain starts one more attempt of a run, once for each key.
func (a *API) triedAgain(ctx context.Context, request service.Request, in *RunPath,
	again func(ctx context.Context, namespace, id, by string) (engine.Run, error),
) (*runAnswer, error) {
	run, err := once(ctx, a.service, request, func() (engine.Run, error) {
		return a.service.Run(ctx, in.Namespace, in.ID)
	}, func() (engine.Run, error) {
		return again(ctx, in.Namespace, in.ID, service.Actor(ctx))
	})
	if err != nil {
		return nil, err
	}
	return &runAnswer{Status: http.StatusAccepted, Body: viewRun(&run, true)}, nil
}
