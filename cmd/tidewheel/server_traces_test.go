package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/proto"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/internal/certs/certstest"
)

// otlpCollector takes spans as an OpenTelemetry collector does, by HTTP.
type otlpCollector struct {
	*httptest.Server
	mu    sync.Mutex
	spans map[string]*tracepb.Span // by id, hex
}

func newCollector(t *testing.T) *otlpCollector {
	t.Helper()
	c := &otlpCollector{spans: map[string]*tracepb.Span{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &request) != nil {
			t.Errorf("%s: %d bytes that are no spans: %v", r.URL.Path, len(body), err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.take(&request)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *otlpCollector) take(request *collector.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				c.spans[hex.EncodeToString(span.GetSpanId())] = span
			}
		}
	}
}

// grpcCollector takes the same by gRPC.
type grpcCollector struct {
	collector.UnimplementedTraceServiceServer
	*otlpCollector
}

func (c grpcCollector) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	c.take(request)
	return &collector.ExportTraceServiceResponse{}, nil
}

// trace returns the spans of a trace by their names.
func (c *otlpCollector) trace(id string) map[string]*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[string]*tracepb.Span{}
	for _, span := range c.spans {
		if hex.EncodeToString(span.GetTraceId()) == id {
			found[span.GetName()] = span
		}
	}
	return found
}

// tracedServer is a server that sends its traces to a collector.
func tracedServer(t *testing.T) (*testServer, *otlpCollector) {
	t.Helper()
	c := newCollector(t)
	config := serverConfigFor(t)
	config.OTLPEndpoint = c.URL
	return startServer(t, config), c
}

// spans sends what waits, and returns a trace.
func (s *testServer) spans(c *otlpCollector, trace string) map[string]*tracepb.Span {
	s.t.Helper()
	if err := s.server.traces.Flush(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return c.trace(trace)
}

func TestRunIsOneTraceThatItsProgramContinues(t *testing.T) {
	s, c := tracedServer(t)
	s.push("twice", `echo $TRACEPARENT; [ $TIDEWHEEL_ATTEMPT = 2 ]`)
	s.apply("kind: Job\nname: twice\nbinary: twice\ntier: light\nretry: {max_attempts: 2, delay: 10ms}\n")
	s.must("run", "twice", "--wait", "--key", "a")
	runs := decode[wire.List[wire.Run]](t, s.must("get", "runs", "--job", "twice", "-o", "json"))
	run := s.show(runs.Items[0].ID)
	var spans map[string]*tracepb.Span
	until(t, "the trace arrives", func() bool { spans = s.spans(c, run.TraceID); return spans["run twice"] != nil })
	for name, parents := range map[string][]string{ // of two of a name one is there
		"run twice": {}, "scheduling": {"run twice"}, "queued": {"run twice"}, "attempt 1": {"run twice"}, "until the next attempt": {"run twice"},
		"attempt 2": {"run twice"}, "fetch": {"attempt 1", "attempt 2"}, "start": {"attempt 1", "attempt 2"}, "run": {"attempt 1", "attempt 2"},
	} {
		span := spans[name]
		if span == nil {
			t.Fatalf("there is no span %q in %v", name, spans)
		}
		if len(parents) > 0 && !slices.ContainsFunc(parents, func(parent string) bool {
			return bytes.Equal(span.GetParentSpanId(), spans[parent].GetSpanId())
		}) {
			t.Errorf("%q is below none of %q", name, parents)
		}
		if span.GetEndTimeUnixNano() < span.GetStartTimeUnixNano() || span.GetStartTimeUnixNano() == 0 {
			t.Errorf("%q is from %d to %d", name, span.GetStartTimeUnixNano(), span.GetEndTimeUnixNano())
		}
	}
	if len(spans["run twice"].GetParentSpanId()) != 0 {
		t.Error("the run is below another span")
	}
	if status := spans["attempt 1"].GetStatus().GetCode(); status != tracepb.Status_STATUS_CODE_ERROR {
		t.Errorf("the attempt that failed has the status %v", status)
	}
	if status := spans["run twice"].GetStatus().GetCode(); status != tracepb.Status_STATUS_CODE_UNSET {
		t.Errorf("the run that succeeded has the status %v", status)
	}
	for attempt, name := range map[string]string{"1": "attempt 1", "2": "attempt 2"} {
		printed := strings.TrimSpace(s.must("logs", run.ID, "--attempt", attempt))
		if want := "00-" + run.TraceID + "-" + hex.EncodeToString(spans[name].GetSpanId()) + "-01"; printed != want {
			t.Errorf("the program of %s continues %s, want %s", name, printed, want)
		}
	}
}

// The same spans go to a collector of gRPC. While it is unavailable runs end all the same, and what it did not take is counted.
func TestTracesGoToACollectorOfGRPC(t *testing.T) {
	c := &otlpCollector{spans: map[string]*tracepb.Span{}}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	receiver := grpc.NewServer()
	collector.RegisterTraceServiceServer(receiver, grpcCollector{otlpCollector: c})
	served := make(chan error, 1)
	go func() { served <- receiver.Serve(listener) }()
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "500")
	config := serverConfigFor(t)
	config.OTLPEndpoint = "http://" + listener.Addr().String()
	s := startServer(t, config)
	s.push("good", "exit 0\n")
	s.apply("kind: Job\nname: good\nbinary: good\n")
	s.must("run", "good", "--wait")
	runs := decode[wire.List[wire.Run]](t, s.must("get", "runs", "--job", "good", "-o", "json"))
	run := s.show(runs.Items[0].ID)
	var spans map[string]*tracepb.Span
	until(t, "the trace arrives", func() bool {
		spans = s.spans(c, run.TraceID)
		return spans["run good"] != nil && spans["attempt 1"] != nil
	})
	if !bytes.Equal(spans["attempt 1"].GetParentSpanId(), spans["run good"].GetSpanId()) {
		t.Error("the attempt is not below its run")
	}
	sent := s.server.traces.Counts().Sent
	if sent == 0 {
		t.Error("no span counts as sent")
	}
	receiver.Stop()
	must(t, <-served)
	s.must("run", "good", "--wait")
	until(t, "what the collector did not take is counted", func() bool {
		_ = s.server.traces.Flush(t.Context())
		return s.server.traces.Counts().Failed > 0
	})
	if now := s.server.traces.Counts().Sent; now != sent {
		t.Errorf("%d spans count as sent to a collector that is away", now-sent)
	}
}

