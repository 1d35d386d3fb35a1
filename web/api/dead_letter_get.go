package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
)

func (a *API) deadLetterGet() {
	register(a, huma.Operation{
		OperationID: "get-dead-letter", Method: http.MethodGet, Path: "/dead-letters/{id}", Tags: []string{"runs"},
		Summary: "Show a dead letter", Description: "Of what it died, after how many attempts, and when. GET /runs/{id} has every attempt.",
	}, func(ctx context.Context, in *RunPath) (*struct{ Body wire.DeadLetter }, error) {
		letter, err := a.service.DeadLetter(ctx, in.Namespace, in.ID)
		if err != nil {
			return nil, err
		}
		return &struct{ Body wire.DeadLetter }{viewDeadLetter(&letter)}, nil
	})
}
