package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
)

func (a *API) streamList() {
	register(a, huma.Operation{
		OperationID: "list-streams", Method: http.MethodGet, Path: "/streams", Tags: []string{"cluster"},
		Summary: "How large the streams and buckets of the queue are",
	}, func(ctx context.Context, _ *struct{}) (*pageAnswer[wire.Stream], error) {
		streams, err := a.service.Streams(ctx)
		if err != nil {
			return nil, err
		}
		items := make([]wire.Stream, 0, len(streams))
		for i := range streams {
			s := &streams[i]
			items = append(items, wire.Stream{Name: s.Name, Messages: s.Messages, Bytes: s.Bytes, Limit: s.Limit, Oldest: s.Oldest, Problem: s.Problem})
		}
		return answerPage(items, ""), nil
	})
}
