package ui_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

func TestWhatWaitsForLabelsIsShown(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.PutBinary(t, "report")
	job := s.PutJob(t, `{"name":"train","binary":"report","tier":"light","runs_on":{"gpu":"true"}}`)
	run := s.Running(job, s.Now.Add(-time.Minute))
	run.Status, run.RunsOn, run.StartedAt = engine.StatusQueued, job.Spec.RunsOn, time.Time{}
	run.Attempts = []engine.Attempt{{N: 1, Status: engine.StatusQueued, QueuedAt: run.QueuedAt}}
	s.PutRun(t, run)
	s.Queue.SetExecutors(engine.Presence{ID: "three", Host: "quay-3", Tiers: []spec.Tier{spec.TierLight}, Slots: 1, Seen: s.Now, Labels: map[string]string{"arch": "arm64", "host": "quay-3"}})
	s.Queue.SetDepths(engine.QueueDepth{
		Tier: spec.TierLight, Class: spec.ClassStandard, Waiting: 2, Oldest: s.Now.Add(-time.Minute),
		Pools: []engine.PoolDepth{{RunsOn: job.Spec.RunsOn, Waiting: 2, Oldest: s.Now.Add(-time.Minute)}},
	})
	for path, want := range map[string][]string{
		"/":               {"2 runs wait in tier light: no executor has gpu=true", "Start an executor with --tier light --label gpu=true"},
		"/executors":      {">arch=arm64<", ">gpu=true<", "no executor has gpu=true", "0 of 1"},
		"/runs":           {"no executor has gpu=true"},
		"/runs/" + run.ID: {"Waiting: no executor has gpu=true.", ">gpu=true<"},
		"/jobs/train":     {"No executor has gpu=true: what fires waits until one comes.", ">gpu=true<"},
	} {
		page := s.see(t, path)
		for _, words := range want {
			if !strings.Contains(page, words) {
				t.Errorf("%s does not say %q", path, words)
			}
		}
	}
	if strings.Contains(s.see(t, "/executors"), "host=quay-3") {
		t.Error("the host is told twice")
	}
	s.Queue.SetExecutors(engine.Presence{ID: "three", Host: "quay-3", Tiers: []spec.Tier{spec.TierLight}, Slots: 1, Seen: s.Now, Labels: map[string]string{"gpu": "true"}})
	for _, path := range []string{"/", "/runs", "/runs/" + run.ID, "/executors"} {
		if strings.Contains(s.see(t, path), "no executor has") {
			t.Errorf("%s says that nobody has the label", path)
		}
	}
}

func TestWhatTasksAskOfExecutorsIsShown(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.PutBinary(t, "report")
	s.PutDAG(t, `{"kind":"DAG","name":"models","defaults":{"binary":"report"},"tasks":{"fetch":{},"a":{"runs_on":{"gpu":"true"}},"b":{"runs_on":{"gpu":"true","zone":"x"}},"c":{"runs_on":{"gpu":"true"}}}}`)
	tiers := []spec.Tier{spec.TierLight, spec.TierMedium, spec.TierHeavy}
	s.Queue.SetExecutors(engine.Presence{ID: "three", Host: "quay-3", Tiers: tiers, Slots: 1, Seen: s.Now, Labels: map[string]string{"zone": "x"}})
	page := s.see(t, "/dags/models")
	for _, words := range []string{
		"gpu=true: a, c", "gpu=true, zone=x: b", "Why it does not run", "Tasks a, b, c: no executor has gpu=true: its runs wait until one comes.",
	} {
		if !strings.Contains(page, words) {
			t.Errorf("the page does not say %q", words)
		}
	}
}

func TestADAGTellsWhichTasksHaveNoProgram(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.PutBinary(t, "report")
	s.Queue.SetExecutors()
	dag := s.PutDAG(t, `{"kind":"DAG","name":"many","defaults":{"binary":"report"},"tasks":{"a":{},"b":{},"c":{},"d":{},"e":{},"f":{},"g":{}}}`)
	dag.Spec.Defaults.Binary = "gone" // it was there when the DAG was saved
	dag.Revision++
	if err := s.Store.DAGs().Replace(t.Context(), dag); err != nil {
		t.Fatal(err)
	}
	page := s.see(t, "/dags/"+dag.Name)
	for _, words := range []string{
		"Tasks a, b, c, d, e and 2 more: there is no binary", "Upload it", "Tasks a, b, c, d, e and 2 more: no executor is alive", "See the executors",
	} {
		if !strings.Contains(page, words) {
			t.Errorf("the page does not say %q", words)
		}
	}
}
