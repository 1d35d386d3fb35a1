package tracing

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/tidewheel/tidewheel/engine"
)

// lastAttempts is of how many of a run's attempts there are spans: the last.
const lastAttempts = 50

// The parts of runs and waves that have a span, beside attempts, whose part is their number.
const (
	partWhole  = "whole"   // of a run, in its own trace, and of a wave
	partInWave = "in-wave" // of a run, in the trace of its wave
)

// part is a span that is over.
type part struct {
	id         [8]byte
	name       string
	begin, end time.Time
	attributes []attribute.KeyValue
	links      []trace.Link
	failed     string // why; "" if it did not fail
}

// emit makes a span below parent, or the first of its trace if parent has no span.
func (t *Tracer) emit(parent trace.SpanContext, p part) trace.SpanContext {
	ctx := context.WithValue(context.Background(), identityKey{}, identity{parent.TraceID(), p.id})
	if parent.HasSpanID() {
		ctx = trace.ContextWithSpanContext(ctx, parent)
	}
	_, span := t.tracer.Start(ctx, p.name, trace.WithTimestamp(p.begin), trace.WithAttributes(p.attributes...), trace.WithLinks(p.links...))
	if p.failed != "" {
		span.SetStatus(codes.Error, p.failed)
	}
	if p.end.Before(p.begin) { // two machines' clocks
		p.end = p.begin
	}
	span.End(trace.WithTimestamp(p.end))
	return span.SpanContext()
}

// first is what the first span of a trace has as its parent: no more than the trace.
func first(id string) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: engine.TraceID(id)})
}

// spanOf is the span of a run or a wave as others refer to it.
func spanOf(owner string, id [8]byte) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: engine.TraceID(owner), SpanID: id, TraceFlags: trace.FlagsSampled})
}

// Run sends the trace of a run that has ended.
func (t *Tracer) Run(run *engine.Run) {
	if t == nil {
		return
	}
	begin, end := beginning(run), run.FinishedAt
	if end.IsZero() {
		end = begin
	}
	whole := part{
		id: engine.SpanID(run.ID, partWhole), name: "run " + run.Label(), begin: begin, end: end, attributes: aboutRun(run), failed: failure(run.Status, run.Reason),
	}
	if run.Wave != "" {
		whole.links = []trace.Link{{SpanContext: spanOf(run.Wave, engine.SpanID(run.Wave, partWhole))}}
		t.emit(spanOf(run.Wave, engine.SpanID(run.Wave, partWhole)), part{
			id: engine.SpanID(run.ID, partInWave), name: "task " + run.Task, begin: begin, end: end, attributes: whole.attributes, failed: whole.failed,
			links: []trace.Link{{SpanContext: spanOf(run.ID, whole.id)}},
		})
	}
	parent := t.emit(first(run.ID), whole)
	if !parent.IsSampled() {
		return
	}
	waits, since := "scheduling", begin
	for i := range run.Attempts {
		a := &run.Attempts[i]
		if i >= len(run.Attempts)-lastAttempts {
			t.attempt(run, a, parent, waits, since, end)
		}
		waits, since = "until the next attempt", a.FinishedAt
	}
}

// beginning is when a run was to begin: its slot, if it has one of its own that it was made for.
func beginning(run *engine.Run) time.Time {
	begin := run.CreatedAt
	if !run.Slot.IsZero() && run.Trigger != engine.TriggerBackfill && run.Trigger != engine.TriggerUpstream {
		begin = run.Slot
	}
	if run.NotBefore.After(begin) {
		begin = run.NotBefore
	}
	if len(run.Attempts) > 0 && !run.Attempts[0].QueuedAt.IsZero() && run.Attempts[0].QueuedAt.Before(begin) {
		begin = run.Attempts[0].QueuedAt
	}
	return begin
}

