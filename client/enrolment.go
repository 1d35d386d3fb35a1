package client

import (
	"context"
	"net/http"

	"github.com/tidewheel/tidewheel/client/wire"
)

// CreateExecutorToken makes a token that enrols one executor.
func (c *Client) CreateExecutorToken(ctx context.Context, token wire.NewExecutorToken) (wire.ExecutorToken, error) {
	return ask[wire.ExecutorToken](ctx, c, call{method: http.MethodPost, path: prefix + "/executor-tokens", value: token})
}

// EnrolExecutor uses such a token up.
func (c *Client) EnrolExecutor(ctx context.Context, enrolment *wire.ExecutorEnrolment) (wire.ExecutorCredentials, error) {
	return ask[wire.ExecutorCredentials](ctx, c, call{method: http.MethodPost, path: prefix + "/enrolled-executors", value: enrolment})
}

// RenewExecutor asks for new credentials of an enrolled executor.
func (c *Client) RenewExecutor(ctx context.Context, proof *wire.ExecutorProof) (wire.ExecutorCredentials, error) {
	return ask[wire.ExecutorCredentials](ctx, c, call{method: http.MethodPost, path: prefix + "/enrolled-executors" + path(proof.Name, "renew"), value: proof})
}

// EnrolledExecutors lists executors with credentials of their own, by name.
func (c *Client) EnrolledExecutors(ctx context.Context) (wire.List[wire.EnrolledExecutor], error) {
	return ask[wire.List[wire.EnrolledExecutor]](ctx, c, call{method: http.MethodGet, path: prefix + "/enrolled-executors"})
}

// RevokeExecutor ends the enrolment of an executor.
func (c *Client) RevokeExecutor(ctx context.Context, name string) error {
	_, err := ask[struct{}](ctx, c, call{method: http.MethodDelete, path: prefix + "/enrolled-executors" + path(name)})
	return err
}
