package storetest

import (
	"context"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
)

// Run holds a store to every promise. open gives an empty store that shares nothing with those given before; Run
// closes it.
func Run(t *testing.T, open func(t *testing.T) Store) {
	for topic, tests := range map[string][]promise{
		"decisions": decisionPromises, "runs": runPromises, "history": historyPromises, "jobs": jobKind.promises(), "tasks": taskPromises,
		"binaries": binaryPromises, "ledger": ledgerPromises, "incidents": incidentPromises, "commands": commandPromises, "expiry": expiryPromises, "retention": retentionPromises,
		"concurrency": concurrencyPromises, "marks": markPromises, "names": namePromises, "sources": sourcePromises, "tallies": tallyPromises,
		"documents": documentPromises, "effects": effectPromises, "records": recordPromises, "dags": dagKind.promises(), "shared names": sharedNamePromises, "dag tasks": dagTaskPromises, "waves": wavePromises, "runs of waves": waveRunPromises,
		"commits": commitPromises, "owners": ownerPromises,
	} {
		t.Run(topic, func(t *testing.T) {
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) {
					store := open(t)
					t.Cleanup(func() {
						if err := store.Close(context.WithoutCancel(t.Context())); err != nil {
							t.Errorf("close: %v", err)
						}
					})
					test.check(newHarness(t, store))
				})
			}
		})
	}
}

type promise struct {
	name  string
	check func(h *harness)
}

// harness is a store under test with shorthands that end the test on an error.
type harness struct {
	*testing.T
	store  Store
	writer *writer
	ctx    context.Context
}

func newHarness(t *testing.T, store Store) *harness {
	return &harness{T: t, store: store, writer: &writer{store: store}, ctx: t.Context()}
}

func (h *harness) must(what string, err error) {
	h.Helper()
	if err != nil {
		h.Fatalf("%s: %v", what, err)
	}
}

// commit writes documents as the owner of their shards. Readers see them afterwards.
func (h *harness) commit(decision engine.Batch) {
	h.Helper()
	h.must("commit", h.writer.commit(h.ctx, decision))
}

func (h *harness) commitRuns(runs ...engine.Run) {
	h.Helper()
	h.commit(engine.Batch{Runs: runs})
}

// live writes the revisions of a run one after the other and returns the last.
func (h *harness) live(revisions []engine.Run) engine.Run {
	h.Helper()
	for _, run := range revisions {
		h.commitRuns(run)
	}
	return revisions[len(revisions)-1]
}

func (h *harness) run(id string) engine.Run {
	h.Helper()
	run, err := h.store.Run(h.ctx, id)
	h.must("read run "+id, err)
	return run
}

func (h *harness) createJob(job engine.Job) engine.Job {
	h.Helper()
	h.must("create job "+job.Name, h.store.Jobs().Create(h.ctx, job))
	return job
}

// history walks all pages. A store may give a page short of its limit, even an empty one, as long as it says where to
// continue.
func (h *harness) history(filter engine.RunFilter) []engine.Run {
	h.Helper()
	var all []engine.Run
	if filter.Limit == 0 {
		filter.Limit = 7
	}
	for pages := 0; ; pages++ {
		runs, next, err := h.store.Runs(h.ctx, filter)
		h.must("list runs", err)
		if len(runs) > filter.Limit {
			h.Fatalf("a page of %d runs for a limit of %d", len(runs), filter.Limit)
		}
		all = append(all, runs...)
		if next == "" {
			return all
		}
		if next == filter.Cursor || pages > 10_000 {
			h.Fatalf("paging does not move on from %q", next)
		}
		filter.Cursor = next
	}
}

// state is all that a store holds of what the engine writes, in a fixed order, to be compared.
type state struct {
	Runs      []engine.Run
	Active    []engine.Run
	Tasks     []engine.ScheduledTask
	Slots     []engine.SlotRange
	Letters   []engine.DeadLetter
	Incidents []engine.Incident
	Jobs      []engine.Job
	DAGs      []engine.DAG
	Waves     []engine.Wave
	Commands  []engine.Command
}

// state reads back everything that concerns these jobs.
func (h *harness) state(jobs ...engine.Job) state {
	h.Helper()
	var s state
	var err error
	uids := make([]string, len(jobs))
	for i, job := range jobs {
		uids[i] = job.UID
		slots, _, err := h.store.Slots(h.ctx, engine.SlotFilter{JobUID: job.UID, Limit: 1000})
		h.must("list slots", err)
		s.Slots = append(s.Slots, slots...)
	}
	s.Runs = h.history(engine.RunFilter{Namespace: namespace, Limit: 1000})
	s.Active, err = h.store.ActiveRuns(h.ctx, allShards(), "", 1000)
	h.must("list active runs", err)
	s.Tasks, err = h.store.TasksByID(h.ctx, uids)
	h.must("read tasks", err)
	s.Tasks = sorted(s.Tasks, func(task engine.ScheduledTask) string { return task.ID })
	s.Letters, _, err = h.store.DeadLetters(h.ctx, namespace, "", 1000)
	h.must("list dead letters", err)
	s.Incidents, err = h.store.Incidents(h.ctx, allShards(), "", 1000)
	h.must("read incidents", err)
	s.Jobs, err = h.store.JobsByUID(h.ctx, uids)
	h.must("read jobs", err)
	s.Jobs = sorted(s.Jobs, func(job engine.Job) string { return job.UID })
	s.DAGs, _, err = h.store.DAGs().List(h.ctx, engine.DefinitionFilter{Namespace: namespace, Limit: 1000})
	h.must("list DAGs", err)
	s.Waves = h.waves(engine.WaveFilter{Namespace: namespace, Limit: 1000})
	s.Commands, err = h.store.Commands(h.ctx, allShards(), 1000)
	h.must("list commands", err)
	s.Commands = sorted(s.Commands, func(command engine.Command) string { return command.ID }) // some are of one instant
	return s
}
