package api

import (
	"context"

	"github.com/tidewheel/tidewheel/web/service"
)

// once does what a request asks for, or gives what is there by now where the same request was done before under its
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
