package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/tidewheel/tidewheel/client/wire"
)

// Users lists users by name.
func (c *Client) Users(ctx context.Context, page Page) (wire.List[wire.User], error) {
	return ask[wire.List[wire.User]](ctx, c, call{method: http.MethodGet, path: prefix + "/users", query: page.query()})
}

// User returns a user.
func (c *Client) User(ctx context.Context, name string) (wire.User, error) {
	return ask[wire.User](ctx, c, call{method: http.MethodGet, path: prefix + "/users" + path(name)})
}

// CreateUser makes a user.
func (c *Client) CreateUser(ctx context.Context, user wire.NewUser) (wire.User, error) {
	return ask[wire.User](ctx, c, call{method: http.MethodPost, path: prefix + "/users", value: user})
}

// ChangeUser changes a user.
func (c *Client) ChangeUser(ctx context.Context, name string, change wire.UserChange) (wire.User, error) {
	return ask[wire.User](ctx, c, call{method: http.MethodPut, path: prefix + "/users" + path(name), value: change})
}

// DeleteUser deletes a user.
func (c *Client) DeleteUser(ctx context.Context, name string) error {
	_, err := ask[struct{}](ctx, c, call{method: http.MethodDelete, path: prefix + "/users" + path(name)})
	return err
}

// Me says whose token the client has.
func (c *Client) Me(ctx context.Context) (wire.Identity, error) {
	return ask[wire.Identity](ctx, c, call{method: http.MethodGet, path: prefix + "/users/me"})
}

// Tokens lists one's own API tokens, or all.
func (c *Client) Tokens(ctx context.Context, all bool) (wire.List[wire.Token], error) {
	query := url.Values{}
	if all {
		query.Set("all", "true")
	}
	return ask[wire.List[wire.Token]](ctx, c, call{method: http.MethodGet, path: prefix + "/tokens", query: query})
}

// CreateToken makes an API token.
func (c *Client) CreateToken(ctx context.Context, token wire.NewToken) (wire.MadeToken, error) {
	return ask[wire.MadeToken](ctx, c, call{method: http.MethodPost, path: prefix + "/tokens", value: token})
}

// RevokeToken ends an API token by its id.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	_, err := ask[struct{}](ctx, c, call{method: http.MethodDelete, path: prefix + "/tokens" + path(id)})
	return err
}

// Sessions lists the sessions of a user, "" for one's own.
func (c *Client) Sessions(ctx context.Context, user string) (wire.List[wire.Session], error) {
	query := url.Values{}
	set(query, "user", user)
	return ask[wire.List[wire.Session]](ctx, c, call{method: http.MethodGet, path: prefix + "/sessions", query: query})
}

// EndSession ends a session of a user, "" for one's own, by its id.
func (c *Client) EndSession(ctx context.Context, user, id string) error {
	query := url.Values{}
	set(query, "user", user)
	_, err := ask[struct{}](ctx, c, call{method: http.MethodDelete, path: prefix + "/sessions" + path(id), query: query})
	return err
}