func TestWaveIsATraceWithLinksToItsRuns(t *testing.T) {
	s, c := tracedServer(t)
	s.push("good", "exit 0\n")
	s.apply("kind: DAG\nname: two\ntasks:\n  a: {binary: good}\n  b: {binary: good, needs: [a]}\n")
	s.must("run", "two", "--wait")
	runs := decode[wire.List[wire.Run]](t, s.must("get", "runs", "--dag", "two", "-o", "json"))
	if len(runs.Items) != 2 {
		t.Fatalf("%d runs", len(runs.Items))
	}
	for _, run := range runs.Items {
		var own map[string]*tracepb.Span
		until(t, "the trace of a task arrives", func() bool { own = s.spans(c, run.TraceID); return own["run two/"+run.Task] != nil })
		whole := own["run two/"+run.Task]
		if len(whole.GetLinks()) != 1 {
			t.Fatalf("the run of %s has %d links", run.Task, len(whole.GetLinks()))
		}
		wave := whole.GetLinks()[0]
		var spans map[string]*tracepb.Span
		until(t, "the trace of the wave arrives", func() bool {
			spans = s.spans(c, hex.EncodeToString(wave.GetTraceId()))
			return spans["wave two"] != nil && spans["task "+run.Task] != nil
		})
		if string(spans["wave two"].GetSpanId()) != string(wave.GetSpanId()) {
			t.Errorf("the run of %s is linked to another span than the wave's", run.Task)
		}
		task := spans["task "+run.Task]
		if string(task.GetParentSpanId()) != string(wave.GetSpanId()) {
			t.Errorf("the task %s is not below its wave", run.Task)
		}
		if len(task.GetLinks()) != 1 || string(task.GetLinks()[0].GetSpanId()) != string(whole.GetSpanId()) ||
			string(task.GetLinks()[0].GetTraceId()) != string(whole.GetTraceId()) {
			t.Errorf("the task %s is not linked to its run", run.Task)
		}
	}
}

func TestRequestsOfAProgramContinueItsTrace(t *testing.T) {
	s, c := tracedServer(t)
	s.push("effects", `set -e
say() { curl -sf -X POST -H "Authorization: Bearer $TIDEWHEEL_RUN_TOKEN" "$@"; }
say "$TIDEWHEEL_API/effects/by-token" > /dev/null
say -H "traceparent: 00-$(echo $TRACEPARENT | cut -d- -f2)-00000000000000aa-01" "$TIDEWHEEL_API/effects/by-header" > /dev/null
`)
	s.apply("kind: Job\nname: effects\nbinary: effects\n")
	s.must("run", "effects", "--wait")
	runs := decode[wire.List[wire.Run]](t, s.must("get", "runs", "--job", "effects", "-o", "json"))
	trace := runs.Items[0].TraceID
	parents := map[string]bool{}
	until(t, "the requests arrive", func() bool {
		attempt := s.spans(c, trace)["attempt 1"]
		if attempt == nil {
			return false
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, span := range c.spans {
			if span.GetName() == "POST /api/v1/effects/:key" && hex.EncodeToString(span.GetTraceId()) == trace {
				parents[hex.EncodeToString(span.GetParentSpanId())] = true
			}
		}
		return parents["00000000000000aa"] && parents[hex.EncodeToString(attempt.GetSpanId())]
	})
	if before := s.server.traces.Counts().Made; s.must("get", "jobs") == "" || s.server.traces.Counts().Made != before {
		t.Error("a request that continues nothing has made a span")
	}
}

// A run waits for no collector: neither one that does not answer, nor one that is not there.
func TestRunsDoNotWaitForTheCollector(t *testing.T) {
	release := make(chan struct{})
	asked := make(chan struct{}, 1)
	stuck := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-release
	}))
	t.Cleanup(stuck.Close)
	t.Cleanup(func() { close(release) })
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "8")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")
	config := serverConfigFor(t)
	config.OTLPEndpoint = stuck.URL
	s := startServer(t, config)
	s.push("good", "exit 0\n")
	s.apply("kind: Job\nname: good\nbinary: good\n")
	s.must("run", "good", "--wait")
	select {
	case <-asked:
	case <-time.After(30 * time.Second):
		t.Fatal("the collector is not asked")
	}
	for range 5 { // more than the queue holds
		s.must("run", "good", "--wait")
	}
	if counts := s.server.traces.Counts(); counts.Made < 30 || counts.Sent != 0 {
		t.Errorf("%+v", counts)
	}
}

