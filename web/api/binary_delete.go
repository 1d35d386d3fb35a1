package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

func (a *API) binaryDelete() {
	register(a, huma.Operation{
		OperationID: "delete-binary", Method: http.MethodDelete, Path: "/binaries/{name}", Tags: []string{"binaries"},
		Summary: "Delete a binary", Description: "Its name and versions, unless a job uses it (409).",
	}, func(ctx context.Context, in *BinaryPath) (*nothing, error) {
		return &nothing{}, a.service.DeleteBinary(ctx, in.Namespace, in.Name)
	})
}
