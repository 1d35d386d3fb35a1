package client

import (
	"context"
	"net/http"
	"strings"

	"github.com/tidewheel/tidewheel/client/wire"
)

// Artifacts lists the files that a run has left; there is one page.
func (c *Client) Artifacts(ctx context.Context, id string) (wire.List[wire.Artifact], error) {
	return ask[wire.List[wire.Artifact]](ctx, c, call{method: http.MethodGet, path: prefix + "/runs" + path(id, "artifacts")})
}

// DownloadArtifact opens a file that a run has left; the caller closes it.
func (c *Client) DownloadArtifact(ctx context.Context, id, name string) (*Content, error) {
	address := prefix + "/runs" + path(id, "artifacts") + path(strings.Split(name, "/")...)
	response, err := c.send(ctx, call{method: http.MethodGet, path: address}) //nolint:bodyclose // Content.Close does
	if err != nil {
		return nil, err
	}
	return &Content{
		Size: response.ContentLength, SHA256: response.Header.Get("X-Content-SHA256"),
		body: &download{ctx: ctx, client: c, body: response.Body},
	}, nil
}