func TestNothingIsTracedWithoutACollector(t *testing.T) {
	config := serverConfigFor(t)
	s := startServer(t, config)
	if s.server.traces != nil {
		t.Error("traces are sent nowhere")
	}
	s.stop() // there is one server in a process
	for name, value := range map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "none"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			config := serverConfigFor(t)
			config.OTLPEndpoint = "http://127.0.0.1:1"
			s := startServer(t, config)
			if s.server.traces != nil {
				t.Errorf("%s=%s does not count", name, value)
			}
		})
	}
}

func TestCollectorIsASetting(t *testing.T) {
	c := newTestCLI(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")
	if shown := c.must("config", "show"); !strings.Contains(shown, "http://collector:4318") {
		t.Errorf("config show does not say where traces go: %s", shown)
	}
	if shown := c.must("config", "show", "--otlp-endpoint", "http://other:4318"); !strings.Contains(shown, "http://other:4318") {
		t.Errorf("the flag does not count before the environment: %s", shown)
	}
	c.refused(exitRefused, "is not the address of a collector", "config", "show", "--otlp-endpoint", "collector:4318")
	c.refused(exitRefused, "{trace}", "config", "show", "--trace-url", "https://jaeger.example.com/")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
	c.refused(exitRefused, "http/protobuf or grpc", "config", "show")
}

// A collector that speaks TLS gets traces if its certificate is of an authority that is known, and none otherwise.
func TestTracesGoToACollectorByTLS(t *testing.T) {
	authority := certstest.New(t)
	certFile, keyFile := authority.Issue(time.Now().Add(time.Hour), "127.0.0.1")
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	must(t, err)
	for _, test := range []struct {
		protocol, authority string
		sent                bool
	}{
		{"http/protobuf", authority.File, true}, {"http/protobuf", certstest.New(t).File, false},
		{"grpc", authority.File, true}, {"grpc", certstest.New(t).File, false},
	} {
		t.Run(fmt.Sprintf("%s, sent %v", test.protocol, test.sent), func(t *testing.T) {
			c := newTLSCollector(t, test.protocol, pair)
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", test.protocol)
			t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", test.authority)
			t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "2000")
			config := serverConfigFor(t)
			config.OTLPEndpoint = c.URL
			s := startServer(t, config)
			s.push("good", "exit 0\n")
			s.apply("kind: Job\nname: good\nbinary: good\n")
			s.must("run", "good", "--wait")
			run := decode[wire.List[wire.Run]](t, s.must("get", "runs", "--job", "good", "-o", "json")).Items[0]
			until(t, "the spans are sent or refused", func() bool {
				_ = s.server.traces.Flush(t.Context())
				counts := s.server.traces.Counts()
				return counts.Sent+counts.Failed > 0 && counts.Sent+counts.Failed == counts.Made
			})
			if spans := c.trace(s.show(run.ID).TraceID); (spans["run good"] != nil) != test.sent {
				t.Errorf("the collector has the spans %v; counted: %+v", spans, s.server.traces.Counts())
			}
		})
	}
}

// newTLSCollector takes spans by TLS.
func newTLSCollector(t *testing.T, protocol string, pair tls.Certificate) *otlpCollector {
	t.Helper()
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if protocol != "grpc" {
		c := newCollector(t)
		c.Server.Close()
		c.Server = httptest.NewUnstartedServer(c.Config.Handler)
		c.TLS, c.Config.ErrorLog = config, log.New(io.Discard, "", 0)
		c.StartTLS()
		return c
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	c := &otlpCollector{Server: &httptest.Server{URL: "https://" + listener.Addr().String()}, spans: map[string]*tracepb.Span{}}
	receiver := grpc.NewServer(grpc.Creds(credentials.NewTLS(config)))
	collector.RegisterTraceServiceServer(receiver, grpcCollector{otlpCollector: c})
	served := make(chan error, 1)
	go func() { served <- receiver.Serve(listener) }()
	t.Cleanup(func() { receiver.Stop(); must(t, <-served) })
	return c
}
