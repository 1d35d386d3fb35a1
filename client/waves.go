package client

import (
	"context"
	"net/http"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
)

// WaveFilter selects waves. Zero fields do not filter.
type WaveFilter struct {
	DAG      string
	Statuses []string
	Since    time.Time
	Until    time.Time
	Page
}

// Waves lists waves, the newest first.
func (c *Client) Waves(ctx context.Context, filter WaveFilter) (wire.List[wire.Wave], error) {
	query := filter.query()
	set(query, "dag", filter.DAG)
	for _, status := range filter.Statuses {
		query.Add("status", status)
	}
	setTime(query, "since", filter.Since)
	setTime(query, "until", filter.Until)
	return ask[wire.List[wire.Wave]](ctx, c, call{method: http.MethodGet, path: prefix + "/waves", query: query})
}

// Wave returns a wave with its tasks.
func (c *Client) Wave(ctx context.Context, id string) (wire.WaveDetail, error) {
	return ask[wire.WaveDetail](ctx, c, call{method: http.MethodGet, path: prefix + "/waves" + path(id)})
}

// CancelWave asks for a wave's end, which comes a moment later.
func (c *Client) CancelWave(ctx context.Context, id string) (wire.Wave, error) {
	return ask[wire.Wave](ctx, c, call{method: http.MethodPost, path: prefix + "/waves" + path(id, "cancel")})
}

// ResumeWave asks the engine to resume a wave that failed or was cancelled.
func (c *Client) ResumeWave(ctx context.Context, id string) (wire.Wave, error) {
	return ask[wire.Wave](ctx, c, call{method: http.MethodPost, path: prefix + "/waves" + path(id, "resume")})
}

// ClearTask asks that a task of a wave that has ended is run again.
func (c *Client) ClearTask(ctx context.Context, id string, request wire.ClearRequest) (wire.Wave, error) {
	return ask[wire.Wave](ctx, c, call{method: http.MethodPost, path: prefix + "/waves" + path(id, "clear"), value: request})
}

// MarkTask sets the state that a task of a wave counts as.
func (c *Client) MarkTask(ctx context.Context, id string, request wire.MarkRequest) (wire.Wave, error) {
	return ask[wire.Wave](ctx, c, call{method: http.MethodPost, path: prefix + "/waves" + path(id, "mark"), value: request})
}
