package api

import (
	"context"
	"net/http"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

func (r *definitionRoutes[S, V, G]) label() {
	op := r.operation("label-"+r.id, http.MethodPost, "/{name}/labels", "Change the labels of a "+r.noun,
		"Sets labels and removes others; the rest of the definition stays as it is written. An edit of its own, unless nothing changes.")
	register(r.API, op, func(ctx context.Context, in *struct {
		DefinitionPath
		Body wire.LabelChange
	}) (*definitionAnswer[V], error) {
		change := spec.LabelChange{Set: in.Body.Set, Remove: in.Body.Remove}
		definition, _, err := r.service.Label(ctx, in.Namespace, in.Name, service.Actor(ctx), change)
		if err != nil {
			return nil, err
		}
		return r.answer(ctx, definition, false)
	})
}
