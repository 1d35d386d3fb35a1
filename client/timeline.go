package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/tidewheel/tidewheel/client/wire"
)

// Timeline reports what ran and what is to come, with what the query asks for: from, until, q, label, tier, status, after, limit.
func (c *Client) Timeline(ctx context.Context, query url.Values) (wire.Timeline, error) {
	return ask[wire.Timeline](ctx, c, call{method: http.MethodGet, path: prefix + "/timeline", query: query})
}

// Collisions reports when more runs are planned than there are slots.
func (c *Client) Collisions(ctx context.Context) (wire.Collisions, error) {
	return ask[wire.Collisions](ctx, c, call{method: http.MethodGet, path: prefix + "/collisions"})
}

// Spread spreads schedules by H, or says what would become of them.
func (c *Client) Spread(ctx context.Context, request wire.SpreadRequest) ([]wire.SpreadResult, error) {
	list, err := ask[wire.List[wire.SpreadResult]](ctx, c, call{method: http.MethodPost, path: prefix + "/collisions/spread", value: request})
	return list.Items, err
}
