package mongotest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/mongo/mongotest"
)

var faultNoon = time.UnixMilli(1_800_000_000_000).UTC()

// life gives the writes of a run's life, as the engine makes them.
func life(uid string, slot time.Time) []engine.RunWrite {
	run := engine.Run{
		ID: engine.SlotRunID(uid, slot), Namespace: "default", JobUID: uid, Job: "report", Shard: engine.ShardOf(uid),
		Trigger: engine.TriggerSchedule, Slot: slot, Tier: spec.TierLight, Class: spec.ClassStandard, CreatedAt: slot,
	}
	var writes []engine.RunWrite
	for i, status := range []engine.Status{engine.StatusScheduled, engine.StatusQueued, engine.StatusRunning, engine.StatusSucceeded} {
		run.Revision, run.Status = int64(i+1), status
		if status == engine.StatusSucceeded {
			run.FinishedAt = slot.Add(time.Second)
		}
		writes = append(writes, engine.RunWrite{Run: run})
	}
	return writes
}

// TestNothingIsLostOrDoubledUnderFaults has several owners of different jobs write what an engine writes, each giving
// a batch again after an error, while the server loses writes, does them without saying so, fails and refuses to talk.
// Nobody else writes, so a conflict would mean that the store has not recognised a write of its own.
func TestNothingIsLostOrDoubledUnderFaults(t *testing.T) {
	t.Parallel() // what takes time is the driver, waiting before it looks for the server again
	server := startServer(t)
	store := closing(t, openStore(t, server.URI(), mongo.Config{PrimaryOnly: true, BulkSize: 3, ServerSelectionTimeout: 2 * time.Second}))
	const owners, slots, jobs = 4, 2, 5
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	faults := server.Faults()
	inject := []func(){
		func() { faults.DropBeforeWrite(2) },
		func() { faults.DropAfterWrite(2) }, // the driver's own second try is lost too
		func() { faults.ErrorAfterWrite(2) },
		func() { faults.DeadlockOnDuplicate(3) },
		func() { faults.ConflictOnDuplicate(3) },
		func() { faults.NotPrimary(3) },
		func() { faults.ConcernErrorAfterWrite(2) },
		func() { faults.CutInWrite(3) },
		func() {
			faults.Refuse()
			if err := faults.Accept(); err != nil {
				t.Error(err)
			}
		},
	}
	var injected sync.Mutex
	turn := 0
	commit := func(batch *engine.Batch) error {
		for {
			injected.Lock()
			if turn%2 == 0 {
				inject[turn/2%len(inject)]()
			}
			turn++
			injected.Unlock()
			conflicts, err := store.Commit(ctx, batch)
			switch {
			case len(conflicts) > 0:
				return fmt.Errorf("conflicts %v, %w", conflicts, err)
			case err == nil:
				return nil
			case ctx.Err() != nil:
				return err
			}
			t.Logf("given again after: %v", err)
		}
	}
	var group sync.WaitGroup
	for owner := range owners {
		group.Go(func() {
			uids := make([]string, jobs)
			for i := range uids {
				uids[i] = fmt.Sprintf("owner%djob%d", owner, i)
			}
			for slot := range slots {
				at := faultNoon.Add(time.Duration(slot) * time.Minute)
				for step := range 4 {
					batch := &engine.Batch{}
					for _, uid := range uids {
						batch.Runs = append(batch.Runs, life(uid, at)[step])
						batch.Slots = append(batch.Slots, engine.SlotRange{
							ID: engine.SlotRangeID(uid, faultNoon), JobUID: uid, From: faultNoon, To: at, Count: int64(4*slot + step + 1),
						})
						if step == 0 {
							batch.Tasks = append(batch.Tasks, engine.TaskWrite{Task: engine.ScheduledTask{
								ID: uid, Slot: at, RunAt: at, Revision: int64(slot + 1), Namespace: "default",
							}})
						}
						if step == 3 {
							batch.DeadLetters = append(batch.DeadLetters, engine.DeadLetter{RunID: batch.Runs[len(batch.Runs)-1].Run.ID, Namespace: "default", At: at})
						}
					}
					if err := commit(batch); err != nil {
						t.Errorf("owner %d, slot %d, step %d: %v", owner, slot, step, err)
						return
					}
				}
			}
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	for owner := range owners {
		for i := range jobs {
			uid := fmt.Sprintf("owner%djob%d", owner, i)
			runs, next, err := store.Runs(ctx, engine.RunFilter{JobUID: uid, Limit: 1000})
			if err != nil || next != "" || len(runs) != slots {
				t.Fatalf("%s has %d runs, want %d: %v", uid, len(runs), slots, err)
			}
			for n, run := range runs {
				if want := life(uid, faultNoon.Add(time.Duration(slots-1-n)*time.Minute))[3].Run; !engine.SameRun(run, want) {
					t.Errorf("got  %+v\nwant %+v", run, want)
				}
			}
			tasks, err := store.TasksByID(ctx, []string{uid})
			if err != nil || len(tasks) != 1 || tasks[0].Revision != slots {
				t.Errorf("%s has tasks %+v: %v", uid, tasks, err)
			}
			ranges, _, err := store.Slots(ctx, engine.SlotFilter{JobUID: uid})
			if err != nil || len(ranges) != 1 || ranges[0].Count != 4*slots {
				t.Errorf("%s has slots %+v: %v", uid, ranges, err)
			}
		}
	}
	letters, _, err := store.DeadLetters(ctx, "default", "", 1000)
	if err != nil || len(letters) != owners*slots*jobs {
		t.Errorf("%d dead letters, want %d: %v", len(letters), owners*slots*jobs, err)
	}
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
			do("create job", func() error { return store.CreateJob(ctx, job) })
			job.Revision, job.Generation = 2, 2
			do("replace job", func() error { return store.ReplaceJob(ctx, job) })
			job.Revision, job.Deleted = 3, true
			do("delete job", func() error { return store.ReplaceJob(ctx, job) })
			next := engine.Job{UID: "next", Namespace: "default", Name: "alone", Revision: 1, Generation: 1}
			do("create a job over a tombstone", func() error { return store.CreateJob(ctx, next) })
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
			do("commit everything", func() error {
				conflicts, err := store.Commit(ctx, &engine.Batch{
					Runs:        []engine.RunWrite{life("alone", faultNoon)[0], life("second", faultNoon)[0]},
					DeadLetters: []engine.DeadLetter{{RunID: "x", Namespace: "default"}},
					Commands:    []string{"c"},
				})
				if len(conflicts) > 0 {
					t.Errorf("conflicts %v", conflicts)
				}
				return err
			})
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

// TestAServerThatHangsFailsAWriteInTime pauses the server: the caller hears of it by its deadline, and what the server
// does later, when nobody listens any more, does no harm to the same batch given again.
func TestAServerThatHangsFailsAWriteInTime(t *testing.T) {
	t.Parallel() // what takes time is the driver, waiting before it looks for the server again
	server := startServer(t)
	store := closing(t, openStore(t, server.URI(), mongo.Config{PrimaryOnly: true}))
	writes := life("hanging", faultNoon)
	if _, err := store.Commit(t.Context(), &engine.Batch{Runs: writes[:1]}); err != nil {
		t.Fatal(err)
	}
	server.Faults().Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	batch := &engine.Batch{Runs: []engine.RunWrite{writes[1], life("other", faultNoon)[0]}}
	if _, err := store.Commit(ctx, batch); err == nil || ctx.Err() == nil {
		t.Fatalf("a commit to a server that hangs: %v", err)
	}
	server.Faults().Resume()
	for range 2 {
		if conflicts, err := store.Commit(t.Context(), batch); err != nil || len(conflicts) > 0 {
			t.Fatalf("given again: %v, %v", conflicts, err)
		}
	}
	run, err := store.Run(t.Context(), writes[1].Run.ID)
	if err != nil || !engine.SameRun(run, writes[1].Run) {
		t.Errorf("got %+v, %v", run, err)
	}
}
