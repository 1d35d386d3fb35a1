package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) jobDifference() {
	register(a, huma.Operation{
		OperationID: "compare-generations", Method: http.MethodGet, Path: "/jobs/{name}/difference", Tags: []string{"jobs"},
		Summary: "How two forms of a job differ", Description: "As a unified difference of their YAML.",
	}, func(ctx context.Context, in *struct {
		JobPath
		From int64 `query:"from" required:"true" minimum:"1" doc:"A generation"`
		To   int64 `query:"to" required:"true" minimum:"1" doc:"Another"`
	}) (*struct{ Body wire.Difference }, error) {
		difference, err := a.service.GenerationDifference(ctx, in.Namespace, in.Name, in.From, in.To)
		if err != nil {
			return nil, err
		}
		return &struct{ Body wire.Difference }{wire.Difference{From: in.From, To: in.To, Diff: difference}}, nil
	})
}

func (a *API) jobRestore() {
	register(a, huma.Operation{
		OperationID: "restore-job", Method: http.MethodPost, Path: "/jobs/{name}/restore", Tags: []string{"jobs"},
		Summary: "Restore an earlier form of a job", Description: "An edit like any other: it makes a new generation, and asking twice changes nothing.",
	}, func(ctx context.Context, in *struct {
		JobPath
		Key  string `header:"Idempotency-Key" maxLength:"255" doc:"The same key is the same request: sent again it changes nothing, and with another body it is refused (422, key_reused)"`
		Body wire.RestoreRequest
	}) (*jobAnswer, error) {
		request := service.Request{Namespace: in.Namespace, Operation: "restore-job " + in.Name, Key: in.Key, Asked: in.Body}
		job, err := once(ctx, a.service, request, func() (engine.Job, error) {
			return a.service.Job(ctx, in.Namespace, in.Name)
		}, func() (engine.Job, error) {
			job, _, err := a.service.RestoreGeneration(ctx, in.Namespace, in.Name, in.Body.Generation, service.Actor(ctx), in.Body.Message)
			return job, err
		})
		if err != nil {
			return nil, err
		}
		return a.answerJob(ctx, job, false)
	})
}
