package access

import "context"

type scopeKey struct{}

// InNamespace returns a context of a request that is about a namespace, which its identity may at least read.
func InNamespace(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, scopeKey{}, name)
}

// NamespaceOf returns the namespace that a request is about; "" where it is about none.
func NamespaceOf(ctx context.Context) string {
	name, _ := ctx.Value(scopeKey{}).(string)
	return name
}
