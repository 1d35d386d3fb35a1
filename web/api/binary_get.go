package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
)

// BinaryPath is the part of a request that names a binary.
type BinaryPath struct {
	InNamespace
	Name string `path:"name" doc:"The binary's name" example:"report"`
}

type binaryAnswer struct {
	Body wire.Binary
}

func (a *API) binaryGet() {
	register(a, huma.Operation{
		OperationID: "get-binary", Method: http.MethodGet, Path: "/binaries/{name}", Tags: []string{"binaries"},
		Summary: "Get a binary",
	}, func(ctx context.Context, in *BinaryPath) (*binaryAnswer, error) {
		binary, err := a.service.Binary(ctx, in.Namespace, in.Name)
		if err != nil {
			return nil, err
		}
		users, err := a.service.JobsUsing(ctx, &binary)
		if err != nil {
			return nil, err
		}
		return &binaryAnswer{Body: viewBinary(&binary, users)}, nil
	})
}
