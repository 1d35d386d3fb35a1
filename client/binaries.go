package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/tidewheel/tidewheel/client/wire"
)

// Binaries lists binaries by name.
func (c *Client) Binaries(ctx context.Context, page Page) (wire.List[wire.Binary], error) {
	return ask[wire.List[wire.Binary]](ctx, c, call{method: http.MethodGet, path: prefix + "/binaries", query: page.query()})
}

// Binary returns a binary.
func (c *Client) Binary(ctx context.Context, name string) (wire.Binary, error) {
	return ask[wire.Binary](ctx, c, call{method: http.MethodGet, path: prefix + "/binaries" + path(name)})
}

// UploadOptions report how a program is to be kept.
type UploadOptions struct {
	Size        int64    // of the program, in bytes; 0 is not known
	SHA256      string   // what it must hash to, hex; "" is not known
	Aliases     []string // moved to the new version
	AnyPlatform bool     // take one for another operating system or processor, too
	// Progress is called from time to time with how many bytes have gone.
	Progress func(sent int64)
}

// UploadBinary uploads a program, in pieces. The server is asked first whether it would take it.
func (c *Client) UploadBinary(ctx context.Context, name string, program io.Reader, options UploadOptions) (wire.Upload, error) {
	query := url.Values{}
	for _, alias := range options.Aliases {
		query.Add("alias", alias)
	}
	set(query, "sha256", options.SHA256)
	if options.AnyPlatform {
		query.Set("any_platform", "true")
	}
	length := options.Size
	if length <= 0 {
		length = -1
	}
	// The reader is wrapped so that the transport does not close what is the caller's.
	body := io.NopCloser(&counter{r: program, tell: options.Progress})
	return ask[wire.Upload](ctx, c, call{
		method: http.MethodPost, path: prefix + "/binaries" + path(name, "versions"), query: query, body: body, length: length,
		header: http.Header{"Content-Type": {"application/octet-stream"}, "Expect": {"100-continue"}},
	})
}

// Content is a program, as it comes.
type Content struct {
	Size   int64  // bytes
	SHA256 string // what it hashes to, hex
	body   *download
}

// Read implements io.Reader.
func (c *Content) Read(p []byte) (int, error) { return c.body.Read(p) }

// Close releases the connection.
func (c *Content) Close() error { return c.body.Close() }

// DownloadBinary opens a version of a binary; the caller closes it.
func (c *Client) DownloadBinary(ctx context.Context, name string, version int) (*Content, error) {
	response, err := c.send(ctx, call{method: http.MethodGet, path: prefix + "/binaries" + path(name, "versions", strconv.Itoa(version), "content")}) //nolint:bodyclose // Content.Close does
	if err != nil {
		return nil, err
	}
	return &Content{
		Size: response.ContentLength, SHA256: response.Header.Get("X-Content-SHA256"),
		body: &download{ctx: ctx, client: c, body: response.Body},
	}, nil
}

// CompareVersions reports how version b of a binary differs from version a.
func (c *Client) CompareVersions(ctx context.Context, name string, a, b int) (wire.BinaryDiff, error) {
	query := url.Values{"a": {strconv.Itoa(a)}, "b": {strconv.Itoa(b)}}
	return ask[wire.BinaryDiff](ctx, c, call{method: http.MethodGet, path: prefix + "/binaries" + path(name, "diff"), query: query})
}

// MoveAlias points an alias at a version.
func (c *Client) MoveAlias(ctx context.Context, name, alias string, version int) (wire.Binary, error) {
	return ask[wire.Binary](ctx, c, call{
		method: http.MethodPut, path: prefix + "/binaries" + path(name, "aliases", alias), value: wire.AliasRequest{Version: version},
	})
}

// RollBack points an alias ("": stable) back to where it pointed before.
func (c *Client) RollBack(ctx context.Context, name, alias string) (wire.Rollback, error) {
	return ask[wire.Rollback](ctx, c, call{
		method: http.MethodPost, path: prefix + "/binaries" + path(name, "rollback"), value: wire.RollbackRequest{Alias: alias},
	})
}

// DeleteBinary deletes a binary that no job uses.
func (c *Client) DeleteBinary(ctx context.Context, name string) error {
	_, err := ask[struct{}](ctx, c, call{method: http.MethodDelete, path: prefix + "/binaries" + path(name)})
	return err
}

// counter counts how much has been read.
type counter struct {
	r    io.Reader
	n    int64
	tell func(int64)
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if c.tell != nil && n > 0 {
		c.tell(c.n)
	}
	return n, err
}
