package main

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/notify"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

// tiers are those that work and executors are counted by.
var tiers = []spec.Tier{spec.TierLight, spec.TierMedium, spec.TierHeavy}

// metrics is what /metrics shows. It observes the engine, and asks the queue on each scrape.
type metrics struct {
	registry   *prometheus.Registry
	finished   *prometheus.CounterVec
	published  *prometheus.CounterVec
	started    *prometheus.CounterVec
	retries    *prometheus.CounterVec
	slots      *prometheus.CounterVec
	taken      prometheus.Counter
	cache      *prometheus.CounterVec
	lag        *prometheus.HistogramVec
	processLag *prometheus.HistogramVec
	publish    prometheus.Histogram
	duration   *prometheus.HistogramVec
	commit     prometheus.Histogram
	written    prometheus.Counter
	ended      *prometheus.CounterVec
	letters    prometheus.Counter
	fenced     prometheus.Counter
	expired    *prometheus.CounterVec
	refused    *prometheus.CounterVec
	notices    *prometheus.CounterVec
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
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidewheel_retries_total", Help: "Attempts after the first of a run that were put into the queue.",
		}, []string{"tier", "class"}),
		slots: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidewheel_slots_total", Help: "Slots by what became of them: fired, skipped by a rule of the definition, or missed.",
		}, []string{"outcome"}),
		taken: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tidewheel_lease_changes_total", Help: "Shards that this engine took: all of them at its start, later those of other engines.",
		}),
		cache: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidewheel_binary_cache_total", Help: "Programs that this node's executor had in its cache (hit), or first had to fetch or verify (miss).",
		}, []string{"result"}),
		processLag: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tidewheel_process_start_lag_seconds", Help: "From a slot to its process having begun, on this node's executor.",
			Buckets: lagBuckets,
		}, []string{"tier", "class"}),
		lag: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tidewheel_start_lag_seconds", Help: "From a slot to its task being in the queue.",
			Buckets: lagBuckets,
		}, []string{"tier", "class"}),
		publish: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "tidewheel_publish_duration_seconds", Help: "How long it takes to put a task into the queue, its secrets looked up.",
			Buckets: []float64{.0005, .001, .002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
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
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidewheel_runs_ended_total", Help: "Runs that ended, retries included, by status.",
		}, []string{"status"}),
		letters: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tidewheel_dead_letters_total", Help: "Dead letters written: runs that failed all their attempts.",
		}),
		fenced: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tidewheel_engine_fenced_total", Help: "How often another engine had taken a shard over before this one knew.",
		}),
		expired: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidewheel_expired_total", Help: "Items deleted by retention: runs, waves, ledger entries, effects, dead letters, one-off jobs, earlier generations of definitions, binaries, output and artifacts of runs.",
		}, []string{"kind"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidewheel_tasks_refused_total", Help: "Tasks that this node's executor refused, because no engine signed them as they are, or too long ago.",
		}, []string{"reason"}),
		notices: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidewheel_notifications_total", Help: "Notifications by what became of them on this node: delivered, failed for good, retried after a try that failed, silenced.",
		}, []string{"result"}),
	}
	m.registry.MustRegister(m.finished, m.published, m.started, m.lag, m.processLag, m.duration, m.commit, m.written,
		m.ended, m.letters, m.fenced, m.expired, m.refused, m.retries, m.slots, m.taken, m.cache, m.publish, m.notices,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "tidewheel_build_info", Help: "Always 1.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(build)
	m.begin()
	return m
}

// begin shows what is counted by label from the start on, as 0: otherwise the first of a kind is no increase, and an alert
// on it never comes.
func (m *metrics) begin() {
	for _, tier := range tiers {
		m.started.WithLabelValues(string(tier))
		for _, class := range []spec.Class{spec.ClassStandard, spec.ClassPremium} {
			m.published.WithLabelValues(string(tier), string(class))
			m.retries.WithLabelValues(string(tier), string(class))
			m.lag.WithLabelValues(string(tier), string(class))
			m.processLag.WithLabelValues(string(tier), string(class))
		}
	}
	for _, outcome := range []string{outcomeFired, string(engine.OutcomeSkipped), string(engine.OutcomeMissed)} {
		m.slots.WithLabelValues(outcome)
	}
	for _, result := range []string{cacheHit, cacheMiss} {
		m.cache.WithLabelValues(result)
	}
	for _, reason := range engine.RefusalReasons() {
		m.refused.WithLabelValues(string(reason))
	}
	for _, result := range notify.Results() {
		m.notices.WithLabelValues(result)
	}
	for _, status := range engine.Statuses() {
		if status.Terminal() {
			m.ended.WithLabelValues(status.String())
		}
	}
	for _, status := range []engine.Status{
		engine.StatusSucceeded, engine.StatusFailed, engine.StatusTimedOut, engine.StatusCancelled, engine.StatusLost,
	} {
		m.finished.WithLabelValues(status.String())
		if status != engine.StatusLost { // the engine does not know when it ended
			m.duration.WithLabelValues(status.String())
		}
	}
	for _, kind := range []string{"run", "wave", "slots", "effect", "dead_letter", "one_off", "generation", "binary", "audit", "output"} {
		m.expired.WithLabelValues(kind)
	}
}

