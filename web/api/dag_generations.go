package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) dagGenerations() {
	register(a, huma.Operation{
		OperationID: "list-dag-generations", Method: http.MethodGet, Path: "/dags/{name}/generations", Tags: []string{"dags"},
		Summary: "The forms that a DAG has had", Description: "The newest first.",
	}, func(ctx context.Context, in *struct {
		DAGPath
		Page
	}) (*pageAnswer[wire.DAGGeneration], error) {
		generations, next, err := a.service.DAGGenerationsPage(ctx, in.Namespace, in.Name, in.Cursor, in.Limit)
		if err != nil {
			return nil, err
		}
		var items []wire.DAGGeneration
		for _, g := range generations {
			items = append(items, wire.DAGGeneration{Generation: g.Generation, At: g.At, By: g.By, Message: g.Message, Spec: g.Spec})
		}
		return answerPage(items, next), nil
	})
}

func (a *API) dagDifference() {
	register(a, huma.Operation{
		OperationID: "compare-dag-generations", Method: http.MethodGet, Path: "/dags/{name}/difference", Tags: []string{"dags"},
		Summary: "How two forms of a DAG differ", Description: "As a unified difference of their YAML.",
	}, func(ctx context.Context, in *struct {
		DAGPath
		From int64 `query:"from" required:"true" minimum:"1" doc:"A generation"`
		To   int64 `query:"to" required:"true" minimum:"1" doc:"Another"`
	}) (*struct{ Body wire.Difference }, error) {
		difference, err := a.service.DAGDifference(ctx, in.Namespace, in.Name, in.From, in.To)
		if err != nil {
			return nil, err
		}
		return &struct{ Body wire.Difference }{wire.Difference{From: in.From, To: in.To, Diff: difference}}, nil
	})
}

func (a *API) dagRestore() {
	register(a, huma.Operation{
		OperationID: "restore-dag", Method: http.MethodPost, Path: "/dags/{name}/restore", Tags: []string{"dags"},
		Summary: "Restore an earlier form of a DAG", Description: "An edit like any other: it makes a new generation, and asking twice changes nothing.",
	}, func(ctx context.Context, in *struct {
		DAGPath
		Key  string `header:"Idempotency-Key" maxLength:"255" doc:"The same key is the same request: sent again it changes nothing, and with another body it is refused (422, key_reused)"`
		Body wire.RestoreRequest
	}) (*dagAnswer, error) {
		request := service.Request{Namespace: in.Namespace, Operation: "restore-dag " + in.Name, Key: in.Key, Asked: in.Body}
		dag, err := once(ctx, a.service, request, func() (engine.DAG, error) {
			return a.service.DAG(ctx, in.Namespace, in.Name)
		}, func() (engine.DAG, error) {
			dag, _, err := a.service.RestoreDAG(ctx, in.Namespace, in.Name, in.Body.Generation, service.Actor(ctx), in.Body.Message)
			return dag, err
		})
		if err != nil {
			return nil, err
		}
		return a.answerDAG(ctx, dag, false)
	})
}
