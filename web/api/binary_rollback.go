package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

type rollbackAnswer struct {
	Body wire.Rollback
}

func (a *API) binaryRollback() {
	register(a, huma.Operation{
		OperationID: "roll-back-binary", Method: http.MethodPost, Path: "/binaries/{name}/rollback", Tags: []string{"binaries"},
		Summary: "Point an alias back", Description: "To where it pointed before its latest move; stable, unless another alias is named.",
	}, func(ctx context.Context, in *struct {
		BinaryPath
		Body *wire.RollbackRequest
	}) (*rollbackAnswer, error) {
		alias := ""
		if in.Body != nil {
			alias = in.Body.Alias
		}
		binary, move, err := a.service.RollBack(ctx, in.Namespace, in.Name, alias, service.Actor(ctx))
		if err != nil {
			return nil, err
		}
		return &rollbackAnswer{Body: wire.Rollback{Move: viewMove(move), Binary: viewBinary(&binary, nil)}}, nil
	})
}
