package mongotest_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// A commit that a fail-over meets is written whole and once, and the engine hears of success.
func TestACommitRidesOutAFailOver(t *testing.T) {
	t.Parallel() // what takes time is the driver, waiting before it looks for the server again
	for name, inject := range failOvers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startServer(t)
			store := closing(t, openStore(t, server.URI(), mongo.Config{PrimaryOnly: true}))
			inject(server.Faults())
			owner := take(t, store, 7, "owner")
			uids := uidsOf(7, 7)
			for step := range 4 {
				var batch engine.Batch
				for _, uid := range uids {
					batch.Runs = append(batch.Runs, life(uid, faultNoon)[step])
					batch.Slots = append(batch.Slots, engine.SlotRange{
						ID: engine.SlotRangeID(uid, faultNoon), JobUID: uid, From: faultNoon, To: faultNoon, Count: int64(step + 1),
					})
				}
				inject(server.Faults())
				owner.commit(t, batch)
			}
			must(t, store.CatchUp(t.Context()))
			for _, uid := range uids {
				runs, _, err := store.Runs(t.Context(), engine.RunFilter{JobUID: uid, Limit: 10})
				if difference := cmp.Diff(life(uid, faultNoon)[3:], runs); err != nil || difference != "" {
					t.Errorf("runs of %s: %v (-want +got):\n%s", uid, err, difference)
				}
				ranges, _, err := store.Slots(t.Context(), engine.SlotFilter{JobUID: uid})
				if err != nil || len(ranges) != 1 || ranges[0].Count != 4 {
					t.Errorf("%s has slots %+v: %v", uid, ranges, err)
				}
			}
		})
	}
}

// An owner that was fenced stays it however the connection fails meanwhile.
func TestAFailOverLetsNoFencedOwnerThrough(t *testing.T) {
	t.Parallel() // what takes time is the driver, waiting before it looks for the server again
	for name, inject := range failOvers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startServer(t)
			store := closing(t, openStore(t, server.URI(), mongo.Config{PrimaryOnly: true}))
			other := closing(t, openStore(t, server.URI(), mongo.Config{PrimaryOnly: true}))
			uid := uidsOf(7, 1)[0]
			writes := life(uid, faultNoon)
			first := take(t, store, 7, "first")
			first.commit(t, engine.Batch{Runs: writes[:1]})
			take(t, other, 7, "second").commit(t, engine.Batch{Runs: writes[1:2]})
			stale := writes[1]
			stale.Reason = "written by an owner that is none any more"
			inject(server.Faults())
			if err := first.try(t.Context(), engine.Batch{Runs: []engine.Run{stale}}); !errors.Is(err, engine.ErrFenced) {
				t.Fatalf("got %v", err)
			}
			must(t, other.CatchUp(t.Context()))
			run, err := other.Run(t.Context(), stale.ID)
			if difference := cmp.Diff(writes[1], run); err != nil || difference != "" {
				t.Errorf("the run: %v (-want +got):\n%s", err, difference)
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
			run := life("alone", faultNoon)[0]
			command := engine.Command{ID: engine.StartCommand(run.ID), Kind: engine.CommandStart, RunID: run.ID, At: faultNoon, Run: &run}
			for _, step := range []struct {
				what string
				do   func() error
			}{
				{"create job", func() error { return store.Jobs().Create(t.Context(), job) }},
				{"replace job", func() error { job.Revision = 2; return store.Jobs().Replace(t.Context(), job) }},
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
