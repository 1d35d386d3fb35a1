package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
)

const (
	jobsPath = prefix + "/jobs"
	dagsPath = prefix + "/dags"
)

// DefinitionFilter selects jobs or DAGs.
type DefinitionFilter struct {
	Text  string // in the name
	Label string // key or key=value
	State string // "paused" or "failing"; of jobs also "late", of DAGs "running"
	Tier  string // of jobs only
	Order string // "name", "next", "last" or "failures"; "" is by name
	Page
}

// Jobs lists jobs by name.
func (c *Client) Jobs(ctx context.Context, filter DefinitionFilter) (wire.List[wire.Job], error) {
	return list[wire.Job](ctx, c, jobsPath, &filter)
}

// DAGs lists DAGs by name.
func (c *Client) DAGs(ctx context.Context, filter DefinitionFilter) (wire.List[wire.DAG], error) {
	return list[wire.DAG](ctx, c, dagsPath, &filter)
}

func list[V any](ctx context.Context, c *Client, at string, filter *DefinitionFilter) (wire.List[V], error) {
	query := filter.query()
	set(query, "q", filter.Text)
	set(query, "label", filter.Label)
	set(query, "state", filter.State)
	set(query, "order", filter.Order)
	set(query, "tier", filter.Tier)
	return ask[wire.List[V]](ctx, c, call{method: http.MethodGet, path: at, query: query})
}

// Job returns a job.
func (c *Client) Job(ctx context.Context, name string) (wire.Job, error) {
	return ask[wire.Job](ctx, c, call{method: http.MethodGet, path: jobsPath + path(name)})
}

// DAG returns a DAG.
func (c *Client) DAG(ctx context.Context, name string) (wire.DAG, error) {
	return ask[wire.DAG](ctx, c, call{method: http.MethodGet, path: dagsPath + path(name)})
}

// CreateJob creates a job; definition is JSON, or a value that encodes to it. A name that is taken is an *APIError with the
// code job_exists or name_taken.
func (c *Client) CreateJob(ctx context.Context, definition any) (wire.Job, error) {
	return ask[wire.Job](ctx, c, call{method: http.MethodPost, path: jobsPath, value: definition})
}

// CreateDAG creates a DAG; definition is JSON, or a value that encodes to it. A name that is taken is an *APIError with
// the code dag_exists or name_taken.
func (c *Client) CreateDAG(ctx context.Context, definition any) (wire.DAG, error) {
	return ask[wire.DAG](ctx, c, call{method: http.MethodPost, path: dagsPath, value: definition})
}

// PutJob creates or replaces a job. ifRevision, when not 0, is the revision that it must have.
func (c *Client) PutJob(ctx context.Context, name string, definition any, ifRevision int64, message string) (wire.Job, error) {
	return put[wire.Job](ctx, c, jobsPath+path(name), definition, ifRevision, message)
}

// PutDAG creates or replaces a DAG. ifRevision, when not 0, is the revision that it must have.
func (c *Client) PutDAG(ctx context.Context, name string, definition any, ifRevision int64, message string) (wire.DAG, error) {
	return put[wire.DAG](ctx, c, dagsPath+path(name), definition, ifRevision, message)
}

func put[V any](ctx context.Context, c *Client, at string, definition any, ifRevision int64, message string) (V, error) {
	query := url.Values{}
	set(query, "message", message)
	return ask[V](ctx, c, call{method: http.MethodPut, path: at, query: query, value: definition, header: ifMatch(ifRevision)})
}

// DeleteJob deletes a job. ifRevision, when not 0, is the revision that it must have.
func (c *Client) DeleteJob(ctx context.Context, name string, ifRevision int64) error {
	_, err := ask[struct{}](ctx, c, call{method: http.MethodDelete, path: jobsPath + path(name), header: ifMatch(ifRevision)})
	return err
}

