package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) dagDelete() {
	register(a, huma.Operation{
		OperationID: "delete-dag", Method: http.MethodDelete, Path: "/dags/{name}", Tags: []string{"dags"},
		Summary: "Delete a DAG", Description: "What is planned goes with it, a wave that is open is cancelled, and its history stays.",
	}, func(ctx context.Context, in *struct {
		DAGPath
		IfMatch string `header:"If-Match" doc:"The ETag that was read: 412 if the DAG was changed since"`
	}) (*nothing, error) {
		revision, err := ifMatch(in.IfMatch)
		if err != nil {
			return nil, err
		}
		err = a.service.DeleteDAG(ctx, in.Namespace, in.Name, service.Actor(ctx), revision)
		return &nothing{}, precondition(err, revision)
	})
}
