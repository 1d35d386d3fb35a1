package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
)

// WavePath is the part of a request that names a wave.
type WavePath struct {
	InNamespace
	ID string `path:"id" doc:"The wave's id" example:"h5zq3x7rk2mnp4ab-w7"`
}

// waveAnswer is one wave.
type waveAnswer struct {
	Status   int
	Location string `header:"Location" doc:"Where a wave lies that was made"`
	Body     wire.Wave
}

func (a *API) waveGet() {
	register(a, huma.Operation{
		OperationID: "get-wave", Method: http.MethodGet, Path: "/waves/{id}", Tags: []string{"waves"},
		Summary: "Get a wave", Description: "With how far each of its tasks has come, and the way through them that takes longest.",
	}, func(ctx context.Context, in *WavePath) (*struct{ Body wire.WaveDetail }, error) {
		detail, err := a.service.WaveDetail(ctx, in.Namespace, in.ID)
		if err != nil {
			return nil, err
		}
		return &struct{ Body wire.WaveDetail }{viewWaveDetail(detail, a.config.Now())}, nil
	})
}