// DeleteDAG deletes a DAG. ifRevision, when not 0, is the revision that it must have.
func (c *Client) DeleteDAG(ctx context.Context, name string, ifRevision int64) error {
	_, err := ask[struct{}](ctx, c, call{method: http.MethodDelete, path: dagsPath + path(name), header: ifMatch(ifRevision)})
	return err
}

func ifMatch(revision int64) http.Header {
	if revision == 0 {
		return nil
	}
	return http.Header{"If-Match": {strconv.Quote(strconv.FormatInt(revision, 10))}}
}

// RunJob triggers a run. key makes asking twice the same as asking once; "" starts another run each time.
func (c *Client) RunJob(ctx context.Context, name string, request wire.RunRequest, key string) (wire.Run, error) {
	return ask[wire.Run](ctx, c, call{method: http.MethodPost, path: jobsPath + path(name, "run"), value: request, header: idempotent(key)})
}

// RunDAG triggers a wave. key makes asking twice the same as asking once; "" starts another run each time.
func (c *Client) RunDAG(ctx context.Context, name string, request wire.WaveRequest, key string) (wire.Wave, error) {
	return ask[wire.Wave](ctx, c, call{method: http.MethodPost, path: dagsPath + path(name, "run"), value: request, header: idempotent(key)})
}

// RunOnce defines a one-off job in one call.
func (c *Client) RunOnce(ctx context.Context, request wire.OneOffRequest, key string) (wire.OneOff, error) {
	return ask[wire.OneOff](ctx, c, call{method: http.MethodPost, path: prefix + "/v1/jobs", value: request, header: idempotent(key)})
}

func idempotent(key string) http.Header {
	if key == "" {
		return nil
	}
	return http.Header{"Idempotency-Key": {key}}
}

// PauseJob stops a job's schedule. The reason is for people and may be "".
func (c *Client) PauseJob(ctx context.Context, name, reason string) (wire.Job, error) {
	return pause[wire.Job](ctx, c, jobsPath, name, reason)
}

// PauseDAG stops the schedules of a DAG's roots. The reason is for people and may be "".
func (c *Client) PauseDAG(ctx context.Context, name, reason string) (wire.DAG, error) {
	return pause[wire.DAG](ctx, c, dagsPath, name, reason)
}

func pause[V any](ctx context.Context, c *Client, at, name, reason string) (V, error) {
	query := url.Values{}
	set(query, "reason", reason)
	return ask[V](ctx, c, call{method: http.MethodPost, path: at + path(name, "pause"), query: query})
}

// ResumeJob starts a job's schedule again.
func (c *Client) ResumeJob(ctx context.Context, name string) (wire.Job, error) {
	return ask[wire.Job](ctx, c, call{method: http.MethodPost, path: jobsPath + path(name, "resume")})
}

// ResumeDAG starts the schedules of a DAG's roots again.
func (c *Client) ResumeDAG(ctx context.Context, name string) (wire.DAG, error) {
	return ask[wire.DAG](ctx, c, call{method: http.MethodPost, path: dagsPath + path(name, "resume")})
}

// Backfill runs past slots, or reports what it would run.
func (c *Client) Backfill(ctx context.Context, name string, request wire.BackfillRequest) (wire.Backfill, error) {
	return ask[wire.Backfill](ctx, c, call{method: http.MethodPost, path: jobsPath + path(name, "backfill"), value: request})
}

// BackfillDAG makes waves of past slots, or reports which it would make.
func (c *Client) BackfillDAG(ctx context.Context, name string, request wire.BackfillRequest) (wire.DAGBackfill, error) {
	return ask[wire.DAGBackfill](ctx, c, call{method: http.MethodPost, path: dagsPath + path(name, "backfill"), value: request})
}

// Slots reports what happened to a job's slots since an instant (zero: ever), the newest first.
func (c *Client) Slots(ctx context.Context, name string, since time.Time, page Page) (wire.List[wire.LedgerEntry], error) {
	return slots(ctx, c, jobsPath, name, "", since, page)
}