// Published counts a task and how late it was.
func (m *metrics) Published(task *engine.Task, lag time.Duration) {
	m.published.WithLabelValues(string(task.Tier), string(task.Class)).Inc()
	if task.Attempt > 1 && !task.Again {
		m.retries.WithLabelValues(string(task.Tier), string(task.Class)).Inc()
	}
	if task.Attempt == 1 && !task.Slot.IsZero() {
		m.lag.WithLabelValues(string(task.Tier), string(task.Class)).Observe(max(lag, 0).Seconds())
	}
}

// Finished counts the end of an attempt.
func (m *metrics) Finished(result *engine.Result) {
	if result.Kind == engine.ResultLost {
		m.finished.WithLabelValues(engine.StatusLost.String()).Inc()
	}
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

// notified counts what happened to a notification.
func (m *metrics) notified(result string) { m.notices.WithLabelValues(result).Inc() }

// Fenced counts a shard that another engine has taken over.
func (m *metrics) Fenced(int) { m.fenced.Inc() }

// watchEngine shows what the engine holds, and how many shards it turns now.
func (m *metrics) watchEngine(stats func() core.Stats, shards func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tidewheel_engine_shards", Help: "Shards that this engine owns and turns.",
	}, func() float64 { return float64(shards()) }))
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tidewheel_engine_store_lag_seconds", Help: "For how long the oldest decision of this engine has waited for the store.",
	}, func() float64 { return ageOf(stats().Since) }))
	for _, gauge := range []struct {
		name, help string
		value      func(core.Stats) int
	}{
		{"tidewheel_engine_runs", "Runs that have not ended, in the engine's memory.", func(s core.Stats) int { return s.Runs }},
		{"tidewheel_engine_jobs", "Jobs in the engine's memory: those due soon or with runs that have not ended.", func(s core.Stats) int { return s.Jobs }},
		{"tidewheel_engine_unwritten", "Jobs and DAGs with decisions that are not durable yet: they wait for the store.", func(s core.Stats) int { return s.Unwritten }},
		{"tidewheel_engine_timers", "Timers on the wheel.", func(s core.Stats) int { return s.Timers }},
	} {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: gauge.name, Help: gauge.help},
			func() float64 { return float64(gauge.value(stats())) }))
	}
}

// watchLedger shows what the check of the slot ledger has found.
func (m *metrics) watchLedger(state func() service.LedgerState) {
	through := func() float64 {
		if at := state().Through; !at.IsZero() {
			return float64(at.UnixMilli()) / 1000
		}
		return 0
	}
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tidewheel_ledger_differences",
			Help: "Slots that did not end once: missing, both run and in the ledger, twice in either, or of no schedule. Anything but 0 is a fault of Tidewheel.",
		}, func() float64 { return float64(state().Found) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tidewheel_slot_ledger_checked_timestamp_seconds", Help: "Until when all slots have been looked at; 0 before the first pass has ended.",
		}, through),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "tidewheel_slot_ledger_slots_checked_total", Help: "Slots that the check of the ledger has looked at.",
		}, func() float64 { return float64(state().Slots) }))
}

// watchQueue shows what waits and which executors work. It asks the queue on each scrape.
func (m *metrics) watchQueue(queue queueState, log *slog.Logger) {
	m.registry.MustRegister(&queueCollector{queue: queue, log: log})
}

// handler serves /metrics.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{DisableCompression: true}) // the server compresses responses itself
}

// queueState is what the collector asks.
type queueState interface {
	Depths(ctx context.Context) ([]engine.QueueDepth, error)
	Fleet(ctx context.Context) ([]service.Executor, error)
	Streams(ctx context.Context) ([]service.Stream, error)
	Scaling(ctx context.Context, bounds service.ScalingBounds) ([]service.TierScaling, error)
}

type queueCollector struct {
	queue queueState
	log   *slog.Logger
}

