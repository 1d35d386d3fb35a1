package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tidewheel/tidewheel/client/wire"
)

// Executors lists those that are alive.
func (c *Client) Executors(ctx context.Context) ([]wire.Executor, error) {
	list, err := ask[wire.List[wire.Executor]](ctx, c, call{method: http.MethodGet, path: prefix + "/executors"})
	return list.Items, err
}

// DrainExecutor asks an executor to take nothing new and to let end what it runs.
func (c *Client) DrainExecutor(ctx context.Context, id string) (wire.Executor, error) {
	return ask[wire.Executor](ctx, c, call{method: http.MethodPost, path: prefix + "/executors" + path(id, "drain")})
}

// ResumeExecutor ends the drain of an executor.
func (c *Client) ResumeExecutor(ctx context.Context, id string) (wire.Executor, error) {
	return ask[wire.Executor](ctx, c, call{method: http.MethodPost, path: prefix + "/executors" + path(id, "resume")})
}

// Engines lists those that are alive.
func (c *Client) Engines(ctx context.Context) ([]wire.Engine, error) {
	list, err := ask[wire.List[wire.Engine]](ctx, c, call{method: http.MethodGet, path: prefix + "/engines"})
	return list.Items, err
}

// Clocks reports how far apart the clocks of the nodes are.
func (c *Client) Clocks(ctx context.Context) (wire.Clocks, error) {
	return ask[wire.Clocks](ctx, c, call{method: http.MethodGet, path: prefix + "/clocks"})
}

// Queues reports what waits in each tier and class.
func (c *Client) Queues(ctx context.Context) ([]wire.Queue, error) {
	list, err := ask[wire.List[wire.Queue]](ctx, c, call{method: http.MethodGet, path: prefix + "/queues"})
	return list.Items, err
}

// Scaling returns how many executors each tier needs, with the bounds of the query: min, max, slots, within.
func (c *Client) Scaling(ctx context.Context, bounds url.Values) (wire.Scaling, error) {
	return ask[wire.Scaling](ctx, c, call{method: http.MethodGet, path: prefix + "/scaling", query: bounds})
}

// Streams reports how large the queue's streams and buckets are.
func (c *Client) Streams(ctx context.Context) ([]wire.Stream, error) {
	list, err := ask[wire.List[wire.Stream]](ctx, c, call{method: http.MethodGet, path: prefix + "/streams"})
	return list.Items, err
}

// Version reports which version of Tidewheel answers.
func (c *Client) Version(ctx context.Context) (wire.Version, error) {
	return ask[wire.Version](ctx, c, call{method: http.MethodGet, path: prefix + "/version"})
}

// Watch calls handle with hints of what changes until ctx ends, handle fails or the connection breaks, and reports which.
func (c *Client) Watch(ctx context.Context, handle func(wire.Event) error) error {
	response, err := c.send(ctx, call{method: http.MethodGet, path: prefix + "/events", header: http.Header{"Accept": {"text/event-stream"}}})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var event wire.Event
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return fmt.Errorf("client: read an event: %w", err)
		}
		if err := handle(event); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return c.broke(ctx, err)
	}
	return c.broke(ctx, errEnded)
}
