package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/tidewheel/tidewheel/client/wire"
)

// Secrets lists secrets by name, without their values.
func (c *Client) Secrets(ctx context.Context, page Page) (wire.List[wire.Secret], error) {
	return ask[wire.List[wire.Secret]](ctx, c, call{method: http.MethodGet, path: prefix + "/secrets", query: page.query()})
}

// SetSecret gives a secret a value.
func (c *Client) SetSecret(ctx context.Context, name, value string) (wire.Secret, error) {
	return ask[wire.Secret](ctx, c, call{method: http.MethodPut, path: prefix + "/secrets" + path(name), value: wire.SecretValue{Value: value}})
}

// DeleteSecret deletes a secret; by force also one that definitions refer to.
func (c *Client) DeleteSecret(ctx context.Context, name string, force bool) error {
	query := url.Values{}
	if force {
		query.Set("force", "true")
	}
	_, err := ask[struct{}](ctx, c, call{method: http.MethodDelete, path: prefix + "/secrets" + path(name), query: query})
	return err
}

// RotateSecretsKey lets the server create a new key and reseal all secrets with it.
func (c *Client) RotateSecretsKey(ctx context.Context) (wire.SecretsKey, error) {
	return ask[wire.SecretsKey](ctx, c, call{method: http.MethodPost, path: prefix + "/secrets-key/rotate"})
}