var (
	depthDesc = prometheus.NewDesc("tidewheel_queue_depth", "Runs that wait for an executor: in the queue, and held back by engines.",
		[]string{"tier", "class", "state"}, nil)
	oldestDesc = prometheus.NewDesc("tidewheel_queue_oldest_seconds", "Age of the task that has waited longest.",
		[]string{"tier", "class"}, nil)
	// Of what stands in the depth of its tier, too: how much is for executors with certain labels.
	poolDesc = prometheus.NewDesc("tidewheel_pool_depth", "Messages in the queue for executors with certain labels; tidewheel_queue_depth includes them.",
		[]string{"tier", "class", "runs_on", "state"}, nil)
	poolOldestDesc = prometheus.NewDesc("tidewheel_pool_oldest_seconds", "Age of the task that has waited longest for executors with certain labels.",
		[]string{"tier", "class", "runs_on"}, nil)
	poolServersDesc = prometheus.NewDesc("tidewheel_pool_executors", "Executors that have the labels that tasks of a tier ask for: alive and not draining.",
		[]string{"tier", "runs_on"}, nil)
	slotsDesc = prometheus.NewDesc("tidewheel_executor_slots", "How many attempts an executor takes at once.",
		[]string{"executor", "draining"}, nil)
	silentDesc = prometheus.NewDesc("tidewheel_silent_executors",
		"Executors that have vanished within the last hour without a word, or should have been heard of by now.", nil, nil)
	serversDesc = prometheus.NewDesc("tidewheel_tier_executors", "Executors that take work of a tier: alive and not draining.",
		[]string{"tier"}, nil)
	wantedDesc = prometheus.NewDesc("tidewheel_executors_wanted", "Executors that a tier needs for what waits and what runs, as /api/v1/scaling says without bounds.",
		[]string{"tier"}, nil)
	streamMessagesDesc = prometheus.NewDesc("tidewheel_stream_messages", "Messages in a stream or bucket of the queue.", []string{"stream"}, nil)
	streamBytesDesc    = prometheus.NewDesc("tidewheel_stream_bytes", "Size of a stream or bucket of the queue.", []string{"stream"}, nil)
	streamAgeDesc      = prometheus.NewDesc("tidewheel_stream_trim_age_seconds", "Age of the oldest message: since when the stream has not been trimmed.",
		[]string{"stream"}, nil)
	streamLimitDesc = prometheus.NewDesc("tidewheel_stream_limit_bytes", "Size above which executors take nothing new.", []string{"stream"}, nil)
	busyDesc        = prometheus.NewDesc("tidewheel_executor_running", "How many attempts an executor runs now.", []string{"executor"}, nil)
)

// Describe names the metrics.
func (c *queueCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- depthDesc
	descs <- oldestDesc
	descs <- poolDesc
	descs <- poolOldestDesc
	descs <- poolServersDesc
	descs <- slotsDesc
	descs <- busyDesc
	descs <- serversDesc
	descs <- silentDesc
	descs <- wantedDesc
	descs <- streamMessagesDesc
	descs <- streamBytesDesc
	descs <- streamAgeDesc
	descs <- streamLimitDesc
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
		gauge(oldestDesc, ageOf(depth.Oldest), tier, class)
		for _, pool := range depth.Pools {
			runsOn := spec.RunsOnText(pool.RunsOn)
			gauge(poolDesc, float64(pool.Waiting), tier, class, runsOn, "waiting")
			gauge(poolOldestDesc, ageOf(pool.Oldest), tier, class, runsOn)
		}
	}
	streams, err := c.queue.Streams(ctx)
	if err != nil {
		c.log.Warn("metrics: the queue did not tell the size of its streams", "error", err)
		return
	}
	for i := range streams {
		s := &streams[i]
		gauge(streamMessagesDesc, float64(s.Messages), s.Name)
		gauge(streamBytesDesc, float64(s.Bytes), s.Name)
		gauge(streamAgeDesc, s.Age(time.Now()).Seconds(), s.Name)
		if s.Limit > 0 {
			gauge(streamLimitDesc, float64(s.Limit), s.Name)
		}
	}
	fleet, err := c.queue.Fleet(ctx)
	if err != nil {
		c.log.Warn("metrics: the queue did not tell the executors", "error", err)
		return
	}
	executors := make([]*engine.Presence, 0, len(fleet))
	for i := range fleet {
		if !fleet[i].Silent {
			executors = append(executors, &fleet[i].Presence)
		}
	}
	gauge(silentDesc, float64(len(fleet)-len(executors)))
	serving := make(map[spec.Tier]int)
	for _, e := range executors {
		if !e.Draining {
			for _, tier := range e.Tiers {
				serving[tier]++
			}
		}
		gauge(slotsDesc, float64(e.Slots), e.ID, strconv.FormatBool(e.Draining))
		gauge(busyDesc, float64(len(e.Running)), e.ID)
	}
	scaling, err := c.queue.Scaling(ctx, service.ScalingBounds{})
	if err != nil {
		c.log.Warn("metrics: how many executors are wanted is not known", "error", err)
	}
	for i := range scaling {
		gauge(wantedDesc, float64(scaling[i].Wanted), string(scaling[i].Tier))
	}
	for _, tier := range tiers {
		gauge(serversDesc, float64(serving[tier]), string(tier))
	}
	for _, depth := range depths {
		for _, pool := range depth.Pools {
			if depth.Class == spec.ClassPremium { // both classes of a tier have the same
				gauge(poolServersDesc, float64(servers(executors, depth.Tier, pool.RunsOn)), string(depth.Tier), spec.RunsOnText(pool.RunsOn))
			}
		}
	}
}

// servers counts the executors that take what asks for labels.
func servers(executors []*engine.Presence, tier spec.Tier, runsOn map[string]string) (n int) {
	for _, e := range executors {
		if !e.Draining && slices.Contains(e.Tiers, tier) && spec.Satisfies(e.Labels, runsOn) {
			n++
		}
	}
	return n
}

// ageOf is in seconds; 0 where there is nothing.
func ageOf(since time.Time) float64 {
	if since.IsZero() {
		return 0
	}
	return max(time.Since(since), 0).Seconds()
}
