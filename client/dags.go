package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
)

// DAGFilter selects DAGs.
type DAGFilter struct {
	Text   string // in the name
	Paused bool   // only those that are paused
	Page
}

// DAGs lists DAGs by name.
func (c *Client) DAGs(ctx context.Context, filter DAGFilter) (wire.List[wire.DAG], error) {
	query := filter.query()
	set(query, "q", filter.Text)
	if filter.Paused {
		query.Set("paused", "true")
	}
	return ask[wire.List[wire.DAG]](ctx, c, call{method: http.MethodGet, path: prefix + "/dags", query: query})
}

// DAG gives a DAG.
func (c *Client) DAG(ctx context.Context, name string) (wire.DAG, error) {
	return ask[wire.DAG](ctx, c, call{method: http.MethodGet, path: prefix + "/dags" + path(name)})
}

// CreateDAG creates a DAG; definition is JSON, or a value that encodes to it. A name that is taken is an *APIError with
// the code dag_exists or name_taken.
func (c *Client) CreateDAG(ctx context.Context, definition any) (wire.DAG, error) {
	return ask[wire.DAG](ctx, c, call{method: http.MethodPost, path: prefix + "/dags", value: definition})
}

// PutDAG creates or replaces a DAG. ifRevision, when not 0, is the revision that it must have.
func (c *Client) PutDAG(ctx context.Context, name string, definition any, ifRevision int64, message string) (wire.DAG, error) {
	query := url.Values{}
	set(query, "message", message)
	return ask[wire.DAG](ctx, c, call{method: http.MethodPut, path: prefix + "/dags" + path(name), query: query, value: definition, header: ifMatch(ifRevision)})
}

// DeleteDAG deletes a DAG. ifRevision, when not 0, is the revision that it must have.
func (c *Client) DeleteDAG(ctx context.Context, name string, ifRevision int64) error {
	_, err := ask[struct{}](ctx, c, call{method: http.MethodDelete, path: prefix + "/dags" + path(name), header: ifMatch(ifRevision)})
	return err
}

// RunDAG asks for a wave by hand. key makes asking twice the same as asking once; "" asks anew each time.
func (c *Client) RunDAG(ctx context.Context, name string, request wire.WaveRequest, key string) (wire.Wave, error) {
	return ask[wire.Wave](ctx, c, call{method: http.MethodPost, path: prefix + "/dags" + path(name, "run"), value: request, header: idempotent(key)})
}

// PauseDAG stops the schedules of a DAG's roots. The reason is for people and may be "".
func (c *Client) PauseDAG(ctx context.Context, name, reason string) (wire.DAG, error) {
	query := url.Values{}
	set(query, "reason", reason)
	return ask[wire.DAG](ctx, c, call{method: http.MethodPost, path: prefix + "/dags" + path(name, "pause"), query: query})
}

// ResumeDAG lets them go on.
func (c *Client) ResumeDAG(ctx context.Context, name string) (wire.DAG, error) {
	return ask[wire.DAG](ctx, c, call{method: http.MethodPost, path: prefix + "/dags" + path(name, "resume")})
}

// BackfillDAG makes waves of past slots, or tells which it would make.
func (c *Client) BackfillDAG(ctx context.Context, name string, request wire.BackfillRequest) (wire.DAGBackfill, error) {
	return ask[wire.DAGBackfill](ctx, c, call{method: http.MethodPost, path: prefix + "/dags" + path(name, "backfill"), value: request})
}

// DAGSlots tells what became of the slots of a DAG's root since an instant (zero: ever), the newest first. root may be ""
// where only one has a schedule.
func (c *Client) DAGSlots(ctx context.Context, name, root string, since time.Time, page Page) (wire.List[wire.LedgerEntry], error) {
	query := page.query()
	set(query, "root", root)
	setTime(query, "since", since)
	return ask[wire.List[wire.LedgerEntry]](ctx, c, call{method: http.MethodGet, path: prefix + "/dags" + path(name, "slots"), query: query})
}

// NextDAGSlots tells when the roots of a DAG fire next after an instant (zero: now).
func (c *Client) NextDAGSlots(ctx context.Context, name string, after time.Time, count int) (wire.DAGPreview, error) {
	query := url.Values{}
	setTime(query, "after", after)
	if count > 0 {
		query.Set("count", strconv.Itoa(count))
	}
	return ask[wire.DAGPreview](ctx, c, call{method: http.MethodGet, path: prefix + "/dags" + path(name, "next"), query: query})
}

// DAGGenerations lists the forms that a DAG has had, the newest first.
func (c *Client) DAGGenerations(ctx context.Context, name string, page Page) (wire.List[wire.DAGGeneration], error) {
	return ask[wire.List[wire.DAGGeneration]](ctx, c, call{method: http.MethodGet, path: prefix + "/dags" + path(name, "generations"), query: page.query()})
}
