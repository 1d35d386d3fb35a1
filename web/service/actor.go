package service

import "context"

type actorKey struct{}

// WithActor says on whose behalf what follows is done.
func WithActor(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, actorKey{}, name)
}

// Actor tells on whose behalf a request is made; "" where nobody has said so.
func Actor(ctx context.Context) string {
	name, _ := ctx.Value(actorKey{}).(string)
	return name
}
