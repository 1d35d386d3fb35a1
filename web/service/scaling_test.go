package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func TestExecutorOfAllTiersCountsForEach(t *testing.T) {
	w := webtest.New(t, service.Config{})
	w.Queue.SetDepths(engine.QueueDepth{Tier: spec.TierHeavy, Class: spec.ClassStandard, Waiting: 3, Oldest: w.Now})
	w.Queue.SetExecutors(
		engine.Presence{ID: "all", Tiers: []spec.Tier{spec.TierLight, spec.TierMedium, spec.TierHeavy}, Slots: 4, Running: make([]engine.RunningAttempt, 2)},
		engine.Presence{ID: "medium", Tiers: []spec.Tier{spec.TierMedium, spec.TierLight}, Slots: 4},
	)
	tiers, err := w.Service.Scaling(t.Context(), service.ScalingBounds{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ alive, busy, wanted int }{{1, 2, 1}, {2, 0, 0}, {1, 0, 1}} {
		if got := tiers[i]; got.Alive != want.alive || got.Busy != want.busy || got.Wanted != want.wanted {
			t.Errorf("%s: %d alive, %d busy, %d wanted, want %v", got.Tier, got.Alive, got.Busy, got.Wanted, want)
		}
	}
}

func TestExecutorsWantedFollowFromWhatWaitsAndRuns(t *testing.T) {
	light, heavy := []spec.Tier{spec.TierLight}, []spec.Tier{spec.TierHeavy, spec.TierMedium, spec.TierLight}
	executor := func(id string, tiers []spec.Tier, slots, running int, draining bool) engine.Presence {
		return engine.Presence{ID: id, Tiers: tiers, Slots: slots, Running: make([]engine.RunningAttempt, running), Draining: draining}
	}
	type depth struct {
		waiting, labelled uint64
		age               time.Duration
	}
	for _, c := range []struct {
		name      string
		depth     depth
		executors []engine.Presence
		took      time.Duration // of the runs before; 0: there are none
		bounds    service.ScalingBounds
		want      int
		why       string
	}{
		{name: "nothing", want: 0, why: "Nothing waits and nothing runs."},
		{name: "one waits, nobody is there", depth: depth{waiting: 1}, want: 1, why: "one is to begin"},
		{name: "many wait, nobody is there", depth: depth{waiting: 500}, want: 1, why: "one is to begin"},
		{name: "many wait, nobody is there, slots are given", depth: depth{waiting: 500}, bounds: service.ScalingBounds{Slots: 10}, want: 50},
		{name: "what runs is kept", executors: []engine.Presence{executor("a", light, 4, 4, false), executor("b", light, 4, 1, false)}, want: 2},
		{name: "what does not run is spared", executors: []engine.Presence{executor("a", light, 4, 1, false), executor("b", light, 4, 0, false)}, want: 1},
		{name: "quick runs share slots", depth: depth{waiting: 120}, took: time.Second, executors: []engine.Presence{executor("a", light, 2, 0, false)}, want: 1,
			why: "120 runs wait, the first for 0s; a run takes 1s on average, so 2 slots let them begin within 1m0s; 0 attempts run; 2 slots at 2 an executor."},
		{name: "long runs do not", depth: depth{waiting: 12}, took: time.Hour, executors: []engine.Presence{executor("a", light, 2, 0, false)}, want: 6},
		{name: "what has waited for long hurries", depth: depth{waiting: 120, age: 50 * time.Second}, took: time.Second,
			executors: []engine.Presence{executor("a", light, 2, 0, false)}, want: 6},
		{name: "what is late hurries ten times", depth: depth{waiting: 120, age: time.Hour}, took: time.Second,
			executors: []engine.Presence{executor("a", light, 2, 0, false)}, want: 10},
		{name: "less patience", depth: depth{waiting: 120}, took: time.Second, bounds: service.ScalingBounds{Within: 10 * time.Second},
			executors: []engine.Presence{executor("a", light, 2, 0, false)}, want: 6},
		{name: "others' executors do not count", executors: []engine.Presence{executor("a", heavy, 2, 2, false)}, want: 0},
		{name: "those that drain do not count", executors: []engine.Presence{executor("a", light, 2, 2, true)}, want: 0},
		{name: "what asks for labels does not count", depth: depth{waiting: 9, labelled: 9}, want: 0, why: "9 waiting runs for executors with certain labels are left out"},
		{name: "at least", bounds: service.ScalingBounds{Min: 2}, want: 2, why: "at least 2"},
		{name: "at most", depth: depth{waiting: 500}, bounds: service.ScalingBounds{Slots: 1, Max: 7}, want: 7, why: "at most 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := webtest.New(t, service.Config{})
			d := engine.QueueDepth{Tier: spec.TierLight, Class: spec.ClassStandard, Waiting: c.depth.waiting, Oldest: w.Now.Add(-c.depth.age)}
			if c.depth.labelled > 0 {
				d.Pools = []engine.PoolDepth{{RunsOn: map[string]string{"gpu": "true"}, Waiting: c.depth.labelled}}
			}
			w.Queue.SetDepths(d)
			w.Queue.SetExecutors(c.executors...)
			if c.took > 0 {
				w.PutRun(t, engine.Run{
					ID: "j-s1", JobUID: "j", Job: "j", Namespace: "default", Tier: spec.TierLight, Status: engine.StatusSucceeded, CreatedAt: w.Now,
					Attempt: 1, Attempts: []engine.Attempt{{N: 1, StartedAt: w.Now, FinishedAt: w.Now.Add(c.took)}},
				})
			}
			tiers, err := w.Service.Scaling(t.Context(), c.bounds)
			if err != nil {
				t.Fatal(err)
			}
			if got := tiers[0]; got.Wanted != c.want || !strings.Contains(got.Why, c.why) {
				t.Errorf("%d are wanted, want %d (%s): %+v", got.Wanted, c.want, c.why, got)
			}
		})
	}
}
