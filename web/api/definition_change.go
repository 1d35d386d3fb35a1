package api

import (
	"context"
	"net/http"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
)

func (r *definitionRoutes[S, V, G]) pause() {
	op := r.operation("pause-"+r.id, http.MethodPost, "/{name}/pause", "Pause a "+r.noun, r.pauseWords)
	register(r.API, op, func(ctx context.Context, in *struct {
		DefinitionPath
		Keyed
		Reason string `query:"reason" doc:"Why, for people; kept until it is resumed"`
	}) (*definitionAnswer[V], error) {
		request := service.Request{Namespace: in.Namespace, Operation: "pause-" + r.id + " " + in.Name, Key: in.Key, Asked: in.Reason}
		definition, err := once(ctx, r.API.service, request, func() (engine.Definition[S], error) {
			return r.service.Get(ctx, in.Namespace, in.Name)
		}, func() (engine.Definition[S], error) {
			return r.service.Pause(ctx, in.Namespace, in.Name, service.Actor(ctx), in.Reason)
		})
		if err != nil {
			return nil, err
		}
		return r.answer(ctx, definition, false)
	})
}

func (r *definitionRoutes[S, V, G]) resume() {
	op := r.operation("resume-"+r.id, http.MethodPost, "/{name}/resume", "Resume a "+r.noun,
		"Its schedules start again; slots of the pause are dealt with as its catch-up policy says.")
	register(r.API, op, func(ctx context.Context, in *struct {
		DefinitionPath
		Keyed
	}) (*definitionAnswer[V], error) {
		request := service.Request{Namespace: in.Namespace, Operation: "resume-" + r.id + " " + in.Name, Key: in.Key}
		definition, err := once(ctx, r.API.service, request, func() (engine.Definition[S], error) {
			return r.service.Get(ctx, in.Namespace, in.Name)
		}, func() (engine.Definition[S], error) {
			return r.service.Resume(ctx, in.Namespace, in.Name, service.Actor(ctx))
		})
		if err != nil {
			return nil, err
		}
		return r.answer(ctx, definition, false)
	})
}

func (r *definitionRoutes[S, V, G]) delete() {
	op := r.operation("delete-"+r.id, http.MethodDelete, "/{name}", "Delete a "+r.noun, r.deleteWords)
	register(r.API, op, func(ctx context.Context, in *struct {
		DefinitionPath
		IfMatch string `header:"If-Match" doc:"The ETag that was read: 412 if the definition was changed since"`
	}) (*nothing, error) {
		revision, err := ifMatch(in.IfMatch)
		if err != nil {
			return nil, err
		}
		err = r.service.Delete(ctx, in.Namespace, in.Name, service.Actor(ctx), revision)
		return &nothing{}, precondition(err, revision)
	})
}
