package mongotest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/mongo/mongotest"
)

var faultNoon = time.UnixMilli(1_800_000_000_000).UTC()

// life returns the writes of a run's life, as the engine makes them.
func life(uid string, slot time.Time) []engine.Run {
	run := engine.Run{
		ID: engine.SlotRunID(uid, slot), Namespace: "default", JobUID: uid, Job: "report", Shard: engine.ShardOf(uid),
		Trigger: engine.TriggerSchedule, Slot: slot, Tier: spec.TierLight, Class: spec.ClassStandard, CreatedAt: slot,
	}
	var writes []engine.Run
	for i, status := range []engine.Status{engine.StatusScheduled, engine.StatusQueued, engine.StatusRunning, engine.StatusSucceeded} {
		run.Revision, run.Status = int64(i+1), status
		if status == engine.StatusSucceeded {
			run.FinishedAt = slot.Add(time.Second)
		}
		writes = append(writes, run)
	}
	return writes
}

// TestAWriteReportedAsFailedIsFoundDone gives each single write a fault after which its caller must hear of success.
func TestAWriteReportedAsFailedIsFoundDone(t *testing.T) {
	t.Parallel() // what takes time is the driver, waiting before it looks for the server again
	for name, inject := range map[string]func(f *mongotest.Faults, write int){
		"an error after the write": func(f *mongotest.Faults, _ int) { f.ErrorAfterWrite(1) },
		"the answer lost, and the answer to the driver's second try": func(f *mongotest.Faults, write int) {
			if write%2 == 0 {
				f.DropAfterWrite(2)
			}
		},
		"the write lost, and the driver's second try": func(f *mongotest.Faults, write int) {
			if write%2 == 1 {
				f.DropBeforeWrite(2)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startServer(t)
			store := closing(t, openStore(t, server.URI(), mongo.Config{PrimaryOnly: true}))
			ctx := t.Context()
			writes := 0
			do := func(what string, write func() error) {
				t.Helper()
				inject(server.Faults(), writes)
				writes++
				if err := write(); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
			}
			job := engine.Job{UID: "alone", Namespace: "default", Name: "alone", Revision: 1, Generation: 1, Pending: true}
			do("create job", func() error { return store.Jobs().Create(ctx, job) })
			job.Revision, job.Generation = 2, 2
			do("replace job", func() error { return store.Jobs().Replace(ctx, job) })
			job.Revision, job.Deleted = 3, true
			do("delete job", func() error { return store.Jobs().Replace(ctx, job) })
			next := engine.Job{UID: "next", Namespace: "default", Name: "alone", Revision: 1, Generation: 1}
			do("create a job over a tombstone", func() error { return store.Jobs().Create(ctx, next) })
			command := engine.Command{ID: "c", At: faultNoon}
			do("put command", func() error { return store.PutCommand(ctx, command) })
			binary := engine.Binary{Namespace: "default", Name: "b", Revision: 1}
			do("create binary", func() error { return store.CreateBinary(ctx, binary) })
			binary.Revision = 2
			do("replace binary", func() error { return store.ReplaceBinary(ctx, binary) })
			do("delete binary", func() error { return store.DeleteBinary(ctx, "default", "b", 2) })
			effect := engine.RunEffect{Run: "alone", Key: "charge", Namespace: "default", Revision: 1, State: engine.EffectOpen, CreatedAt: faultNoon, OpenedAt: faultNoon}
			do("insert effect", func() error { return store.InsertEffect(ctx, effect) })
			if err := store.InsertEffect(ctx, effect); !errors.Is(err, engine.ErrExists) {
				t.Errorf("insert it again: %v", err)
			}
			effect.Revision, effect.State, effect.DoneAt = 2, engine.EffectDone, faultNoon
			do("replace effect", func() error { return store.ReplaceEffect(ctx, effect) })
			do("keep a key", func() error {
				key, err := store.SharedKey(ctx, "name", []byte("first"))
				if string(key) != "first" {
					t.Errorf("the key is %q", key)
				}
				return err
			})
			uid := uidsOf(7, 1)[0]
			var owner *owner
			do("take a shard", func() error {
				owner = take(t, store, 7, "owner")
				return nil
			})
			do("commit everything", func() error {
				return owner.try(ctx, engine.Batch{
					Runs:        []engine.Run{life(uid, faultNoon)[0]},
					DeadLetters: []engine.DeadLetter{{RunID: "x", Namespace: "default"}},
					Done:        []engine.CommandDone{{ID: "c", At: faultNoon}},
				})
			})
			do("project it", func() error { return store.CatchUp(ctx) })
			do("purge", func() error { return store.DeleteDeadLetter(ctx, "x") })
		})
	}
}

// racedEffect is what racers insert under one id; Attempt says which of them.
func racedEffect(racer int) engine.RunEffect {
	return engine.RunEffect{
		Run: "raced", Key: "charge", Namespace: "default", Revision: 1, State: engine.EffectOpen, Attempt: racer + 1, CreatedAt: faultNoon, OpenedAt: faultNoon,
	}
}

// TestDeadlockInsteadOfDuplicateKey is what some compatible servers answer to racing inserts.
func TestDeadlockInsteadOfDuplicateKey(t *testing.T) {
	t.Parallel() // what takes time is the driver, waiting before it looks for the server again
	server := startServer(t)
	store := closing(t, openStore(t, server.URI(), mongo.Config{PrimaryOnly: true}))
	const racers = 20
	server.Faults().DeadlockOnDuplicate(racers)
	won := make([]error, racers)
	var group sync.WaitGroup
	for racer := range racers {
		group.Go(func() {
			won[racer] = store.InsertEffect(t.Context(), racedEffect(racer))
		})
	}
	group.Wait()
	winners := 0
	for racer, err := range won {
		switch {
		case err == nil:
			winners++
			stored, err := store.Effect(t.Context(), "raced", "charge")
			if err != nil || stored.Attempt != racer+1 {
				t.Errorf("racer %d has won, but the effect is attempt %d's: %v", racer, stored.Attempt, err)
			}
		case !errors.Is(err, engine.ErrExists):
			t.Errorf("racer %d: %v", racer, err)
		}
	}
	if winners != 1 {
		t.Errorf("%d winners", winners)
	}
}

// TestAServerThatHangsFailsACommitInTime pauses the server: the caller hears of it by its deadline, and what the server
// does later, when no caller waits any more, does no harm to the same commit given again.
func TestAServerThatHangsFailsACommitInTime(t *testing.T) {
	t.Parallel() // what takes time is the driver, waiting before it looks for the server again
	server := startServer(t)
	store := closing(t, openStore(t, server.URI(), mongo.Config{PrimaryOnly: true}))
	writes := life(uidsOf(7, 1)[0], faultNoon)
	owner := take(t, store, 7, "owner")
	owner.commit(t, engine.Batch{Runs: writes[:1]})
	must(t, store.CatchUp(t.Context()))
	server.Faults().Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	commit := owner.next(engine.Batch{Runs: writes[1:2]})
	if err := store.Commit(ctx, []engine.ShardCommit{commit})[0]; err == nil || ctx.Err() == nil {
		t.Fatalf("a commit to a server that hangs: %v", err)
	}
	server.Faults().Resume()
	for range 2 {
		must(t, store.Commit(t.Context(), []engine.ShardCommit{commit})[0])
	}
	must(t, store.CatchUp(t.Context()))
	run, err := store.Run(t.Context(), writes[1].ID)
	if difference := cmp.Diff(writes[1], run); err != nil || difference != "" {
		t.Errorf("the run: %v (-want +got):\n%s", err, difference)
	}
}
