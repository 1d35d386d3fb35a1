package client

import (
	"context"
	"net/http"

	"github.com/tidewheel/tidewheel/client/wire"
)

// CheckBinaries has the server read the stored bytes of binaries, and returns what is missing or damaged.
func (c *Client) CheckBinaries(ctx context.Context) (wire.BinaryCheck, error) {
	return ask[wire.BinaryCheck](ctx, c, call{method: http.MethodGet, path: prefix + "/binary-check"})
}
