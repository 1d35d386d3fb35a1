package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/engine"
)

type effectCloseRequest struct {
	EffectPath
	Content
}

func (a *API) effectClose() {
	register(a, huma.Operation{
		OperationID: "close-effect", Method: http.MethodPut, Path: "/effects/{key}", Tags: []string{"effects"}, Security: runToken,
		Summary: "Close an effect, after doing it",
		Description: "The body is the result: any JSON of at most 64 KiB, or nothing. Every later attempt gets it. " +
			"To close it again with the same result changes nothing; with another one it is 409 effect_done. 412 fenced: as when opening.",
	}, func(ctx context.Context, in *effectCloseRequest) (*effectAnswer, error) {
		program, err := programOf(ctx)
		if err != nil {
			return nil, err
		}
		result, err := in.smallOrNone(2 * engine.MaxEffectResult) // as it is written, with its spaces
		if err != nil {
			return nil, err
		}
		effect, err := a.service.CloseEffect(ctx, program, in.Key, result)
		if err != nil {
			return nil, doneWith(err)
		}
		return &effectAnswer{Status: http.StatusOK, Body: viewEffect(&effect)}, nil
	})
	a.takes(http.MethodPut, "/effects/{key}", "The result: any JSON, or nothing", map[string]*huma.MediaType{
		"application/json": {Schema: &huma.Schema{Description: "Any JSON", Examples: []any{map[string]any{"charge": "ch_42", "amount": 1995}}}},
	})
	a.operation(http.MethodPut, Prefix+"/effects/{key}").RequestBody.Required = false
}
