package mongotest_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/mongo/mongotest"
)

// failOvers are what a batch of writes may meet while another member of the replica set becomes the primary. Each comes
// several times: the driver's own second try meets it too.
var failOvers = map[string]func(f *mongotest.Faults){
	"the primary has stepped down":           func(f *mongotest.Faults) { f.NotPrimary(3) },
	"a majority does not confirm":            func(f *mongotest.Faults) { f.ConcernErrorAfterWrite(3) },
	"the connection is cut in the middle":    func(f *mongotest.Faults) { f.CutInWrite(3) },
	"the connection is cut before the write": func(f *mongotest.Faults) { f.DropBeforeWrite(3) },
	"the connection is cut after the write":  func(f *mongotest.Faults) { f.DropAfterWrite(3) },
}

// A batch that a fail-over meets is written whole and once, and the engine hears of success: of no conflict either, for
// nobody else has written.
func TestABatchRidesOutAFailOver(t *testing.T) {
	t.Parallel() // what takes time is the driver, waiting before it looks for the server again
	for name, inject := range failOvers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startServer(t)
			store := closing(t, openStore(t, server.URI(), mongo.Config{PrimaryOnly: true}))
			const jobs = 7
			batches := make([]engine.Batch, 4)
			for i := range jobs {
				for step, write := range life(fmt.Sprintf("job%d", i), faultNoon) {
					batches[step].Runs = append(batches[step].Runs, write)
					batches[step].Slots = append(batches[step].Slots, engine.SlotRange{
						ID: engine.SlotRangeID(write.Run.JobUID, faultNoon), JobUID: write.Run.JobUID, From: faultNoon, To: faultNoon, Count: int64(step + 1),
					})
				}
			}
			for step := range batches {
				inject(server.Faults())
				if conflicts, err := store.Commit(t.Context(), &batches[step]); err != nil || len(conflicts) > 0 {
					t.Fatalf("step %d: conflicts %v, %v", step, conflicts, err)
				}
			}
			for i := range jobs {
				uid := fmt.Sprintf("job%d", i)
				runs, _, err := store.Runs(t.Context(), engine.RunFilter{JobUID: uid, Limit: 10})
				if want := life(uid, faultNoon)[3].Run; err != nil || len(runs) != 1 || !engine.SameRun(runs[0], want) {
					t.Errorf("%s has runs %+v: %v", uid, runs, err)
				}
				ranges, _, err := store.Slots(t.Context(), engine.SlotFilter{JobUID: uid})
				if err != nil || len(ranges) != 1 || ranges[0].Count != 4 {
					t.Errorf("%s has slots %+v: %v", uid, ranges, err)
				}
			}
		})
	}
}

// A stale write stays refused however the connection fails meanwhile: what was written by another owner is read before
// anything is decided.
func TestAFailOverLetsNoStaleWriteThrough(t *testing.T) {
	t.Parallel() // what takes time is the driver, waiting before it looks for the server again
	for name, inject := range failOvers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startServer(t)
			store := closing(t, openStore(t, server.URI(), mongo.Config{PrimaryOnly: true}))
			writes := life("contended", faultNoon)
			if _, err := store.Commit(t.Context(), &engine.Batch{Runs: writes[:1]}); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Commit(t.Context(), &engine.Batch{Runs: writes[1:2]}); err != nil {
				t.Fatal(err)
			}
			stale := writes[1]
			stale.Run.Reason = "written by an owner that is none any more"
			fresh := life("fresh", faultNoon)[0]
			inject(server.Faults())
			conflicts, err := store.Commit(t.Context(), &engine.Batch{Runs: []engine.RunWrite{stale, fresh}})
			if err != nil || len(conflicts) != 1 || conflicts[0].ID != stale.Run.ID {
				t.Fatalf("conflicts %v, %v", conflicts, err)
			}
			if run, err := store.Run(t.Context(), stale.Run.ID); err != nil || !engine.SameRun(run, writes[1].Run) {
				t.Errorf("the stale write went through: %+v, %v", run, err)
			}
			if _, err := store.Run(t.Context(), fresh.Run.ID); err != nil {
				t.Errorf("the other write is lost: %v", err)
			}
		})
	}
}

// What is written one at a time, as by the API, rides it out as well.
func TestASingleWriteRidesOutAFailOver(t *testing.T) {
	t.Parallel() // what takes time is the driver, waiting before it looks for the server again
	for name, inject := range failOvers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startServer(t)
			store := closing(t, openStore(t, server.URI(), mongo.Config{PrimaryOnly: true}))
			job := engine.Job{UID: "alone", Namespace: "default", Name: "alone", Revision: 1, Generation: 1, Pending: true}
			run := life("alone", faultNoon)[0].Run
			command := engine.Command{ID: engine.StartCommand(run.ID), Kind: engine.CommandStart, RunID: run.ID, At: faultNoon, Run: &run}
			for _, step := range []struct {
				what string
				do   func() error
			}{
				{"create job", func() error { return store.CreateJob(t.Context(), job) }},
				{"replace job", func() error { job.Revision = 2; return store.ReplaceJob(t.Context(), job) }},
				{"put command", func() error { return store.PutCommand(t.Context(), command) }},
			} {
				inject(server.Faults())
				if err := step.do(); err != nil {
					t.Errorf("%s: %v", step.what, err)
				}
			}
			inject(server.Faults())
			if err := store.PutCommand(t.Context(), command); err != nil {
				t.Errorf("put it again: %v", err)
			}
			if stored, err := store.Command(t.Context(), command.ID); err != nil || stored.Run == nil || stored.Run.ID != run.ID {
				t.Errorf("the command is %+v, %v", stored, err)
			}
		})
	}
}

// TestWriteConflictInsteadOfDuplicateKey is what a contended unique index may answer.
func TestWriteConflictInsteadOfDuplicateKey(t *testing.T) {
	t.Parallel() // what takes time is the driver, waiting before it looks for the server again
	server := startServer(t)
	store := closing(t, openStore(t, server.URI(), mongo.Config{PrimaryOnly: true}))
	const racers = 20
	server.Faults().ConflictOnDuplicate(racers)
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
		case !errors.Is(err, engine.ErrExists):
			t.Errorf("racer %d: %v", racer, err)
		}
	}
	if winners != 1 {
		t.Errorf("%d winners", winners)
	}
}
