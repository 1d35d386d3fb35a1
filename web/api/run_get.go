package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// RunPath is the part of a request that names a run.
type RunPath struct {
	InNamespace
	ID string `path:"id" doc:"The run's id" example:"h5zq3x7rk2mnp4ab-s1767229200000"`
}

func (a *API) runGet() {
	register(a, huma.Operation{
		OperationID: "get-run", Method: http.MethodGet, Path: "/runs/{id}", Tags: []string{"runs"},
		Summary: "Get a run", Description: "With its attempts, and the last lines of what each printed.",
	}, func(ctx context.Context, in *RunPath) (*runAnswer, error) {
		run, err := a.service.Run(ctx, in.Namespace, in.ID)
		if err != nil {
			return nil, err
		}
		view := viewRun(&run, true)
		view.Unserved = a.service.UnschedulableReason(ctx, &run)
		return &runAnswer{Status: http.StatusOK, Body: view}, nil
	})
}
