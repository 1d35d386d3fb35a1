package service_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func TestStreamThatGrowsNeedsAttention(t *testing.T) {
	start := webtest.New(t).Now
	for name, test := range map[string]struct {
		stream engine.Stream
		words  string // "" if all is well
		stops  bool   // executors take nothing new
	}{
		"small":           {engine.Stream{Name: "RESULTS", Messages: 100, Bytes: 30_000, Limit: 1 << 20, Keeps: 10 * time.Minute}, "", false},
		"not trimmed":     {engine.Stream{Name: "RESULTS", Messages: 100, Bytes: 30_000, Limit: 1 << 20, Keeps: time.Minute}, "not been trimmed for 5m0s", false},
		"after an outage": {engine.Stream{Name: "RESULTS", Messages: 100, Bytes: 30_000, Limit: 1 << 20, Keeps: time.Minute, Watched: start.Add(-50 * time.Second)}, "", false},
		"long after it":   {engine.Stream{Name: "RESULTS", Messages: 100, Bytes: 30_000, Limit: 1 << 20, Keeps: time.Minute, Watched: start.Add(-2 * time.Minute)}, "not been trimmed for 2m0s", false},
		"half of it used": {engine.Stream{Name: "RESULTS", Messages: 100, Bytes: 600_000, Limit: 1 << 20, Keeps: 10 * time.Minute}, "more than half of its limit of 1 MiB", false},
		"full":            {engine.Stream{Name: "RESULTS", Messages: 100, Bytes: 3 << 20, Limit: 1 << 20, Keeps: time.Minute}, "holds 3 MiB, more than its limit of 1 MiB: executors take nothing new", true},
		"without a limit": {engine.Stream{Name: "LOCKS", Messages: 100, Bytes: 3 << 40}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := webtest.New(t)
			w.Queue.SetExecutors(engine.Presence{ID: "one", Tiers: []spec.Tier{spec.TierLight}, Slots: 1, Seen: w.Now})
			w.Queue.SetDepths(engine.QueueDepth{Tier: spec.TierLight, Class: spec.ClassStandard, Waiting: 1})
			test.stream.Oldest = w.Now.Add(-5 * time.Minute)
			w.Queue.SetStreams(test.stream)
			streams, err := w.Streams(t.Context())
			if err != nil || len(streams) != 1 || !strings.Contains(streams[0].Problem, test.words) || (test.words == "") != (streams[0].Problem == "") {
				t.Errorf("streams %+v, %v, want %q", streams, err, test.words)
			}
			if got := slices.Contains(concerns(t, w), service.ConcernStream); got != (test.words != "") {
				t.Errorf("the overview lists it: %t", got)
			}
			queues, err := w.ServedQueues(t.Context())
			if err != nil || len(queues) != 1 || (queues[0].Unserved != "") != test.stops {
				t.Errorf("queues %+v, %v", queues, err)
			}
		})
	}
}
