package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) jobDelete() {
	register(a, huma.Operation{
		OperationID: "delete-job", Method: http.MethodDelete, Path: "/jobs/{name}", Tags: []string{"jobs"},
		Summary: "Delete a job", Description: "What is planned goes with it, what runs goes on, and its history stays.",
	}, func(ctx context.Context, in *struct {
		JobPath
		IfMatch string `header:"If-Match" doc:"The ETag that was read: 412 if the job was changed since"`
	}) (*nothing, error) {
		revision, err := ifMatch(in.IfMatch)
		if err != nil {
			return nil, err
		}
		err = a.service.DeleteJob(ctx, in.Namespace, in.Name, service.Actor(ctx), revision)
		return &nothing{}, precondition(err, revision)
	})
}
