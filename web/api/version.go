package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
)

func (a *API) version() {
	register(a, huma.Operation{
		OperationID: "get-version", Method: http.MethodGet, Path: "/version", Tags: []string{"cluster"},
		Summary: "Which version of Tidewheel answers",
	}, func(context.Context, *struct{}) (*struct{ Body wire.Version }, error) {
		return &struct{ Body wire.Version }{wire.Version{Version: a.config.Version}}, nil
	})
}
