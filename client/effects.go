package client

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/tidewheel/tidewheel/client/wire"
)

// RunEffects lists the effects of a run, by key.
func (c *Client) RunEffects(ctx context.Context, run string, page Page) (wire.List[wire.Effect], error) {
	return ask[wire.List[wire.Effect]](ctx, c, call{method: http.MethodGet, path: prefix + "/runs" + path(run, "effects"), query: page.query()})
}

// OpenEffect opens an effect before it is done; the client's token must be the run's. first reports whether no attempt has opened
// it before: otherwise it may have been done, and is to be looked for. An effect that is done is an *APIError with the
// code effect_done and the result that it was closed with, and an attempt that is over one with the code fenced.
func (c *Client) OpenEffect(ctx context.Context, key string) (effect wire.Effect, first bool, err error) {
	response, err := c.send(ctx, call{method: http.MethodPost, path: prefix + "/effects" + path(key)})
	if err != nil {
		return effect, false, err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&effect); err != nil {
		return effect, false, c.broke(ctx, err)
	}
	return effect, response.StatusCode == http.StatusCreated, nil
}

// CloseEffect records that an effect is done, with a result (any JSON, nil for nothing) that later attempts get.
func (c *Client) CloseEffect(ctx context.Context, key string, result json.RawMessage) (wire.Effect, error) {
	request := call{method: http.MethodPut, path: prefix + "/effects" + path(key)}
	if result != nil {
		request.value = result
	}
	return ask[wire.Effect](ctx, c, request)
}
