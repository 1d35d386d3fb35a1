package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) jobPause() {
	register(a, huma.Operation{
		OperationID: "pause-job", Method: http.MethodPost, Path: "/jobs/{name}/pause", Tags: []string{"jobs"},
		Summary: "Pause a job", Description: "Its schedule stands still; what runs goes on.",
	}, func(ctx context.Context, in *struct {
		JobPath
		Reason string `query:"reason" doc:"Why, for people; kept until it is resumed"`
	}) (*jobAnswer, error) {
		job, err := a.service.PauseJob(ctx, in.Namespace, in.Name, service.Actor(ctx), in.Reason)
		if err != nil {
			return nil, err
		}
		return a.answerJob(ctx, job, false)
	})
}