// DAGSlots reports what happened to the slots of a DAG's root since an instant (zero: ever), the newest first. root may be ""
// where only one has a schedule.
func (c *Client) DAGSlots(ctx context.Context, name, root string, since time.Time, page Page) (wire.List[wire.LedgerEntry], error) {
	return slots(ctx, c, dagsPath, name, root, since, page)
}

func slots(ctx context.Context, c *Client, at, name, root string, since time.Time, page Page) (wire.List[wire.LedgerEntry], error) {
	query := page.query()
	set(query, "root", root)
	setTime(query, "since", since)
	return ask[wire.List[wire.LedgerEntry]](ctx, c, call{method: http.MethodGet, path: at + path(name, "slots"), query: query})
}

// NextSlots reports when a job fires next after an instant (zero: now).
func (c *Client) NextSlots(ctx context.Context, name string, after time.Time, count int) (wire.Preview, error) {
	return next[wire.Preview](ctx, c, jobsPath, name, after, count)
}

// NextDAGSlots reports when the roots of a DAG fire next after an instant (zero: now).
func (c *Client) NextDAGSlots(ctx context.Context, name string, after time.Time, count int) (wire.DAGPreview, error) {
	return next[wire.DAGPreview](ctx, c, dagsPath, name, after, count)
}

func next[P any](ctx context.Context, c *Client, at, name string, after time.Time, count int) (P, error) {
	query := url.Values{}
	setTime(query, "after", after)
	if count > 0 {
		query.Set("count", strconv.Itoa(count))
	}
	return ask[P](ctx, c, call{method: http.MethodGet, path: at + path(name, "next"), query: query})
}

// CompareGenerations returns how two versions of a job differ.
func (c *Client) CompareGenerations(ctx context.Context, name string, from, to int64) (wire.Difference, error) {
	return compareGenerations(ctx, c, jobsPath, name, from, to)
}

// CompareDAGGenerations returns how two versions of a DAG differ.
func (c *Client) CompareDAGGenerations(ctx context.Context, name string, from, to int64) (wire.Difference, error) {
	return compareGenerations(ctx, c, dagsPath, name, from, to)
}

func compareGenerations(ctx context.Context, c *Client, at, name string, from, to int64) (wire.Difference, error) {
	query := url.Values{"from": {strconv.FormatInt(from, 10)}, "to": {strconv.FormatInt(to, 10)}}
	return ask[wire.Difference](ctx, c, call{method: http.MethodGet, path: at + path(name, "difference"), query: query})
}

// RestoreJob makes an earlier version of a job its current one, as a new generation.
func (c *Client) RestoreJob(ctx context.Context, name string, request wire.RestoreRequest) (wire.Job, error) {
	return ask[wire.Job](ctx, c, call{method: http.MethodPost, path: jobsPath + path(name, "restore"), value: request})
}

// RestoreDAG makes an earlier version of a DAG its current one, as a new generation.
func (c *Client) RestoreDAG(ctx context.Context, name string, request wire.RestoreRequest) (wire.DAG, error) {
	return ask[wire.DAG](ctx, c, call{method: http.MethodPost, path: dagsPath + path(name, "restore"), value: request})
}

// Generations lists the versions that a job has had, the newest first.
func (c *Client) Generations(ctx context.Context, name string, page Page) (wire.List[wire.Generation], error) {
	return ask[wire.List[wire.Generation]](ctx, c, call{method: http.MethodGet, path: jobsPath + path(name, "generations"), query: page.query()})
}

// DAGGenerations lists the versions that a DAG has had, the newest first.
func (c *Client) DAGGenerations(ctx context.Context, name string, page Page) (wire.List[wire.DAGGeneration], error) {
	return ask[wire.List[wire.DAGGeneration]](ctx, c, call{method: http.MethodGet, path: dagsPath + path(name, "generations"), query: page.query()})
}

// PreviewSchedule reports when a schedule would fire.
func (c *Client) PreviewSchedule(ctx context.Context, request wire.PreviewRequest) (wire.Preview, error) {
	return ask[wire.Preview](ctx, c, call{method: http.MethodPost, path: prefix + "/schedule/preview", value: request})
}
