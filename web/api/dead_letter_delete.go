package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

func (a *API) deadLetterDelete() {
	register(a, huma.Operation{
		OperationID: "delete-dead-letter", Method: http.MethodDelete, Path: "/dead-letters/{id}", Tags: []string{"runs"},
		Summary: "Purge a dead letter", Description: "Its run stays in the history.",
	}, func(ctx context.Context, in *RunPath) (*nothing, error) {
		return &nothing{}, a.service.PurgeDeadLetter(ctx, in.Namespace, in.ID)
	})
}
