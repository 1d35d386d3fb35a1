package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// BackupOptions define what a backup holds besides documents and programs.
type BackupOptions struct {
	NoLogs bool // leaves out the outputs of runs
	NoKeys bool // leaves out keys and credentials
}

// DownloadBackup opens a backup of everything that the server keeps, as it is made; its size is not known. The caller
// closes it. It is whole only if what moving.Verify reads is.
func (c *Client) DownloadBackup(ctx context.Context, options BackupOptions) (*Content, error) {
	query := url.Values{"logs": {strconv.FormatBool(!options.NoLogs)}, "keys": {strconv.FormatBool(!options.NoKeys)}}
	response, err := c.send(ctx, call{method: http.MethodGet, path: prefix + "/backup", query: query}) //nolint:bodyclose // Content.Close does
	if err != nil {
		return nil, err
	}
	return &Content{Size: -1, body: &download{ctx: ctx, client: c, body: response.Body}}, nil
}
