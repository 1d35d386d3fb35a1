package mongo

import (
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// runDocument is a document of runs.
type runDocument struct {
	ID       string `bson:"_id"`
	Revision int64  `bson:"revision"`
	// Active and EndedAt follow from the rest; they are there for the indexes.
	Active  bool           `bson:"active"`
	EndedAt *bson.DateTime `bson:"ended_at,omitempty"`

	Namespace  string `bson:"namespace"`
	JobUID     string `bson:"job_uid"`
	Job        string `bson:"job"`
	Shard      int    `bson:"shard"`
	Generation int64  `bson:"generation"`

	DAG      string `bson:"dag,omitempty"`
	Wave     string `bson:"wave,omitempty"`
	Epoch    int64  `bson:"epoch,omitempty"`
	Task     string `bson:"task,omitempty"`
	Item     *int   `bson:"item,omitempty"`
	Upstream bool   `bson:"upstream,omitempty"`

	Trigger string         `bson:"trigger"`
	By      string         `bson:"by,omitempty"`
	Slot    *bson.DateTime `bson:"slot,omitempty"`
	Status  string         `bson:"status"`
	Reason  string         `bson:"reason,omitempty"`
	Waiting bool           `bson:"waiting,omitempty"`
	Tier    string         `bson:"tier"`
	Class   string         `bson:"class"`
	RunsOn  string         `bson:"runs_on,omitempty"` // spec.RunsOnText: keys may have dots

	Binary  string `bson:"binary"`
	Version int    `bson:"version,omitempty"`
	Digest  string `bson:"digest,omitempty"`
	Kind    string `bson:"kind,omitempty"`
	Size    int64  `bson:"size,omitempty"`

	Payload     bson.RawValue `bson:"payload,omitempty"`
	PayloadJSON bson.RawValue `bson:"payload_json,omitempty"` // instead of Payload, see type payload
	Args        bson.D        `bson:"args,omitempty"`

	CreatedAt  bson.DateTime  `bson:"created_at"`
	NotBefore  *bson.DateTime `bson:"not_before,omitempty"`
	QueuedAt   *bson.DateTime `bson:"queued_at,omitempty"`
	StartedAt  *bson.DateTime `bson:"started_at,omitempty"`
	FinishedAt *bson.DateTime `bson:"finished_at,omitempty"`
	RetryAt    *bson.DateTime `bson:"retry_at,omitempty"`
	Micros     bson.D         `bson:"us,omitempty"` // beyond the milliseconds of the dates

	Attempt  int               `bson:"attempt"`
	Failures int               `bson:"failures,omitempty"`
	Losses   int               `bson:"losses,omitempty"`
	Attempts []attemptDocument `bson:"attempts,omitempty"`
	Progress *progressDocument `bson:"progress,omitempty"`

	CancelBy    string `bson:"cancel_by,omitempty"`
	PendingSkip string `bson:"pending_skip,omitempty"`

	Outputs     bson.RawValue      `bson:"outputs,omitempty"`
	OutputsJSON bson.RawValue      `bson:"outputs_json,omitempty"` // instead of Outputs, see type payload
	Artifacts   []artifactDocument `bson:"artifacts,omitempty"`

	Position int64 `bson:"position,omitempty"` // of the commit in its shard's journal
}

type artifactDocument struct {
	Name   string `bson:"name"`
	Size   int64  `bson:"size"`
	SHA256 string `bson:"sha256"`
}

type attemptDocument struct {
	N        int    `bson:"n"`
	Status   string `bson:"status"`
	Executor string `bson:"executor,omitempty"`
	Token    int64  `bson:"token,omitempty"`
	// Microseconds since 1970: start lag is measured with them.
	QueuedAt   int64           `bson:"queued_us,omitempty"`
	ClaimedAt  int64           `bson:"claimed_us,omitempty"`
	FetchedAt  int64           `bson:"fetched_us,omitempty"`
	StartedAt  int64           `bson:"started_us,omitempty"`
	FinishedAt int64           `bson:"finished_us,omitempty"`
	ExitCode   *int            `bson:"exit_code,omitempty"`
	Signal     string          `bson:"signal,omitempty"`
	Error      string          `bson:"error,omitempty"`
	Usage      *usageDocument  `bson:"usage,omitempty"`
	Output     *outputDocument `bson:"output,omitempty"`
}

type usageDocument struct {
	CPU    int64 `bson:"cpu_ns"`
	MaxRSS int64 `bson:"max_rss"`
}

type outputDocument struct {
	Size      int64  `bson:"size"`
	Lines     int64  `bson:"lines"`
	Tail      []byte `bson:"tail,omitempty"`
	Chunks    int    `bson:"chunks,omitempty"`
	Truncated int64  `bson:"truncated,omitempty"`
	Lost      int64  `bson:"lost,omitempty"`
}

type progressDocument struct {
	Fraction float64        `bson:"fraction"`
	Message  string         `bson:"message,omitempty"`
	At       *bson.DateTime `bson:"at,omitempty"`
}

func newRunDocument(r *engine.Run) (*runDocument, error) {
	held, err := newPayload(r.Payload)
	if err != nil {
		return nil, err
	}
	outputs, err := newPayload(r.Outputs)
	if err != nil {
		return nil, err
	}
	d := &runDocument{
		ID: r.ID, Revision: r.Revision, Active: !r.Status.Terminal(), EndedAt: someDate(endOf(r)),
		Namespace: r.Namespace, JobUID: r.JobUID, Job: r.Job, Shard: r.Shard, Generation: r.Generation,
		DAG: r.DAG, Wave: r.Wave, Epoch: r.Epoch, Task: r.Task, Item: r.Item, Upstream: r.Upstream,
		Outputs: outputs.value, OutputsJSON: outputs.text,
		Trigger: string(r.Trigger), By: r.By, Slot: someDate(r.Slot), Status: r.Status.String(), Reason: r.Reason, Waiting: r.Waiting,
		Tier: string(r.Tier), Class: string(r.Class), RunsOn: spec.RunsOnText(r.RunsOn),
		Binary: r.Binary, Version: r.Version, Digest: r.Digest, Kind: r.Kind, Size: r.Size,
		Payload: held.value, PayloadJSON: held.text, Args: sorted(r.Args),
		CreatedAt: date(r.CreatedAt), NotBefore: someDate(r.NotBefore), QueuedAt: someDate(r.QueuedAt),
		StartedAt: someDate(r.StartedAt), FinishedAt: someDate(r.FinishedAt), RetryAt: someDate(r.RetryAt),
		Attempt: r.Attempt, Failures: r.Failures, Losses: r.Losses, CancelBy: r.CancelBy, PendingSkip: string(r.PendingSkip),
	}
	if r.Progress != nil {
		d.Progress = &progressDocument{Fraction: r.Progress.Fraction, Message: r.Progress.Message, At: someDate(r.Progress.At)}
	}
	for _, a := range r.Artifacts {
		d.Artifacts = append(d.Artifacts, artifactDocument(a))
	}
	var rest remainders
	for _, i := range instantsOf(r) {
		rest.add(i.field, *i.instant)
	}
	d.Micros = bson.D(rest)
	if len(r.Attempts) > 0 {
		d.Attempts = make([]attemptDocument, len(r.Attempts))
		for i := range r.Attempts {
			d.Attempts[i] = newAttemptDocument(&r.Attempts[i])
		}
	}
	return d, nil
}

type namedInstant struct {
	field   string
	instant *time.Time
}

// instantsOf names the instants of a run that are stored as dates.
func instantsOf(r *engine.Run) []namedInstant {
	named := []namedInstant{
		{"slot", &r.Slot}, {"created_at", &r.CreatedAt}, {"not_before", &r.NotBefore}, {"queued_at", &r.QueuedAt},
		{"started_at", &r.StartedAt}, {"finished_at", &r.FinishedAt}, {"retry_at", &r.RetryAt},
	}
	if r.Progress != nil {
		named = append(named, namedInstant{"progress", &r.Progress.At})
	}
	return named
}

// endOf tells when a run ended, for retention: zero while it has not. A run that ended before any attempt did ended,
// as far as its record tells, at its latest instant.
func endOf(r *engine.Run) time.Time {
	if !r.Status.Terminal() {
		return time.Time{}
	}
	if !r.FinishedAt.IsZero() {
		return r.FinishedAt
	}
	if r.QueuedAt.After(r.CreatedAt) {
		return r.QueuedAt
	}
	return r.CreatedAt
}

func newAttemptDocument(a *engine.Attempt) attemptDocument {
	d := attemptDocument{
		N: a.N, Status: a.Status.String(), Executor: a.Executor, Token: int64(a.Token),
		QueuedAt: micros(a.QueuedAt), ClaimedAt: micros(a.ClaimedAt), FetchedAt: micros(a.FetchedAt),
		StartedAt: micros(a.StartedAt), FinishedAt: micros(a.FinishedAt),
		ExitCode: a.ExitCode, Signal: a.Signal, Error: a.Error,
	}
	if a.Usage != nil {
		d.Usage = &usageDocument{CPU: int64(a.Usage.CPU), MaxRSS: a.Usage.MaxRSS}
	}
	if o := a.Output; o != nil {
		d.Output = &outputDocument{Size: o.Size, Lines: o.Lines, Tail: o.Tail, Chunks: o.Chunks, Truncated: o.Truncated, Lost: o.Lost}
	}
	return d
}

func (d runDocument) value() (engine.Run, error) {
	r := engine.Run{
		ID: d.ID, Revision: d.Revision,
		Namespace: d.Namespace, JobUID: d.JobUID, Job: d.Job, Shard: d.Shard, Generation: d.Generation,
		DAG: d.DAG, Wave: d.Wave, Epoch: d.Epoch, Task: d.Task, Item: d.Item, Upstream: d.Upstream,
		Trigger: engine.Trigger(d.Trigger), By: d.By, Slot: someInstant(d.Slot), Reason: d.Reason, Waiting: d.Waiting,
		Tier: spec.Tier(d.Tier), Class: spec.Class(d.Class), RunsOn: spec.ParseRunsOn(d.RunsOn),
		Binary: d.Binary, Version: d.Version, Digest: d.Digest, Kind: d.Kind, Size: d.Size,
		CreatedAt: instant(d.CreatedAt), NotBefore: someInstant(d.NotBefore), QueuedAt: someInstant(d.QueuedAt),
		StartedAt: someInstant(d.StartedAt), FinishedAt: someInstant(d.FinishedAt), RetryAt: someInstant(d.RetryAt),
		Attempt: d.Attempt, Failures: d.Failures, Losses: d.Losses, CancelBy: d.CancelBy, PendingSkip: engine.SlotReason(d.PendingSkip),
	}
	var err error
	if err = r.Status.UnmarshalText([]byte(d.Status)); err != nil {
		return r, err
	}
	if r.Payload, err = (payload{d.Payload, d.PayloadJSON}).json(); err != nil {
		return r, err
	}
	if r.Outputs, err = (payload{d.Outputs, d.OutputsJSON}).json(); err != nil {
		return r, fmt.Errorf("outputs: %w", err)
	}
	for _, a := range d.Artifacts {
		r.Artifacts = append(r.Artifacts, engine.Artifact(a))
	}
	if r.Args, err = stringsOf(d.Args); err != nil {
		return r, err
	}
	if d.Progress != nil {
		r.Progress = &engine.Progress{Fraction: d.Progress.Fraction, Message: d.Progress.Message, At: someInstant(d.Progress.At)}
	}
	if len(d.Micros) > 0 {
		for _, i := range instantsOf(&r) {
			remainders(d.Micros).restore(i.field, i.instant)
		}
	}
	if len(d.Attempts) > 0 {
		r.Attempts = make([]engine.Attempt, len(d.Attempts))
		for i := range d.Attempts {
			if r.Attempts[i], err = d.Attempts[i].value(); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

func (d *attemptDocument) value() (engine.Attempt, error) {
	a := engine.Attempt{
		N: d.N, Executor: d.Executor, Token: uint64(d.Token),
		QueuedAt: fromMicros(d.QueuedAt), ClaimedAt: fromMicros(d.ClaimedAt), FetchedAt: fromMicros(d.FetchedAt),
		StartedAt: fromMicros(d.StartedAt), FinishedAt: fromMicros(d.FinishedAt),
		ExitCode: d.ExitCode, Signal: d.Signal, Error: d.Error,
	}
	if d.Usage != nil {
		a.Usage = &engine.Usage{CPU: time.Duration(d.Usage.CPU), MaxRSS: d.Usage.MaxRSS}
	}
	if o := d.Output; o != nil {
		a.Output = &engine.Output{Size: o.Size, Lines: o.Lines, Tail: o.Tail, Chunks: o.Chunks, Truncated: o.Truncated, Lost: o.Lost}
	}
	return a, a.Status.UnmarshalText([]byte(d.Status))
}
