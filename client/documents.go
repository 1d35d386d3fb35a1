package client

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"

	"github.com/tidewheel/tidewheel/client/wire"
)

// File is a file of documents, in YAML or JSON. Its name is only for messages.
type File struct {
	Name string
	Data []byte
}

// ApplyOptions define how files are to be applied.
type ApplyOptions struct {
	DryRun  bool
	Prune   bool   // delete the jobs of the namespace that no document names
	Message string // why, for the history of generations
}

// Apply creates and changes what files define: all of it, or nothing if anything is wrong with any of them.
func (c *Client) Apply(ctx context.Context, files []File, options ApplyOptions) (wire.Applied, error) {
	query := url.Values{}
	if options.DryRun {
		query.Set("dry_run", "true")
	}
	if options.Prune {
		query.Set("prune", "true")
	}
	set(query, "message", options.Message)
	return sendFiles[wire.Applied](ctx, c, "/apply", query, files)
}

// Validate checks files as Apply would, and does nothing.
func (c *Client) Validate(ctx context.Context, files []File) (wire.Validated, error) {
	return sendFiles[wire.Validated](ctx, c, "/validate", url.Values{}, files)
}

func sendFiles[T any](ctx context.Context, c *Client, path string, query url.Values, files []File) (T, error) {
	var none T
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, file := range files {
		// The name of a part loses its folders on the way, so it travels beside it, too.
		header := textproto.MIMEHeader{
			"Content-Disposition": {fmt.Sprintf(`form-data; name="file"; filename=%q`, "document")},
			"Content-Type":        {"application/octet-stream"},
			"X-File":              {url.PathEscape(file.Name)},
		}
		part, err := form.CreatePart(header)
		if err == nil {
			_, err = part.Write(file.Data)
		}
		if err != nil {
			return none, fmt.Errorf("client: encode %s: %w", file.Name, err)
		}
	}
	if err := form.Close(); err != nil {
		return none, fmt.Errorf("client: encode files: %w", err)
	}
	return ask[T](ctx, c, call{
		method: http.MethodPost, path: prefix + path, query: query, body: &body, length: int64(body.Len()),
		header: http.Header{"Content-Type": {form.FormDataContentType()}},
	})
}
