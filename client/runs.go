package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
)

// RunFilter selects runs. Zero fields do not filter.
type RunFilter struct {
	Job      string
	DAG      string // runs of its tasks
	Task     string // of that DAG
	Statuses []string
	Tier     string
	By       string
	Since    time.Time
	Until    time.Time
	Text     string // in the id, the job's name or the reason
	Page
}

// Runs lists runs, the newest first.
func (c *Client) Runs(ctx context.Context, filter RunFilter) (wire.List[wire.Run], error) {
	query := filter.query()
	set(query, "job", filter.Job)
	set(query, "dag", filter.DAG)
	set(query, "task", filter.Task)
	for _, status := range filter.Statuses {
		query.Add("status", status)
	}
	set(query, "tier", filter.Tier)
	set(query, "by", filter.By)
	setTime(query, "since", filter.Since)
	setTime(query, "until", filter.Until)
	set(query, "q", filter.Text)
	return ask[wire.List[wire.Run]](ctx, c, call{method: http.MethodGet, path: prefix + "/runs", query: query})
}

// Run returns a run.
func (c *Client) Run(ctx context.Context, id string) (wire.Run, error) {
	return ask[wire.Run](ctx, c, call{method: http.MethodGet, path: prefix + "/runs" + path(id)})
}

// CancelRun asks for a run's end, which comes a moment later.
func (c *Client) CancelRun(ctx context.Context, id string) (wire.Run, error) {
	return ask[wire.Run](ctx, c, call{method: http.MethodPost, path: prefix + "/runs" + path(id, "cancel")})
}

// RetryRun asks for one more attempt of a run that ended badly.
func (c *Client) RetryRun(ctx context.Context, id string) (wire.Run, error) {
	return ask[wire.Run](ctx, c, call{method: http.MethodPost, path: prefix + "/runs" + path(id, "retry")})
}

// LastGood stands for the latest run of the same job before the other one that succeeded.
const LastGood = "last-good"

// CompareRuns reports how run b differs from run a, which may be LastGood.
func (c *Client) CompareRuns(ctx context.Context, a, b string, exact bool) (wire.RunDiff, error) {
	query := url.Values{"a": {a}, "b": {b}}
	if exact {
		query.Set("exact", "true")
	}
	return ask[wire.RunDiff](ctx, c, call{method: http.MethodGet, path: prefix + "/runs/diff", query: query})
}
