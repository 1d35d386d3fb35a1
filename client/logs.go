package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
)

// LogOptions report what of a run's output.
type LogOptions struct {
	Attempt int   // from 1; 0 is the latest
	Offset  int64 // the byte to begin with
	Tail    int   // only the last so many lines; 0 is all
	Follow  bool  // continue until the attempt ends
	// Timestamps asks for the time and stream before each line: "2026-11-27T11:57:21.150Z stderr "; "-" for what is not known.
	Timestamps bool
}

// Log is a run's output, as it comes. Read ends with io.EOF where the output does, and with ErrUnreachable where the
// connection broke: continue from Offset plus what was read.
type Log struct {
	Attempt  int
	Size     int64  // bytes of the whole output when it was opened
	Offset   int64  // of the first byte that Read returns
	Complete bool   // when it was opened the attempt had ended
	Missing  string // why, in words, not all of it can be read that should be there; mostly ""
	body     *download
}

// Read implements io.Reader.
func (l *Log) Read(p []byte) (int, error) { return l.body.Read(p) }

// Close releases the connection.
func (l *Log) Close() error { return l.body.Close() }

// Logs opens a run's output; the caller closes it.
func (c *Client) Logs(ctx context.Context, id string, options LogOptions) (*Log, error) {
	query := url.Values{}
	if options.Attempt > 0 {
		query.Set("attempt", strconv.Itoa(options.Attempt))
	}
	if options.Offset > 0 {
		query.Set("offset", strconv.FormatInt(options.Offset, 10))
	}
	if options.Tail > 0 {
		query.Set("tail", strconv.Itoa(options.Tail))
	}
	if options.Follow {
		query.Set("follow", "true")
	}
	if options.Timestamps {
		query.Set("timestamps", "true")
	}
	response, err := c.send(ctx, call{method: http.MethodGet, path: prefix + "/runs" + path(id, "logs"), query: query}) //nolint:bodyclose // Log.Close does
	if err != nil {
		return nil, err
	}
	log := &Log{Missing: response.Header.Get("X-Log-Missing"), body: &download{ctx: ctx, client: c, body: response.Body}}
	// What is not there, or is no number, stays zero.
	log.Attempt, _ = strconv.Atoi(response.Header.Get("X-Log-Attempt"))
	log.Size, _ = strconv.ParseInt(response.Header.Get("X-Log-Size"), 10, 64)
	log.Offset, _ = strconv.ParseInt(response.Header.Get("X-Log-Offset"), 10, 64)
	log.Complete = response.Header.Get("X-Log-Complete") == "true"
	return log, nil
}

// download is a body whose breaking off is ErrUnreachable.
type download struct {
	ctx    context.Context
	client *Client
	body   io.ReadCloser
}

func (d *download) Read(p []byte) (int, error) {
	n, err := d.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = d.client.broke(d.ctx, err)
	}
	return n, err
}

func (d *download) Close() error { return d.body.Close() }

// LogSearch defines what to look for in a run's output.
type LogSearch struct {
	Attempt int    // from 1; 0 is the latest
	Text    string // in any case of its letters
	Errors  bool   // lines that look like errors, instead of Text
	From    string // a line's number from 1, or Next of the answer before; "" is the beginning
}

// SearchLogs searches a part of a run's output; while the answer has a Next, there is more of it.
func (c *Client) SearchLogs(ctx context.Context, id string, search LogSearch) (wire.LogMatches, error) {
	query := url.Values{}
	if search.Attempt > 0 {
		query.Set("attempt", strconv.Itoa(search.Attempt))
	}
	set(query, "q", search.Text)
	if search.Errors {
		query.Set("errors", "true")
	}
	set(query, "from", search.From)
	return ask[wire.LogMatches](ctx, c, call{method: http.MethodGet, path: prefix + "/runs" + path(id, "logs", "search"), query: query})
}

// RunSearch asks for lines in the outputs of the runs of a job or of a DAG.
type RunSearch struct {
	Job, DAG, Task string
	Since, Until   time.Time // when the runs were made; zero: at any time
	Text           string
	Errors         bool // lines that look like errors, instead of Text
	Cursor         string
}

// SearchRuns searches a part of the outputs of many runs; while the answer has a Next, there is more of it.
func (c *Client) SearchRuns(ctx context.Context, search RunSearch) (wire.RunMatches, error) {
	query := url.Values{}
	set(query, "job", search.Job)
	set(query, "dag", search.DAG)
	set(query, "task", search.Task)
	setTime(query, "since", search.Since)
	setTime(query, "until", search.Until)
	set(query, "q", search.Text)
	if search.Errors {
		query.Set("errors", "true")
	}
	set(query, "cursor", search.Cursor)
	return ask[wire.RunMatches](ctx, c, call{method: http.MethodGet, path: prefix + "/runs/search", query: query})
}
