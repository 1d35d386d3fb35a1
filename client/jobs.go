package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
)

// JobFilter selects jobs.
type JobFilter struct {
	Text  string // in the name
	State string // "paused", "failing" or "late"
	Tier  string
	Page
}

// Jobs lists jobs by name.
func (c *Client) Jobs(ctx context.Context, filter JobFilter) (wire.List[wire.Job], error) {
	query := filter.query()
	set(query, "q", filter.Text)
	set(query, "state", filter.State)
	set(query, "tier", filter.Tier)
	return ask[wire.List[wire.Job]](ctx, c, call{method: http.MethodGet, path: prefix + "/jobs", query: query})
}

// Job gives a job.
func (c *Client) Job(ctx context.Context, name string) (wire.Job, error) {
	return ask[wire.Job](ctx, c, call{method: http.MethodGet, path: prefix + "/jobs" + path(name)})
}

// CreateJob creates a job; definition is JSON, or a value that encodes to it. A name that is taken by another
// definition is an *APIError with the code job_exists.
func (c *Client) CreateJob(ctx context.Context, definition any) (wire.Job, error) {
	return ask[wire.Job](ctx, c, call{method: http.MethodPost, path: prefix + "/jobs", value: definition})
}

// PutJob creates or replaces a job. ifRevision, when not 0, is the revision that it must have.
func (c *Client) PutJob(ctx context.Context, name string, definition any, ifRevision int64, message string) (wire.Job, error) {
	query := url.Values{}
	set(query, "message", message)
	return ask[wire.Job](ctx, c, call{method: http.MethodPut, path: prefix + "/jobs" + path(name), query: query, value: definition, header: ifMatch(ifRevision)})
}

// DeleteJob deletes a job. ifRevision, when not 0, is the revision that it must have.
func (c *Client) DeleteJob(ctx context.Context, name string, ifRevision int64) error {
	_, err := ask[struct{}](ctx, c, call{method: http.MethodDelete, path: prefix + "/jobs" + path(name), header: ifMatch(ifRevision)})
	return err
}

func ifMatch(revision int64) http.Header {
	if revision == 0 {
		return nil
	}
	return http.Header{"If-Match": {strconv.Quote(strconv.FormatInt(revision, 10))}}
}

// RunJob starts a run by hand. key makes asking twice the same as asking once; "" asks anew each time.
func (c *Client) RunJob(ctx context.Context, name string, request wire.RunRequest, key string) (wire.Run, error) {
	return ask[wire.Run](ctx, c, call{method: http.MethodPost, path: prefix + "/jobs" + path(name, "run"), value: request, header: idempotent(key)})
}

func idempotent(key string) http.Header {
	if key == "" {
		return nil
	}
	return http.Header{"Idempotency-Key": {key}}
}

// RunOnce defines a one-off job in one call.
func (c *Client) RunOnce(ctx context.Context, request wire.OneOffRequest, key string) (wire.OneOff, error) {
	return ask[wire.OneOff](ctx, c, call{method: http.MethodPost, path: prefix + "/v1/jobs", value: request, header: idempotent(key)})
}

// PauseJob stops a job's schedule. The reason is for people and may be "".
func (c *Client) PauseJob(ctx context.Context, name, reason string) (wire.Job, error) {
	query := url.Values{}
	set(query, "reason", reason)
	return ask[wire.Job](ctx, c, call{method: http.MethodPost, path: prefix + "/jobs" + path(name, "pause"), query: query})
}

// ResumeJob lets it go on.
func (c *Client) ResumeJob(ctx context.Context, name string) (wire.Job, error) {
	return ask[wire.Job](ctx, c, call{method: http.MethodPost, path: prefix + "/jobs" + path(name, "resume")})
}

// Backfill runs past slots, or tells what it would run.
func (c *Client) Backfill(ctx context.Context, name string, request wire.BackfillRequest) (wire.Backfill, error) {
	return ask[wire.Backfill](ctx, c, call{method: http.MethodPost, path: prefix + "/jobs" + path(name, "backfill"), value: request})
}

// Slots tells what became of a job's slots since an instant (zero: ever), the newest first.
func (c *Client) Slots(ctx context.Context, name string, since time.Time, page Page) (wire.List[wire.LedgerEntry], error) {
	query := page.query()
	setTime(query, "since", since)
	return ask[wire.List[wire.LedgerEntry]](ctx, c, call{method: http.MethodGet, path: prefix + "/jobs" + path(name, "slots"), query: query})
}

// NextSlots tells when a job fires next after an instant (zero: now).
func (c *Client) NextSlots(ctx context.Context, name string, after time.Time, count int) (wire.Preview, error) {
	query := url.Values{}
	setTime(query, "after", after)
	if count > 0 {
		query.Set("count", strconv.Itoa(count))
	}
	return ask[wire.Preview](ctx, c, call{method: http.MethodGet, path: prefix + "/jobs" + path(name, "next"), query: query})
}

// Generations lists the forms that a job has had, the newest first.
func (c *Client) Generations(ctx context.Context, name string, page Page) (wire.List[wire.Generation], error) {
	return ask[wire.List[wire.Generation]](ctx, c, call{method: http.MethodGet, path: prefix + "/jobs" + path(name, "generations"), query: page.query()})
}

// PreviewSchedule tells when a schedule would fire.
func (c *Client) PreviewSchedule(ctx context.Context, request wire.PreviewRequest) (wire.Preview, error) {
	return ask[wire.Preview](ctx, c, call{method: http.MethodPost, path: prefix + "/schedule/preview", value: request})
}
