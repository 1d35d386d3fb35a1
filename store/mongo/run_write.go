package mongo

import (
	"bytes"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// writeRun gives a run as the document of runs that runDocument reads, with the position of its commit, 0 for none. Each run is
// written four times in its life: this is what most of an engine's time for MongoDB goes into.
func writeRun(r *engine.Run, position int64) (bson.Raw, error) {
	held, err := newPayload(r.Payload)
	if err != nil {
		return nil, err
	}
	outputs, err := newPayload(r.Outputs)
	if err != nil {
		return nil, fmt.Errorf("outputs: %w", err)
	}
	b := builder{bytes: make([]byte, 0, 1024)}
	b.begin()
	b.text("_id", r.ID)
	b.long("revision", r.Revision)
	b.flag("active", !r.Status.Terminal())
	b.someDate("ended_at", endOf(r))
	b.someFlag("bare", r.Status.Terminal() && !r.KeepsMore())
	b.runNames(r)
	b.text("trigger", string(r.Trigger))
	b.someText("by", r.By)
	b.someDate("slot", r.Slot)
	b.text("status", r.Status.String())
	b.someText("reason", r.Reason)
	b.someFlag("waiting", r.Waiting)
	b.text("tier", string(r.Tier))
	b.text("class", string(r.Class))
	b.someText("runs_on", spec.RunsOnText(r.RunsOn))
	b.text("binary", r.Binary)
	b.someNumber("version", r.Version)
	b.someText("digest", r.Digest)
	b.someText("kind", r.Kind)
	b.someLong("size", r.Size)
	b.someValue("payload", held.value)
	b.someValue("payload_json", held.text)
	if err := b.someMap("args", r.Args); err != nil {
		return nil, fmt.Errorf("args: %w", err)
	}
	b.runInstants(r)
	b.number("attempt", r.Attempt)
	b.someNumber("failures", r.Failures)
	b.someNumber("losses", r.Losses)
	b.attempts(r.Attempts)
	b.progress(r.Progress)
	b.someText("cancel_by", r.CancelBy)
	b.someText("pending_skip", string(r.PendingSkip))
	b.someValue("outputs", outputs.value)
	b.someValue("outputs_json", outputs.text)
	b.artifacts(r.Artifacts)
	b.someLong("position", position)
	b.end()
	return bytes.Clone(b.bytes), nil
}

// runNames writes whose run it is.
func (b *builder) runNames(r *engine.Run) {
	b.text("namespace", r.Namespace)
	b.text("job_uid", r.JobUID)
	b.text("job", r.Job)
	b.number("shard", r.Shard)
	b.long("generation", r.Generation)
	b.someText("dag", r.DAG)
	b.someText("wave", r.Wave)
	b.someLong("epoch", r.Epoch)
	b.someText("task", r.Task)
	if r.Item != nil {
		b.number("item", *r.Item)
	}
	b.someFlag("upstream", r.Upstream)
}

// runInstants writes them as dates, and then what they have beyond the milliseconds of dates.
func (b *builder) runInstants(r *engine.Run) {
	b.date("created_at", r.CreatedAt)
	b.someDate("not_before", r.NotBefore)
	b.someDate("queued_at", r.QueuedAt)
	b.someDate("started_at", r.StartedAt)
	b.someDate("finished_at", r.FinishedAt)
	b.someDate("retry_at", r.RetryAt)
	begun := false
	for _, i := range instantsOf(r) {
		rest := i.instant.Nanosecond() / 1000 % 1000
		if rest == 0 {
			continue
		}
		if !begun {
			b.document("us")
			begun = true
		}
		b.number(i.field, rest)
	}
	if begun {
		b.end()
	}
}

func (b *builder) attempts(attempts []engine.Attempt) {
	if len(attempts) == 0 {
		return
	}
	b.array("attempts")
	for i := range attempts {
		b.item(i)
		b.attempt(&attempts[i])
		b.end()
	}
	b.end()
}

func (b *builder) attempt(a *engine.Attempt) {
	b.number("n", a.N)
	b.text("status", a.Status.String())
	b.someText("executor", a.Executor)
	b.someLong("token", int64(a.Token))
	for _, i := range [...]struct {
		field   string
		instant time.Time
	}{
		{"queued_us", a.QueuedAt}, {"claimed_us", a.ClaimedAt}, {"fetched_us", a.FetchedAt}, {"started_us", a.StartedAt}, {"finished_us", a.FinishedAt},
	} {
		b.someLong(i.field, micros(i.instant))
	}
	if a.ExitCode != nil {
		b.number("exit_code", *a.ExitCode)
	}
	b.someText("signal", a.Signal)
	b.someText("error", a.Error)
	if a.Usage != nil {
		b.document("usage")
		b.long("cpu_ns", int64(a.Usage.CPU))
		b.long("max_rss", a.Usage.MaxRSS)
		b.end()
	}
	if o := a.Output; o != nil {
		b.document("output")
		b.long("size", o.Size)
		b.long("lines", o.Lines)
		b.someBytes("tail", o.Tail)
		b.someNumber("chunks", o.Chunks)
		b.someLong("truncated", o.Truncated)
		b.someLong("lost", o.Lost)
		b.someBytes("marks", o.Marks)
		b.end()
	}
}

func (b *builder) progress(p *engine.Progress) {
	if p == nil {
		return
	}
	b.document("progress")
	b.double("fraction", p.Fraction)
	b.someText("message", p.Message)
	b.someDate("at", p.At)
	b.end()
}

func (b *builder) artifacts(artifacts []engine.Artifact) {
	if len(artifacts) == 0 {
		return
	}
	b.array("artifacts")
	for i, a := range artifacts {
		b.item(i)
		b.text("name", a.Name)
		b.long("size", a.Size)
		b.text("sha256", a.SHA256)
		b.end()
	}
	b.end()
}

// endOf returns when a run ended, for retention: zero while it has not. A run that ended before any attempt did ended,
// as far as its record shows, at its latest instant.
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
