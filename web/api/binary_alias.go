package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) binaryAlias() {
	register(a, huma.Operation{
		OperationID: "move-alias", Method: http.MethodPut, Path: "/binaries/{name}/aliases/{alias}", Tags: []string{"binaries"},
		Summary: "Move an alias to a version", Description: "Runs that begin from now on follow it.",
	}, func(ctx context.Context, in *struct {
		BinaryPath
		Alias string `path:"alias" example:"stable"`
		Body  wire.AliasRequest
	}) (*binaryAnswer, error) {
		binary, err := a.service.MoveAlias(ctx, in.Namespace, in.Name, in.Alias, in.Body.Version, service.Actor(ctx))
		if err != nil {
			return nil, err
		}
		return &binaryAnswer{Body: viewBinary(&binary, nil)}, nil
	})
}
