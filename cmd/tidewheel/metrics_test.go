package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
)

func TestMetricsCountRunsByOutcome(t *testing.T) {
	config := serverConfigFor(t)
	config.MetricsListen, config.MetricsOpen = "127.0.0.1:0", true
	s := startServer(t, config)
	url := "http://" + s.server.health.Addr().String() + "/metrics"
	line := func(name string) string {
		status, text := get(t, url)
		if status != http.StatusOK {
			t.Fatalf("metrics: %d %s", status, text)
		}
		for line := range strings.Lines(text) {
			if value, found := strings.CutPrefix(line, name+" "); found {
				return strings.TrimSpace(value)
			}
		}
		return "missing"
	}
	want := func(when string, values map[string]string) {
		t.Helper()
		for name, value := range values {
			if got := line(name); got != value {
				t.Errorf("%s: %s is %s, want %s", when, name, got, value)
			}
		}
	}
	want("at the start", map[string]string{
		`tidewheel_runs_ended_total{status="succeeded"}`:                   "0",
		`tidewheel_runs_ended_total{status="lost"}`:                        "0",
		`tidewheel_attempts_finished_total{status="lost"}`:                 "0",
		`tidewheel_attempts_published_total{class="premium",tier="heavy"}`: "0",
		`tidewheel_dead_letters_total`:                                     "0",
		`tidewheel_engine_shards`:                                          "64",
		`tidewheel_lease_changes_total`:                                    "64",
		`tidewheel_slots_total{outcome="fired"}`:                           "0",
		`tidewheel_slots_total{outcome="skipped"}`:                         "0",
		`tidewheel_slots_total{outcome="missed"}`:                          "0",
		`tidewheel_retries_total{class="standard",tier="light"}`:           "0",
		`tidewheel_binary_cache_total{result="hit"}`:                       "0",
		`tidewheel_engine_fenced_total`:                                    "0",
		`tidewheel_ledger_differences`:                                     "0",
	})
	s.push("good", "exit 0\n")
	s.push("bad", "exit 1\n")
	s.apply("kind: Job\nname: good\nbinary: good\ntier: light\n---\nkind: Job\nname: bad\nbinary: bad\ntier: light\nretry: {max_attempts: 2, delay: 10ms}\n")
	s.must("run", "good", "--wait")
	s.refused(exitFailed, "", "run", "bad", "--wait")
	want("after a good run and a bad one", map[string]string{
		`tidewheel_runs_ended_total{status="succeeded"}`:                       "1",
		`tidewheel_runs_ended_total{status="dead"}`:                            "1",
		`tidewheel_attempts_finished_total{status="failed"}`:                   "2",
		`tidewheel_dead_letters_total`:                                         "1",
		`tidewheel_tier_executors{tier="light"}`:                               "1",
		`tidewheel_tier_executors{tier="heavy"}`:                               "1",
		`tidewheel_queue_depth{class="standard",state="waiting",tier="light"}`: "0",
		`tidewheel_retries_total{class="standard",tier="light"}`:               "1",
		`tidewheel_binary_cache_total{result="miss"}`:                          "2",
		`tidewheel_binary_cache_total{result="hit"}`:                           "1",
		`tidewheel_publish_duration_seconds_count`:                             "3",
		`tidewheel_start_lag_seconds_count{class="standard",tier="light"}`:     "2",
		`tidewheel_slots_total{outcome="fired"}`:                               "0",
	})
	for _, name := range []string{
		`tidewheel_stream_messages{stream="TASKS"}`, `tidewheel_stream_messages{stream="RESULTS"}`, `tidewheel_stream_bytes{stream="RESULTS"}`,
		`tidewheel_stream_trim_age_seconds{stream="RESULTS"}`, `tidewheel_commit_duration_seconds_count`,
		`tidewheel_queue_oldest_seconds{class="standard",tier="light"}`, `tidewheel_process_start_lag_seconds_count{class="standard",tier="light"}`,
	} {
		if line(name) == "missing" {
			t.Errorf("%s is missing", name)
		}
	}
	// Of slots that come each second one fires and runs on; those behind it are skipped. One of a time that has passed is missed.
	s.push("long", "sleep 600\n")
	s.apply("kind: Job\nname: long\nbinary: long\nevery: 1s\noverlap: skip\n")
	until(t, "slots are counted by what became of them", func() bool {
		return line(`tidewheel_slots_total{outcome="fired"}`) == "1" && line(`tidewheel_slots_total{outcome="skipped"}`) > "1"
	})
	s.must("pause", "job", "long")
	runs := decode[wire.List[wire.Run]](t, s.must("get", "runs", "--job", "long", "--status", "running", "-o", "json"))
	for i := range runs.Items {
		s.must("cancel", runs.Items[i].ID)
	}
}
