package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

func (r *definitionRoutes[S, V, G]) get() {
	register(r.API, r.operation("get-"+r.id, http.MethodGet, "/{name}", "Get a "+r.noun, ""), func(ctx context.Context, in *struct {
		DefinitionPath
		IfNoneMatch string `header:"If-None-Match" doc:"An ETag: 304 if the definition still has it"`
	}) (*definitionAnswer[V], error) {
		definition, err := r.service.Get(ctx, in.Namespace, in.Name)
		if err != nil {
			return nil, err
		}
		if tag := tagOf(definition.Revision); in.IfNoneMatch != "" && strings.Contains(in.IfNoneMatch, tag) {
			return nil, huma.ErrorWithHeaders(huma.Status304NotModified(), http.Header{"ETag": {tag}})
		}
		return r.answer(ctx, definition, false)
	})
}
