package api

import (
	"context"
	"net/http"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
)

func (r *definitionRoutes[S, V, G]) generations() {
	op := r.operation("list-"+r.list, http.MethodGet, "/{name}/generations", "The forms that a "+r.noun+" has had", "The newest first.")
	register(r.API, op, func(ctx context.Context, in *struct {
		DefinitionPath
		Page
	}) (*pageAnswer[G], error) {
		generations, next, err := r.service.Generations(ctx, in.Namespace, in.Name, in.Cursor, in.Limit)
		if err != nil {
			return nil, err
		}
		var items []G
		for i := range generations {
			items = append(items, r.generation(&generations[i]))
		}
		return answerPage(items, next), nil
	})
}

func (r *definitionRoutes[S, V, G]) difference() {
	op := r.operation("compare-"+r.list, http.MethodGet, "/{name}/difference", "How two forms of a "+r.noun+" differ",
		"As a unified difference of their YAML.")
	register(r.API, op, func(ctx context.Context, in *struct {
		DefinitionPath
		From int64 `query:"from" required:"true" minimum:"1" doc:"A generation"`
		To   int64 `query:"to" required:"true" minimum:"1" doc:"Another"`
	}) (*struct{ Body wire.Difference }, error) {
		difference, err := r.service.Difference(ctx, in.Namespace, in.Name, in.From, in.To)
		if err != nil {
			return nil, err
		}
		return &struct{ Body wire.Difference }{wire.Difference{From: in.From, To: in.To, Diff: difference}}, nil
	})
}

func (r *definitionRoutes[S, V, G]) restore() {
	op := r.operation("restore-"+r.id, http.MethodPost, "/{name}/restore", "Restore an earlier form of a "+r.noun,
		"An edit like any other: it makes a new generation, and asking twice changes nothing.")
	register(r.API, op, func(ctx context.Context, in *struct {
		DefinitionPath
		Keyed
		Body wire.RestoreRequest
	}) (*definitionAnswer[V], error) {
		request := service.Request{Namespace: in.Namespace, Operation: "restore-" + r.id + " " + in.Name, Key: in.Key, Asked: in.Body}
		definition, err := once(ctx, r.API.service, request, func() (engine.Definition[S], error) {
			return r.service.Get(ctx, in.Namespace, in.Name)
		}, func() (engine.Definition[S], error) {
			definition, _, err := r.service.Restore(ctx, in.Namespace, in.Name, in.Body.Generation, service.Actor(ctx), in.Body.Message)
			return definition, err
		})
		if err != nil {
			return nil, err
		}
		return r.answer(ctx, definition, false)
	})
}
