package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

// runToken is the security of what is for running programs.
var runToken = []map[string][]string{{"run_token": {}}}

// EffectPath is the part of a request that names an effect. The run is the one whose token is sent.
type EffectPath struct {
	Key string `path:"key" doc:"The program's own name for what it does: letters, digits and - _ . :" example:"charge-2026-01"`
}

type effectAnswer struct {
	Status int
	Body   wire.Effect
}

func (a *API) effectOpen() {
	register(a, huma.Operation{
		OperationID: "open-effect", Method: http.MethodPost, Path: "/effects/{key}", Tags: []string{"effects"}, Security: runToken,
		Summary: "Open an effect, before doing it",
		Description: "201: it was not opened before, so do it. 200: it was opened and never closed, by an earlier attempt or by this one; " +
			"it may have been done, so look first. 409 effect_done: it is done; result is what it was closed with. " +
			"412 fenced: the attempt that asks is over and another one may have taken its place; stop, and change nothing.",
	}, func(ctx context.Context, in *EffectPath) (*effectAnswer, error) {
		program, err := programOf(ctx)
		if err != nil {
			return nil, err
		}
		effect, first, err := a.service.OpenEffect(ctx, program, in.Key)
		if err != nil {
			return nil, doneWith(err)
		}
		return &effectAnswer{Status: statusOf(first), Body: viewEffect(&effect)}, nil
	})
	responses := a.operation(http.MethodPost, Prefix+"/effects/{key}").Responses
	responses["200"].Description = "It was opened and never closed: look before you do it"
	responses["201"] = &huma.Response{Description: "It is opened for the first time: do it", Content: responses["200"].Content}
}

// programOf reports which program asks.
func programOf(ctx context.Context) (service.Program, error) {
	program, is := service.ProgramOf(ctx)
	if !is {
		return program, NewProblem(http.StatusUnauthorized, "unauthenticated", "effects are opened by the run that they are of, with its TIDEWHEEL_RUN_TOKEN")
	}
	return program, nil
}

// doneWith returns a problem that holds the result with which an effect was closed.
func doneWith(err error) error {
	var done *service.EffectDoneError
	if !errors.As(err, &done) {
		return err
	}
	problem := NewProblem(http.StatusConflict, "effect_done", done.Error()+": do not do it again")
	if problem.Result = done.Effect.Result; problem.Result == nil {
		problem.Result = []byte("null")
	}
	return problem
}
