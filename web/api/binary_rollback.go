package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
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
		Keyed
		Body *wire.RollbackRequest
	}) (*rollbackAnswer, error) {
		alias := "stable"
		if in.Body != nil && in.Body.Alias != "" {
			alias = in.Body.Alias
		}
		request := service.Request{Namespace: in.Namespace, Operation: "roll-back-binary " + in.Name, Key: in.Key, Asked: alias}
		return once(ctx, a.service, request, func() (*rollbackAnswer, error) {
			binary, err := a.service.Binary(ctx, in.Namespace, in.Name)
			return answerRollback(&binary, latestMove(&binary, alias)), err
		}, func() (*rollbackAnswer, error) {
			binary, move, err := a.service.RollBack(ctx, in.Namespace, in.Name, alias, service.Actor(ctx))
			return answerRollback(&binary, move), err
		})
	})
}

func answerRollback(binary *engine.Binary, move engine.AliasMove) *rollbackAnswer {
	return &rollbackAnswer{Body: wire.Rollback{Move: viewMove(move), Binary: viewBinary(binary, nil)}}
}

// latestMove returns the latest move of an alias that is remembered.
func latestMove(binary *engine.Binary, alias string) engine.AliasMove {
	for _, move := range slices.Backward(binary.AliasHistory) {
		if move.Alias == alias {
			return move
		}
	}
	return engine.AliasMove{Alias: alias, To: binary.Aliases[alias]}
}
