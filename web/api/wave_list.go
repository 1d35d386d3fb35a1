package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

// WaveChoice is the part of a request that chooses waves of a list.
type WaveChoice struct {
	Statuses []string `query:"status,explode" doc:"One of them; give it more than once, or several with commas between" example:"failed,running"`
	Since    string   `query:"since" doc:"Created or started at or after this time, or since so long ago: 24h" example:"24h"`
	Until    string   `query:"until" doc:"Before this time, or so long ago"`
}

func (a *API) waveList() {
	register(a, huma.Operation{
		OperationID: "list-waves", Method: http.MethodGet, Path: "/waves", Tags: []string{"waves"},
		Summary: "List waves", Description: "The newest first.",
	}, func(ctx context.Context, in *struct {
		InNamespace
		Page
		WaveChoice
		DAG string `query:"dag" doc:"Of this DAG"`
	}) (*pageAnswer[wire.Wave], error) {
		return a.listWaves(ctx, in.Namespace, in.DAG, in.WaveChoice, in.Page)
	})
	register(a, huma.Operation{
		OperationID: "list-dag-waves", Method: http.MethodGet, Path: "/dags/{name}/waves", Tags: []string{"dags"},
		Summary: "List the waves of a DAG", Description: "The newest first.",
	}, func(ctx context.Context, in *struct {
		DefinitionPath
		Page
		WaveChoice
	}) (*pageAnswer[wire.Wave], error) {
		return a.listWaves(ctx, in.Namespace, in.Name, in.WaveChoice, in.Page)
	})
}

func (a *API) listWaves(ctx context.Context, namespace, dag string, choice WaveChoice, page Page) (*pageAnswer[wire.Wave], error) {
	query := service.WaveQuery{Namespace: namespace, DAG: dag, Cursor: page.Cursor, Limit: page.Limit}
	var err error
	if query.Statuses, err = statusesOf(choice.Statuses); err != nil {
		return nil, err
	}
	if query.Since, err = a.instant("since", choice.Since); err != nil {
		return nil, err
	}
	if query.Until, err = a.instant("until", choice.Until); err != nil {
		return nil, err
	}
	waves, next, err := a.service.Waves(ctx, query)
	if err != nil {
		return nil, err
	}
	var items []wire.Wave
	for i := range waves {
		items = append(items, viewWave(&waves[i]))
	}
	return answerPage(items, next), nil
}
