package client

import (
	"context"
	"net/http"

	"github.com/tidewheel/tidewheel/client/wire"
)

// Namespaces lists the namespaces in which the token has a role, by name.
func (c *Client) Namespaces(ctx context.Context) (wire.List[wire.Namespace], error) {
	return ask[wire.List[wire.Namespace]](ctx, c, call{method: http.MethodGet, path: prefix + "/namespaces"})
}

// Namespace shows a namespace.
func (c *Client) Namespace(ctx context.Context, name string) (wire.Namespace, error) {
	return ask[wire.Namespace](ctx, c, call{method: http.MethodGet, path: prefix + "/namespaces" + path(name)})
}

// CreateNamespace makes a namespace.
func (c *Client) CreateNamespace(ctx context.Context, namespace wire.NewNamespace) (wire.Namespace, error) {
	return ask[wire.Namespace](ctx, c, call{method: http.MethodPost, path: prefix + "/namespaces", value: namespace})
}

// SetNamespace changes what can be changed of a namespace.
func (c *Client) SetNamespace(ctx context.Context, name string, settings wire.NamespaceSettings) (wire.Namespace, error) {
	return ask[wire.Namespace](ctx, c, call{method: http.MethodPut, path: prefix + "/namespaces" + path(name), value: settings})
}

// DeleteNamespace deletes a namespace that owns nothing any more.
func (c *Client) DeleteNamespace(ctx context.Context, name string) error {
	_, err := ask[struct{}](ctx, c, call{method: http.MethodDelete, path: prefix + "/namespaces" + path(name)})
	return err
}

// Members lists who has a role in a namespace.
func (c *Client) Members(ctx context.Context, namespace string) (wire.List[wire.Member], error) {
	return ask[wire.List[wire.Member]](ctx, c, call{method: http.MethodGet, path: prefix + "/namespaces" + path(namespace, "members")})
}

// SetMember gives a user a role in a namespace.
func (c *Client) SetMember(ctx context.Context, namespace, user, role string) (wire.Member, error) {
	return ask[wire.Member](ctx, c, call{method: http.MethodPut, path: prefix + "/namespaces" + path(namespace, "members", user), value: wire.MemberRole{Role: role}})
}

// RemoveMember takes a user's role in a namespace away.
func (c *Client) RemoveMember(ctx context.Context, namespace, user string) error {
	_, err := ask[struct{}](ctx, c, call{method: http.MethodDelete, path: prefix + "/namespaces" + path(namespace, "members", user)})
	return err
}
