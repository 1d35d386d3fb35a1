package shard_test

import (
	"context"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/memory"
)

// between is a store in which something is done after the first answer about a DAG, or a job.
type between struct {
	*memory.Store
	do func()
}

func (b *between) answered() {
	if do := b.do; do != nil {
		b.do = nil
		do()
	}
}

func (b *between) DAGsByUID(ctx context.Context, uids []string) ([]engine.DAG, error) {
	defer b.answered()
	return b.Store.DAGsByUID(ctx, uids)
}

func (b *between) TasksOfDAGs(ctx context.Context, uids []string) ([]engine.ScheduledTask, error) {
	defer b.answered()
	return b.Store.TasksOfDAGs(ctx, uids)
}

func (b *between) TasksByID(ctx context.Context, ids []string) ([]engine.ScheduledTask, error) {
	defer b.answered()
	return b.Store.TasksByID(ctx, ids)
}

func (b *between) ActiveRunsOf(ctx context.Context, uids []string) ([]engine.Run, error) {
	defer b.answered()
	return b.Store.ActiveRunsOf(ctx, uids)
}

// writer is the owner of a shard, who commits decisions.
func writer(t *testing.T, store *memory.Store, number int) func(engine.Batch) {
	term, err := store.Take(t.Context(), number, "writer")
	if err != nil {
		t.Fatal(err)
	}
	position := term.Position
	return func(d engine.Batch) {
		t.Helper()
		position++
		commit := engine.ShardCommit{Shard: number, Term: term.Number, Position: position, Batch: &d}
		if err := store.Commit(t.Context(), []engine.ShardCommit{commit})[0]; err != nil {
			t.Fatal(err)
		}
	}
}

// The owner of before prepares a slot while the next one reads the job: without the run and with the scheduled task of after
// no engine would process the slot any more.
func TestRunsAreNotReadBeforeTheirScheduledTask(t *testing.T) {
	store := &between{Store: memory.New()}
	task := engine.ScheduledTask{ID: "job", Revision: 1, Shard: engine.ShardOf("job"), Slot: start.Add(time.Minute), RunAt: start.Add(time.Minute), Generation: 1}
	run := engine.Run{ID: engine.SlotRunID("job", task.Slot), JobUID: "job", Shard: task.Shard, Trigger: engine.TriggerSchedule, Slot: task.Slot, Status: engine.StatusScheduled, Revision: 1}
	write := writer(t, store.Store, task.Shard)
	write(engine.Batch{Tasks: []engine.ScheduledTask{task}})
	store.do = func() {
		task.Slot, task.RunAt, task.Revision = task.Slot.Add(time.Minute), task.RunAt.Add(time.Minute), 2
		write(engine.Batch{Runs: []engine.Run{run}, Tasks: []engine.ScheduledTask{task}})
	}
	loaded, err := shard.Loader{Store: store}.Jobs(t.Context(), []string{"job"})
	if err != nil {
		t.Fatal(err)
	}
	s := loaded.Jobs[0]
	if s.Task == nil || s.Task.Revision == 2 && len(s.Runs) == 0 {
		t.Errorf("read: %+v and %d runs: the run of the slot before is missed", s.Task, len(s.Runs))
	}
}

// A DAG is resumed, and the owner of before acts on that, while the next one reads it: with the previous definition and
// the scheduled task of after it would pause the DAG again, and no engine would process it any more.
func TestAScheduledTaskIsNotReadAfterItsDefinition(t *testing.T) {
	store := &between{Store: memory.New()}
	definition := spec.DAG{Name: "etl", Tasks: []spec.Task{{Name: "a", Binary: "tool", Schedule: []string{"* * * * *"}}}}
	definition.ApplyDefaults()
	dag := engine.DAG{
		UID: "dag", Namespace: "default", Name: "etl", Shard: engine.ShardOf("dag"), Spec: definition, Generation: 1, Revision: 1,
		Paused: true, CreatedAt: start, UpdatedAt: start,
	}
	if err := store.DAGs().Create(t.Context(), dag); err != nil {
		t.Fatal(err)
	}
	task := engine.ScheduledTask{ID: engine.RootID("dag", "a"), Revision: 1, Shard: dag.Shard, Slot: start.Add(time.Minute), RunAt: engine.Parked, Generation: 1}
	write := writer(t, store.Store, dag.Shard)
	write(engine.Batch{Tasks: []engine.ScheduledTask{task}})
	store.do = func() {
		dag.Paused, dag.Revision = false, 2
		if err := store.DAGs().Replace(t.Context(), dag); err != nil {
			t.Fatal(err)
		}
		task.RunAt, task.Revision = task.Slot, 2
		write(engine.Batch{Tasks: []engine.ScheduledTask{task}})
	}
	loaded, err := shard.Loader{Store: store}.Jobs(t.Context(), []string{"dag"})
	if err != nil || len(loaded.DAGs) != 1 {
		t.Fatal(loaded, err)
	}
	if read := loaded.DAGs[0]; read.Tasks["a"].Revision == 2 && read.DAG.Revision == 1 {
		t.Error("the task is of after the change, and the definition of before")
	}
}

// A DAG is deleted with the last of its runs while it is read: what was read of them before is no job's.
func TestTheRunsOfADAGThatHasGoneAreNoJobs(t *testing.T) {
	store := &between{Store: memory.New()}
	run := engine.Run{
		ID: engine.TaskRunID(engine.WaveID("dag", 1), "a"), Revision: 1, Namespace: "default", JobUID: "dag", Shard: engine.ShardOf("dag"), DAG: "etl",
		Wave: engine.WaveID("dag", 1), Task: "a", Trigger: engine.TriggerSchedule, Status: engine.StatusScheduled, CreatedAt: start,
	}
	write := writer(t, store.Store, run.Shard)
	write(engine.Batch{Runs: []engine.Run{run}})
	store.do = func() { // after its tasks have been read
		store.do = func() { write(engine.Batch{DropRuns: []string{run.ID}}) } // and its runs
	}
	loaded, err := shard.Loader{Store: store}.Jobs(t.Context(), []string{"dag"})
	if err != nil || len(loaded.DAGs) > 0 {
		t.Fatal(loaded, err)
	}
	for i := range loaded.Jobs {
		if len(loaded.Jobs[i].Runs) > 0 {
			t.Errorf("job %s has the runs %+v", loaded.Jobs[i].UID, loaded.Jobs[i].Runs)
		}
	}
}
