package mongo

import (
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// runDocument is a document of runs, as it is read; writeRun writes it.
type runDocument struct {
	ID       string `bson:"_id"`
	Revision int64  `bson:"revision"`
	// These follow from the rest. Active and EndedAt are there for the indexes, Bare for retention: it has ended, and nothing is kept of
	// it beside this document.
	Active  bool           `bson:"active"`
	EndedAt *bson.DateTime `bson:"ended_at,omitempty"`
	Bare    bool           `bson:"bare,omitempty"`

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
	Marks     []byte `bson:"marks,omitempty"`
}

type progressDocument struct {
	Fraction float64        `bson:"fraction"`
	Message  string         `bson:"message,omitempty"`
	At       *bson.DateTime `bson:"at,omitempty"`
}

// newRunDocument returns what stands inside of another document.
func newRunDocument(r *engine.Run) (*runDocument, error) {
	raw, err := writeRun(r, 0)
	if err != nil {
		return nil, err
	}
	d := &runDocument{}
	return d, bson.Unmarshal(raw, d)
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
		a.Output = &engine.Output{Size: o.Size, Lines: o.Lines, Tail: o.Tail, Chunks: o.Chunks, Truncated: o.Truncated, Lost: o.Lost, Marks: o.Marks}
	}
	return a, a.Status.UnmarshalText([]byte(d.Status))
}
