package service_test

import (
	"context"
	"fmt"
	"log/slog"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func TestSearch(t *testing.T) {
	world := webtest.New(t)
	world.PutBinary(t, "report", "stable")
	world.PutBinary(t, "night-report", "stable")
	var first engine.Job
	for i, name := range []string{"Report", "report-day", "all-reports", "nightly", "tides"} {
		job := world.PutJob(t, fmt.Sprintf(`{"name": %q, "binary": "report@stable", "every": "90s"}`, name))
		if i == 1 {
			first = job
		}
	}
	run := world.Running(first, world.Now.Add(-time.Minute).Truncate(time.Second))
	world.PutRun(t, run)
	for text, want := range map[string]service.Found{
		// What begins with it as it is typed, then what holds it, the earliest first.
		"report":                    {Jobs: []string{"report-day", "Report", "all-reports"}, Binaries: []string{"report", "night-report"}, Runs: []engine.Run{run}},
		"REPORT-D":                  {Jobs: []string{"report-day"}, Runs: []engine.Run{run}},
		"nigh":                      {Jobs: []string{"nightly"}, Binaries: []string{"night-report"}},
		"nrt":                       {Binaries: []string{"night-report"}},
		"%":                         {},
		"_":                         {},
		"nothing":                   {},
		run.ID:                      {Runs: []engine.Run{run}},
		strings.Repeat("x", 10_000): {},
	} {
		found, err := world.Search(t.Context(), engine.DefaultNamespace, text, 5)
		if err != nil {
			t.Fatal(err)
		}
		if difference := cmp.Diff(foundWords(want), foundWords(found)); difference != "" {
			t.Errorf("%q finds (-want +got):\n%s", text, difference)
		}
	}
	found, err := world.Search(t.Context(), engine.DefaultNamespace, "", 2)
	if err != nil || len(found.Jobs) != 2 || len(found.Runs) != 1 { // what runs now
		t.Errorf("nothing typed finds %v, %v", foundWords(found), err)
	}
	if found, err := world.Search(t.Context(), "other", run.ID, 5); err != nil || len(found.Runs) != 0 {
		t.Errorf("another namespace finds %v, %v", foundWords(found), err)
	}
}

// foundWords are what is found, as words.
func foundWords(found service.Found) map[string][]string {
	words := map[string][]string{"jobs": append([]string{}, found.Jobs...), "binaries": append([]string{}, found.Binaries...), "runs": {}}
	for i := range found.Runs {
		words["runs"] = append(words["runs"], found.Runs[i].ID)
	}
	return words
}

func TestSearchReadsABoundedNumberOfNames(t *testing.T) {
	store := &manyNames{count: 200_000}
	searching := service.New(store, nil, webtest.NewQueue(), slog.New(slog.DiscardHandler), service.Config{})
	found, err := searching.Search(t.Context(), engine.DefaultNamespace, "job-1999", 5)
	if err != nil || len(found.Jobs) != 5 || found.Jobs[0] != "job-199900" {
		t.Errorf("what begins with it is %v, %v", found.Jobs, err)
	}
	store.read = 0
	if found, err = searching.Search(t.Context(), engine.DefaultNamespace, "B-0000", 5); err != nil || len(found.Jobs) != 5 || found.Jobs[0] != "job-000000" {
		t.Errorf("what holds it is %v, %v", found.Jobs, err)
	}
	if store.read > 25_000 {
		t.Errorf("it reads %d names of %d", store.read, store.count)
	}
}

// manyNames is a store of many jobs, and counts those it returns.
type manyNames struct {
	service.Store

	count, read int
}

func (m *manyNames) Jobs() engine.Definitions[spec.Job] { return nil }

func (m *manyNames) DAGs() engine.Definitions[spec.DAG] { return noDAGs{} }

type noDAGs struct{ engine.Definitions[spec.DAG] }

func (noDAGs) List(context.Context, engine.DefinitionFilter) ([]engine.DAG, string, error) {
	return nil, "", nil
}

func (m *manyNames) JobNames(_ context.Context, _, from string, limit int) (names []string, err error) {
	first := sort.Search(m.count, func(i int) bool { return fmt.Sprintf("job-%06d", i) >= from })
	for i := first; i < min(first+limit, m.count); i++ {
		names = append(names, fmt.Sprintf("job-%06d", i))
	}
	m.read += len(names)
	return names, nil
}

func (m *manyNames) BinaryNames(context.Context, string, string, int) ([]string, error) {
	return nil, nil
}

func (m *manyNames) Run(context.Context, string) (engine.Run, error) {
	return engine.Run{}, engine.ErrNotFound
}

func (m *manyNames) Command(context.Context, string) (engine.Command, error) {
	return engine.Command{}, engine.ErrNotFound
}

func (m *manyNames) Runs(context.Context, engine.RunFilter) ([]engine.Run, string, error) {
	return nil, "", nil
}
