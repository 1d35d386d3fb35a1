package tracing

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/tidewheel/tidewheel/internal/logthrottle"
)

// The variables of OpenTelemetry that are looked at here; its SDK reads the others.
const (
	EndpointVariable       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesEndpointVariable = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	protocolVariable       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	tracesProtocolVariable = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	exporterVariable       = "OTEL_TRACES_EXPORTER"
	disabledVariable       = "OTEL_SDK_DISABLED"
)

// Config says where spans are sent.
type Config struct {
	// Endpoint is the collector, as a base URL; "" leaves it to the variables of OpenTelemetry.
	Endpoint string
	Version  string // of this program
	Instance string // of this process
	Log      *slog.Logger
}

// Tracer makes spans and sends them. A nil Tracer does nothing.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	counts   counts
}

// counts are of spans since the start.
type counts struct{ made, sent, failed atomic.Int64 }

// Counts are how many spans were made, how many of those the collector has taken, and how many it did not take. The rest waits, or was
// dropped because the queue was full.
type Counts struct{ Made, Sent, Failed int64 }

// Check reports what is wrong with an endpoint or with the variables of OpenTelemetry.
func Check(endpoint string) error {
	if endpoint != "" {
		parsed, err := url.Parse(endpoint)
		if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.RawQuery != "" || parsed.Fragment != "" {
			return fmt.Errorf("%q is not the address of a collector, such as http://127.0.0.1:4318", endpoint)
		}
	}
	switch protocol() {
	case "http/protobuf", "grpc":
		return nil
	}
	return fmt.Errorf("%s %q: use http/protobuf or grpc", protocolVariable, protocol())
}

func protocol() string {
	for _, name := range []string{tracesProtocolVariable, protocolVariable} {
		if value := os.Getenv(name); value != "" {
			return value
		}
	}
	return "http/protobuf"
}

// Open begins to send spans. It returns nil where nothing says whereto, or that there be none. The collector need not be there.
func Open(ctx context.Context, config Config) (*Tracer, error) {
	switch {
	case strings.EqualFold(os.Getenv(disabledVariable), "true"), os.Getenv(exporterVariable) == "none":
		return nil, nil //nolint:nilnil // a nil Tracer is one that does nothing
	case config.Endpoint == "" && os.Getenv(EndpointVariable) == "" && os.Getenv(tracesEndpointVariable) == "":
		return nil, nil //nolint:nilnil // as above
	}
	if err := Check(config.Endpoint); err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	client, err := newClient(config.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	sender, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "tidewheel"), attribute.String("service.version", config.Version),
		attribute.String("service.instance.id", config.Instance),
	), resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) && !errors.Is(err, resource.ErrSchemaURLConflict) {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	t := &Tracer{}
	t.provider = sdk.NewTracerProvider(
		sdk.WithIDGenerator(generator{}), sdk.WithResource(about),
		sdk.WithSpanProcessor(&counting{sdk.NewBatchSpanProcessor(&exporter{SpanExporter: sender, counts: &t.counts, log: config.Log}), &t.counts}),
	)
	t.tracer = t.provider.Tracer("github.com/tidewheel/tidewheel", trace.WithInstrumentationVersion(config.Version))
	return t, nil
}

// newClient makes the wire. What the endpoint does not say, the variables do.
func newClient(endpoint string) (otlptrace.Client, error) {
	if endpoint == os.Getenv(EndpointVariable) { // whose meaning the exporters know, beside that of the one for traces
		endpoint = ""
	}
	if protocol() == "grpc" {
		if endpoint == "" {
			return otlptracegrpc.NewClient(), nil
		}
		return otlptracegrpc.NewClient(otlptracegrpc.WithEndpointURL(endpoint)), nil
	}
	if endpoint == "" {
		return otlptracehttp.NewClient(), nil
	}
	whole, err := url.JoinPath(endpoint, "v1", "traces")
	if err != nil {
		return nil, err
	}
	return otlptracehttp.NewClient(otlptracehttp.WithEndpointURL(whole)), nil
}

// Counts returns how many spans there were.
func (t *Tracer) Counts() Counts {
	if t == nil {
		return Counts{}
	}
	return Counts{Made: t.counts.made.Load(), Sent: t.counts.sent.Load(), Failed: t.counts.failed.Load()}
}

// Flush sends what waits.
func (t *Tracer) Flush(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.ForceFlush(ctx)
}

// Close sends what waits, until ctx ends.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// counting counts the spans that are given to a processor.
type counting struct {
	sdk.SpanProcessor
	counts *counts
}

func (c *counting) OnEnd(span sdk.ReadOnlySpan) {
	c.counts.made.Add(1)
	c.SpanProcessor.OnEnd(span)
}

// exporter counts what the collector takes, and logs now and then that it takes nothing.
type exporter struct {
	sdk.SpanExporter
	counts   *counts
	log      *slog.Logger
	throttle logthrottle.Throttle
}

func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.counts.failed.Add(int64(len(spans)))
		if suppressed, ok := e.throttle.Allow("not taken", time.Now()); ok {
			e.log.Warn("the collector does not accept traces; dropped them", "error", err, "suppressed", suppressed)
		}
		return nil // logged here; the SDK would report it to the process's global handler
	}
	e.counts.sent.Add(int64(len(spans)))
	return nil
}

// identity is what a span is to be called.
type identity struct {
	trace trace.TraceID
	span  trace.SpanID
}

type identityKey struct{}

// generator gives spans the identities that were derived for them, which the context holds.
type generator struct{}

func (generator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id, _ := ctx.Value(identityKey{}).(identity)
	return id.trace, id.span
}

func (generator) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	id, _ := ctx.Value(identityKey{}).(identity)
	return id.span
}

// randomSpan is the identity of a span that is one of many of its kind.
func randomSpan() (id trace.SpanID) {
	for !id.IsValid() {
		_, _ = rand.Read(id[:]) // it never fails
	}
	return id
}
