package main

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// metrics is what /metrics shows. It observes the engine, and asks the queue when somebody looks.
type metrics struct {
	registry   *prometheus.Registry
	finished   *prometheus.CounterVec
	published  *prometheus.CounterVec
	started    *prometheus.CounterVec
	lag        prometheus.Histogram
	processLag prometheus.Histogram
	duration   *prometheus.HistogramVec
	commit     prometheus.Histogram
	written    prometheus.Counter
	resets     prometheus.Counter
	expired    *prometheus.CounterVec
}

var _ shard.Observer = (*metrics)(nil)

var lagBuckets = []float64{.0005, .001, .002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60, 600}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		finished: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidewheel_attempts_finished_total", Help: "Attempts that ended, by how.",
		}, []string{"status"}),
		published: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidewheel_attempts_published_total", Help: "Attempts put into the queue.",
		}, []string{"tier", "class"}),
		started: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidewheel_attempts_started_total", Help: "Programs that this node's executor has started.",
		}, []string{"tier"}),
		processLag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "tidewheel_process_start_lag_seconds", Help: "From a slot to its process having begun, on this node's executor.",
			Buckets: lagBuckets,
		}),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "tidewheel_start_lag_seconds", Help: "From a slot to its task being in the queue.",
			Buckets: lagBuckets,
		}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tidewheel_attempt_duration_seconds", Help: "From the start of an attempt's process to its end.",
			Buckets: []float64{.01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 900, 3600, 4 * 3600, 24 * 3600},
		}, []string{"status"}),
		commit: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "tidewheel_commit_duration_seconds", Help: "How long the store takes to make a batch durable.",
			Buckets: []float64{.0005, .001, .002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
		written: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tidewheel_runs_written_total", Help: "Writes of runs that were made durable.",
		}),
		resets: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tidewheel_engine_resets_total", Help: "How often the engine read everything again, because a write was refused.",
		}),
		expired: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidewheel_expired_total", Help: "Old runs, waves and ledger entries removed.",
		}, []string{"kind"}),
	}
	m.registry.MustRegister(m.finished, m.published, m.started, m.lag, m.processLag, m.duration, m.commit, m.written, m.resets, m.expired,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "tidewheel_build_info", Help: "Always 1.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(build)
	return m
}

// Published counts a task and how late it was.
func (m *metrics) Published(task *engine.Task, lag time.Duration) {
	m.published.WithLabelValues(string(task.Tier), string(task.Class)).Inc()
	if task.Attempt == 1 && !task.Slot.IsZero() {
		m.lag.Observe(max(lag, 0).Seconds())
	}
}

// Finished counts the end of an attempt.
func (m *metrics) Finished(result *engine.Result) {
	if result.Finish == nil {
		return
	}
	status := result.Finish.Status.String()
	m.finished.WithLabelValues(status).Inc()
	if finish := result.Finish; !finish.StartedAt.IsZero() {
		m.duration.WithLabelValues(status).Observe(max(finish.FinishedAt.Sub(finish.StartedAt), 0).Seconds())
	}
}

// Committed times a batch.
func (m *metrics) Committed(runs int, took time.Duration) {
	m.commit.Observe(took.Seconds())
	m.written.Add(float64(runs))
}

// Reset counts a reset.
func (m *metrics) Reset() { m.resets.Inc() }

// watchEngine shows what the engine holds.
func (m *metrics) watchEngine(stats func() engine.Stats) {
	for _, gauge := range []struct {
		name, help string
		value      func(engine.Stats) int
	}{
		{"tidewheel_engine_runs", "Runs that have not ended, in the engine's memory.", func(s engine.Stats) int { return s.Runs }},
		{"tidewheel_engine_jobs", "Jobs in the engine's memory: those due soon or with runs that have not ended.", func(s engine.Stats) int { return s.Jobs }},
		{"tidewheel_engine_timers", "Timers on the wheel.", func(s engine.Stats) int { return s.Timers }},
	} {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: gauge.name, Help: gauge.help},
			func() float64 { return float64(gauge.value(stats())) }))
	}
}

// watchQueue shows what waits and who works, asked for when somebody looks.
func (m *metrics) watchQueue(queue queueState, log *slog.Logger) {
	m.registry.MustRegister(&queueCollector{queue: queue, log: log})
}

// handler serves /metrics.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// queueState is what the collector asks.
type queueState interface {
	Depths(ctx context.Context) ([]engine.QueueDepth, error)
	Executors(ctx context.Context) ([]engine.Presence, error)
}

type queueCollector struct {
	queue queueState
	log   *slog.Logger
}

var (
	depthDesc = prometheus.NewDesc("tidewheel_queue_depth", "Tasks in the queue: waiting, or delivered and not yet acknowledged.",
		[]string{"tier", "class", "state"}, nil)
	oldestDesc = prometheus.NewDesc("tidewheel_queue_oldest_seconds", "Age of the task that has waited longest.",
		[]string{"tier", "class"}, nil)
	slotsDesc = prometheus.NewDesc("tidewheel_executor_slots", "How many attempts an executor takes at once.",
		[]string{"executor", "draining"}, nil)
	busyDesc = prometheus.NewDesc("tidewheel_executor_running", "How many attempts an executor runs now.", []string{"executor"}, nil)
)

// Describe names the metrics.
func (c *queueCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- depthDesc
	descs <- oldestDesc
	descs <- slotsDesc
	descs <- busyDesc
}

// Collect asks the queue. While it does not answer, its metrics are absent.
func (c *queueCollector) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	depths, err := c.queue.Depths(ctx)
	if err != nil {
		c.log.Warn("metrics: the queue did not tell its depths", "error", err)
		return
	}
	for _, depth := range depths {
		tier, class := string(depth.Tier), string(depth.Class)
		gauge(depthDesc, float64(depth.Waiting), tier, class, "waiting")
		gauge(depthDesc, float64(depth.Claimed), tier, class, "delivered")
		age := 0.0
		if !depth.Oldest.IsZero() {
			age = max(time.Since(depth.Oldest), 0).Seconds()
		}
		gauge(oldestDesc, age, tier, class)
	}
	executors, err := c.queue.Executors(ctx)
	if err != nil {
		c.log.Warn("metrics: the queue did not tell the executors", "error", err)
		return
	}
	for i := range executors {
		gauge(slotsDesc, float64(executors[i].Slots), executors[i].ID, strconv.FormatBool(executors[i].Draining))
		gauge(busyDesc, float64(len(executors[i].Running)), executors[i].ID)
	}
}