// attempt sends the spans of an attempt, and of the waits before it. since is when the first of these began; last is when an attempt ended
// whose end was never observed.
func (t *Tracer) attempt(run *engine.Run, a *engine.Attempt, parent trace.SpanContext, waits string, since, last time.Time) {
	number := strconv.Itoa(a.N)
	wait := func(name string, from, to time.Time) {
		if !from.IsZero() && !to.IsZero() {
			t.emit(parent, part{id: engine.SpanID(run.ID, number+"/"+name), name: name, begin: from, end: to})
		}
	}
	end := a.FinishedAt
	if end.IsZero() {
		end = last
	}
	wait(waits, since, a.QueuedAt)
	if a.ClaimedAt.IsZero() { // no executor took it
		wait("queued", a.QueuedAt, end)
		return
	}
	wait("queued", a.QueuedAt, a.ClaimedAt)
	attributes := []attribute.KeyValue{
		attribute.Int("tidewheel.attempt", a.N), attribute.String("tidewheel.executor", a.Executor), attribute.String("tidewheel.status", a.Status.String()),
	}
	if a.ExitCode != nil {
		attributes = append(attributes, attribute.Int("process.exit.code", *a.ExitCode))
	}
	if a.Signal != "" {
		attributes = append(attributes, attribute.String("tidewheel.signal", a.Signal))
	}
	parent = t.emit(parent, part{
		id: engine.AttemptSpanID(run.ID, a.N), name: "attempt " + number, begin: a.ClaimedAt, end: end, attributes: attributes, failed: failure(a.Status, a.Error),
	})
	wait("fetch", a.ClaimedAt, a.FetchedAt)
	wait("start", a.FetchedAt, a.StartedAt)
	wait("run", a.StartedAt, end)
}

// Wave sends the span of a wave that has ended, below which those of its runs are.
func (t *Tracer) Wave(wave *engine.Wave) {
	if t == nil {
		return
	}
	begin := wave.StartedAt
	if begin.IsZero() { // it was cancelled before
		begin = wave.CreatedAt
	}
	t.emit(first(wave.ID), part{
		id: engine.SpanID(wave.ID, partWhole), name: "wave " + wave.DAG, begin: begin, end: wave.FinishedAt, failed: failure(wave.Status, wave.Reason),
		attributes: []attribute.KeyValue{
			attribute.String("tidewheel.namespace", wave.Namespace), attribute.String("tidewheel.dag", wave.DAG), attribute.String("tidewheel.wave.id", wave.ID),
			attribute.Int64("tidewheel.epoch", wave.Epoch), attribute.String("tidewheel.trigger", string(wave.Trigger)),
			attribute.String("tidewheel.status", wave.Status.String()), attribute.Int("tidewheel.wave.tasks", wave.Tally.Tasks),
		},
	})
}

func aboutRun(run *engine.Run) []attribute.KeyValue {
	about := []attribute.KeyValue{
		attribute.String("tidewheel.namespace", run.Namespace), attribute.String("tidewheel.run.id", run.ID),
		attribute.String("tidewheel.trigger", string(run.Trigger)), attribute.String("tidewheel.status", run.Status.String()),
		attribute.String("tidewheel.tier", string(run.Tier)), attribute.String("tidewheel.class", string(run.Class)),
		attribute.String("tidewheel.binary", run.Binary), attribute.String("tidewheel.binary.sha256", run.Digest),
	}
	if !run.Slot.IsZero() {
		about = append(about, attribute.String("tidewheel.slot", run.Slot.UTC().Format(time.RFC3339Nano)))
	}
	if run.Wave == "" {
		return append(about, attribute.String("tidewheel.job", run.Job))
	}
	about = append(about, attribute.String("tidewheel.dag", run.DAG), attribute.String("tidewheel.task", run.Task),
		attribute.String("tidewheel.wave.id", run.Wave), attribute.Int64("tidewheel.epoch", run.Epoch))
	if run.Item != nil {
		about = append(about, attribute.Int("tidewheel.item", *run.Item))
	}
	return about
}

// failure returns why something failed, "" if it did not.
func failure(status engine.Status, why string) string {
	failures := []engine.Status{engine.StatusFailed, engine.StatusTimedOut, engine.StatusLost, engine.StatusDead}
	if !slices.Contains(failures, status) {
		return ""
	}
	return cmp.Or(why, status.String())
}

// Request begins the span of a request that continues a trace: the one that its headers name, or that of the attempt whose
// program makes it; run is "" if none does. The caller must call the function that it returns with the status of the
// answer. For a request that continues no trace it does nothing.
func (t *Tracer) Request(ctx context.Context, header http.Header, route, run string, attempt int) (context.Context, func(status int)) {
	if t == nil {
		return ctx, func(int) {}
	}
	remote := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(header)))
	switch {
	case remote.IsValid():
	case run != "":
		remote = spanOf(run, engine.AttemptSpanID(run, attempt)).WithRemote(true)
	default:
		return ctx, func(int) {}
	}
	of := context.WithValue(trace.ContextWithRemoteSpanContext(ctx, remote), identityKey{}, identity{span: randomSpan()})
	of, span := t.tracer.Start(of, route, trace.WithSpanKind(trace.SpanKindServer))
	if run != "" {
		span.SetAttributes(attribute.String("tidewheel.run.id", run), attribute.Int("tidewheel.attempt", attempt))
	}
	return of, func(status int) {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, http.StatusText(status))
		}
		span.End()
	}
}
