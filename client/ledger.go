package client

import (
	"context"
	"net/http"

	"github.com/tidewheel/tidewheel/client/wire"
)

// LedgerCheck reports what the check of the slot ledger has found so far.
func (c *Client) LedgerCheck(ctx context.Context) (wire.LedgerCheck, error) {
	return ask[wire.LedgerCheck](ctx, c, call{method: http.MethodGet, path: prefix + "/ledger-check"})
}

// CheckLedger has the slot ledger checked at once, and reports what was found.
func (c *Client) CheckLedger(ctx context.Context) (wire.LedgerCheck, error) {
	return ask[wire.LedgerCheck](ctx, c, call{method: http.MethodPost, path: prefix + "/ledger-check"})
}
