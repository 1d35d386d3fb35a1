package main

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/internal/tracing"
)

// otlpEndpoint is the setting that the standard's own variable makes, too.
const otlpEndpoint = "otlp-endpoint"

// tracePlace is where --trace-url wants the id of the trace.
const tracePlace = "{trace}"

func traceFlags(flags *pflag.FlagSet) {
	flags.String(otlpEndpoint, "", "send traces to this OpenTelemetry collector, such as http://127.0.0.1:4318 ("+tracing.EndpointVariable+"; the other OTEL_ variables count, too)")
	flags.String("trace-url", "", "where people see a trace, with {trace} for its id, such as https://jaeger.example.com/trace/{trace}; pages of runs link there")
}

// validateTraces refuses addresses that lead nowhere.
func (c *ServerConfig) validateTraces() error {
	if err := tracing.Check(c.OTLPEndpoint); err != nil {
		return usage("--%s: %w", otlpEndpoint, err)
	}
	if c.TraceURL == "" {
		return nil
	}
	parsed, err := url.Parse(strings.ReplaceAll(c.TraceURL, tracePlace, "0"))
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" || !strings.Contains(c.TraceURL, tracePlace) {
		return usage("--trace-url: %q is not an address with %s in it, such as https://jaeger.example.com/trace/%s", c.TraceURL, tracePlace, tracePlace)
	}
	return nil
}

// traceCloseLimit is how long the last spans are tried for when the server ends.
const traceCloseLimit = 3 * time.Second

// openTraces begins to send traces, where there is a collector.
func (s *Server) openTraces(ctx context.Context) (err error) {
	_, instance := executorID()
	s.traces, err = tracing.Open(ctx, tracing.Config{Endpoint: s.config.OTLPEndpoint, Version: version, Instance: instance, Log: s.log})
	if err != nil {
		return err
	}
	s.metrics.watchTraces(s.traces.Counts)
	if s.traces == nil {
		return nil
	}
	s.parts.add("the traces", func(ctx context.Context) error { // it ends after all that makes spans
		<-ctx.Done()
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceCloseLimit)
		defer cancel()
		if err := s.traces.Close(limit); err != nil {
			s.log.Warn("the last traces were not sent", "error", err)
		}
		return nil
	})
	return nil
}

// watchTraces shows how many spans there were.
func (m *metrics) watchTraces(counts func() tracing.Counts) {
	for result, count := range map[string]func(tracing.Counts) int64{
		"made": func(c tracing.Counts) int64 { return c.Made }, "sent": func(c tracing.Counts) int64 { return c.Sent },
		"failed": func(c tracing.Counts) int64 { return c.Failed },
	} {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "tidewheel_spans_total", Help: "Spans that were made, sent, and not taken by the collector; the rest waits, or was dropped because too many did.",
			ConstLabels: prometheus.Labels{"result": result},
		}, func() float64 { return float64(count(counts())) }))
	}
}

// trace sends what a commit has ended.
func (s countingStore) trace(decision *engine.Batch) {
	if s.traces == nil {
		return
	}
	for i := range decision.Runs {
		if decision.Runs[i].Status.Terminal() {
			s.traces.Run(&decision.Runs[i])
		}
	}
	for i := range decision.Waves {
		if decision.Waves[i].Status.Terminal() {
			s.traces.Wave(&decision.Waves[i])
		}
	}
}
