package api_test

import (
	"maps"
	"net/http"
	"reflect"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func labelled(id string, labels map[string]string, tiers ...spec.Tier) engine.Presence {
	return engine.Presence{ID: id, Host: id, Tiers: tiers, Slots: 2, Labels: labels, Seen: webtest.Start}
}

func TestUnschedulableJobIsReportedWithTheMissingLabels(t *testing.T) {
	gpu := map[string]string{"gpu": "true"}
	both := map[string]string{"gpu": "true", "zone": "a"}
	for name, c := range map[string]struct {
		executors []engine.Presence
		runsOn    map[string]string
		want      string
	}{
		"nobody is there":           {nil, gpu, "no executor is alive"},
		"an executor has it":        {[]engine.Presence{labelled("one", both, "light")}, gpu, ""},
		"nobody has it":             {[]engine.Presence{labelled("one", map[string]string{"gpu": "false"}, "light")}, gpu, "no executor has gpu=true"},
		"nobody has one of them":    {[]engine.Presence{labelled("one", gpu, "light")}, both, "no executor has zone=a"},
		"nobody has any of them":    {[]engine.Presence{labelled("one", nil, "light")}, both, "no executor has gpu=true or zone=a"},
		"nobody has them together":  {[]engine.Presence{labelled("one", gpu, "light"), labelled("two", map[string]string{"zone": "a"}, "light")}, both, "no executor has gpu=true and zone=a together"},
		"who has it serves another": {[]engine.Presence{labelled("one", gpu, "heavy"), labelled("two", nil, "light")}, gpu, "no executor with gpu=true serves the tier light"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.PutBinary(t, "report")
			s.Queue.SetExecutors(c.executors...)
			definition := `{"kind":"Job","name":"a","binary":"report","tier":"light","runs_on":{"gpu":true}}`
			if len(c.runsOn) == 2 {
				definition = `{"kind":"Job","name":"a","binary":"report","tier":"light","runs_on":{"gpu":true,"zone":"a"}}`
			}
			var want []string
			if c.want != "" {
				want = []string{c.want + ": its runs wait until one comes"}
			}
			checked := into[wire.Validated](s.ask("POST", "/api/v1/validate", definition).is(http.StatusOK))
			if got := checked.Items[0].Warnings; !reflect.DeepEqual(got, want) {
				t.Errorf("validate warns %q, want %q", got, want)
			}
			applied := into[wire.Applied](s.ask("POST", "/api/v1/apply", definition).is(http.StatusOK))
			if got := applied.Items[0].Warnings; !reflect.DeepEqual(got, want) {
				t.Errorf("apply warns %q, want %q", got, want)
			}
			run := into[wire.Run](s.ask("POST", "/api/v1/jobs/a/run", "{}").is(http.StatusCreated))
			if !maps.Equal(run.RunsOn, c.runsOn) {
				t.Errorf("the run asks for %v, want %v", run.RunsOn, c.runsOn)
			}
			s.Act(t)
			stored, err := s.Store.Run(t.Context(), run.ID)
			if err != nil {
				t.Fatal(err)
			}
			stored.Status, stored.Revision, stored.QueuedAt = engine.StatusQueued, stored.Revision+1, webtest.Start
			s.PutRun(t, stored)
			if got := into[wire.Run](s.ask("GET", "/api/v1/runs/"+run.ID, "").is(http.StatusOK)); got.Unserved != c.want {
				t.Errorf("the run gets %q, want %q", got.Unserved, c.want)
			}
			s.Queue.SetDepths(engine.QueueDepth{Tier: "light", Class: "standard", Waiting: 3, Pools: []engine.PoolDepth{{RunsOn: c.runsOn, Waiting: 2}}})
			queues := into[wire.List[wire.Queue]](s.ask("GET", "/api/v1/queues", "").is(http.StatusOK))
			if got := queues.Items[0]; got.Waiting != 3 || len(got.Pools) != 1 || got.Pools[0].Waiting != 2 || got.Pools[0].Unserved != c.want || !maps.Equal(got.Pools[0].RunsOn, c.runsOn) {
				t.Errorf("the queue is %+v", got)
			}
		})
	}
}

func TestUnschedulableTasksAreWarnedOf(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	s.Queue.SetExecutors(labelled("one", map[string]string{"arch": "arm64"}, "light"))
	applied := into[wire.Applied](s.ask("POST", "/api/v1/apply", `{"kind":"DAG","name":"etl","defaults":{"binary":"report","tier":"light","runs_on":{"arch":"arm64"}},
		"tasks":{"a":{},"b":{"runs_on":{"gpu":"true"}},"c":{"runs_on":{"arch":"amd64"}}}}`).is(http.StatusOK))
	want := []string{"task b: no executor has gpu=true: its runs wait until one comes", "task c: no executor has arch=amd64: its runs wait until one comes"}
	if got := applied.Items[0].Warnings; !reflect.DeepEqual(got, want) {
		t.Errorf("apply warns %q, want %q", got, want)
	}
}

// A queue keeps no more sets of labels apart than it can, and a run that finds no room must not wait without a word.
func TestRunOfOneSetOfLabelsTooMany(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	s.PutJob(t, `{"name":"a","binary":"report","tier":"light","runs_on":{"gpu":true}}`)
	s.Queue.SetExecutors(labelled("one", map[string]string{"gpu": "true"}, "light"))
	run := into[wire.Run](s.ask("POST", "/api/v1/jobs/a/run", "{}").is(http.StatusCreated))
	s.Act(t)
	stored, err := s.Store.Run(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	stored.Status, stored.Revision, stored.QueuedAt = engine.StatusQueued, stored.Revision+1, webtest.Start
	s.PutRun(t, stored)
	for _, own := range []bool{false, true} {
		depth := engine.QueueDepth{Tier: "light", Class: "premium"}
		for i := range engine.MaxPools {
			depth.Pools = append(depth.Pools, engine.PoolDepth{RunsOn: map[string]string{"set": string(rune('0' + i))}})
		}
		want := "64 different tiers and sets of labels wait or have waited lately, and more are not kept apart"
		if own {
			depth.Pools[5].RunsOn, want = map[string]string{"gpu": "true"}, ""
		}
		s.Queue.SetDepths(depth)
		if got := into[wire.Run](s.ask("GET", "/api/v1/runs/"+run.ID, "").is(http.StatusOK)); got.Unserved != want {
			t.Errorf("the run gets %q, want %q", got.Unserved, want)
		}
	}
}
