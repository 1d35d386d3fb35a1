package main

import (
	"net/http"
	"strings"
	"testing"
)

func TestMetricsTellWhatBecameOfRuns(t *testing.T) {
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
	})
	s.push("good", "exit 0\n")
	s.push("bad", "exit 1\n")
	s.apply("kind: Job\nname: good\nbinary: good\n---\nkind: Job\nname: bad\nbinary: bad\nretry: {max_attempts: 2, delay: 10ms}\n")
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
	})
}
