package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
)

type clocksAnswer struct {
	Body wire.Clocks
}

func (a *API) clockCheck() {
	register(a, huma.Operation{
		OperationID: "check-clocks", Method: http.MethodGet, Path: "/clocks", Tags: []string{"cluster"},
		Summary: "How far apart the clocks of the nodes are",
	}, func(ctx context.Context, _ *struct{}) (*clocksAnswer, error) {
		clocks, problem, err := a.service.Clocks(ctx)
		if err != nil {
			return nil, err
		}
		return &clocksAnswer{Body: wire.Clocks{Apart: clocks.Apart().Seconds(), Problem: problem}}, nil
	})
}
