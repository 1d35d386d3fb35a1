package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
)

func (a *API) binaryList() {
	register(a, huma.Operation{
		OperationID: "list-binaries", Method: http.MethodGet, Path: "/binaries", Tags: []string{"binaries"},
		Summary: "List binaries", Description: "By name.",
	}, func(ctx context.Context, in *struct {
		InNamespace
		Page
	}) (*pageAnswer[wire.Binary], error) {
		binaries, next, err := a.service.Binaries(ctx, in.Namespace, in.Cursor, in.Limit)
		if err != nil {
			return nil, err
		}
		var items []wire.Binary
		for i := range binaries {
			items = append(items, viewBinary(&binaries[i], nil))
		}
		return answerPage(items, next), nil
	})
}
