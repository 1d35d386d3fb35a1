package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

const keyHeader = "Idempotency-Key"

// Keyed is the part of a request that may be sent again without being done again.
type Keyed struct {
	Key string `header:"Idempotency-Key" maxLength:"255" doc:"The same key is the same request: sent again it changes nothing, and with another body it is refused (422, key_reused)"`
}

// refuseIdleKey answers a POST with 400 whose Idempotency-Key would be ignored: a client that sends one relies on it.
func (a *API) refuseIdleKey(ctx huma.Context, next func(huma.Context)) {
	op := ctx.Operation()
	takes := slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.In == "header" && p.Name == keyHeader })
	if op.Method != http.MethodPost || takes || ctx.Header(keyHeader) == "" {
		next(ctx)
		return
	}
	message := "this operation takes no Idempotency-Key: leave it out, and look at what is there before the request is sent again"
	problem := NewProblem(http.StatusBadRequest, "key_not_supported", message, wire.FieldError{Location: "header." + keyHeader, Message: message})
	_ = huma.WriteErr(a.huma, ctx, problem.Status, problem.Detail, problem) // a client that has gone needs no answer
}

// once does what a request asks for, or returns what is there by now where the same request was done before under its
// Idempotency-Key. One with the key of another request is refused.
func once[T any](ctx context.Context, s *service.Service, request service.Request, present, do func() (T, error)) (answer T, err error) {
	repeated, err := s.Repeated(ctx, request)
	switch {
	case err != nil:
		return answer, err
	case repeated:
		return present()
	}
	if answer, err = do(); err != nil {
		return answer, err
	}
	return answer, s.Remember(ctx, request)
}
