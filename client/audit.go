package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
)

// AuditFilter selects entries of the audit log. Zero fields do not filter.
type AuditFilter struct {
	By    string // a user with all of their tokens, or user/token
	In    string // a namespace
	Text  string
	Since time.Time
	Page
}

// Audit lists who changed what, the newest first.
func (c *Client) Audit(ctx context.Context, filter AuditFilter) (wire.List[wire.AuditEntry], error) {
	query := filter.query()
	set(query, "by", filter.By)
	set(query, "in", filter.In)
	set(query, "q", filter.Text)
	setTime(query, "since", filter.Since)
	return ask[wire.List[wire.AuditEntry]](ctx, c, call{method: http.MethodGet, path: prefix + "/audit", query: query})
}

// VerifyAudit checks that the audit log is what was written, and that it holds the entry with a hash, "" for any.
func (c *Client) VerifyAudit(ctx context.Context, hash string) (wire.AuditCheck, error) {
	query := url.Values{}
	set(query, "hash", hash)
	return ask[wire.AuditCheck](ctx, c, call{method: http.MethodGet, path: prefix + "/audit/verify", query: query})
}
