package mongotest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/mongo/mongotest"
)

// runsOf is a decision that puts n runs, each of another slot.
func runsOf(uid string, n int) (decision engine.Batch) {
	for i := range n {
		decision.Runs = append(decision.Runs, life(uid, faultNoon.Add(time.Duration(i)*time.Minute))[0])
	}
	return decision
}

// entries lists the ids of a journal, without the shard.
func entries(t testing.TB, database *driver.Database) (list []string) {
	t.Helper()
	for _, id := range ids(t, database.Collection("journal"), bson.D{}) {
		_, position, _ := strings.Cut(id, "-")
		list = append(list, strings.TrimLeft(position, "0"))
	}
	slices.Sort(list)
	return list
}

func wantEntries(t testing.TB, database *driver.Database, want ...string) {
	t.Helper()
	if got := entries(t, database); !slices.Equal(got, want) {
		t.Errorf("the journal holds %v, want %v", got, want)
	}
}

// TestALargeDecisionHasParts splits one, and takes the shard over when its owner has written some of them.
func TestALargeDecisionHasParts(t *testing.T) {
	server := startServer(t)
	config := asked
	config.Database, config.EntrySize = "parts", 2000
	first := closing(t, openStore(t, server.URI(), config))
	second := closing(t, openStore(t, server.URI(), config))
	third := closing(t, openStore(t, server.URI(), config))
	database := connect(t, server.URI()).Database(config.Database)
	uid := uidsOf(7, 1)[0]
	large, ask := runsOf(uid, 20), map[string]string{}
	one := take(t, first, 7, "first")
	one.commit(t, runsOf(uid, 2))
	must(t, first.CatchUp(t.Context()))
	before := contents(t, database)

	server.Faults().HaltWrites(2, mongotest.TornNone)
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := one.try(short, large); err == nil || errors.Is(err, engine.ErrFenced) {
		t.Fatalf("a commit of which two parts are written: %v", err)
	}
	if !server.Faults().ResumeWrites() {
		t.Fatal("the fault was not met")
	}
	wantEntries(t, database, "1", "2", "3", "3.0001")
	other := take(t, second, 7, "second")
	if other.term.Position != 3 || other.term.Number != 2 {
		t.Errorf("the take-over closes position %d in term %d", other.term.Position, other.term.Number)
	}
	differ(t, "of a part of a commit", contents(t, database), before)
	if err := one.try(t.Context(), large); !errors.Is(err, engine.ErrFenced) {
		t.Errorf("the rest of it: %v", err)
	}
	wantEntries(t, database, "1", "2", "3", "3.0001", "3.0002")
	other.commit(t, large)
	if got := len(entries(t, database)); got < 5+3 {
		t.Errorf("the journal holds %d entries: %v", got, entries(t, database))
	}
	take(t, third, 7, "third") // reads the parts of both
	want := fitting(t, server, map[int][]engine.Batch{7: {large}})
	for id, document := range contents(t, database) {
		if strings.HasPrefix(id, "runs/") {
			ask[id] = document
		}
	}
	for id := range want {
		if !strings.HasPrefix(id, "runs/") {
			delete(want, id)
		}
	}
	differ(t, "of the whole", ask, want)
}

// TestTheJournalIsTrimmed wants take-overs and the newest entry to stay, and an owner that was suspended meanwhile to be fenced
// although all that was written since is gone.
func TestTheJournalIsTrimmed(t *testing.T) {
	server := startServer(t)
	config := asked
	config.Database = "trimmed"
	still := closing(t, openStore(t, server.URI(), config))
	database := connect(t, server.URI()).Database(config.Database)
	uid := uidsOf(7, 1)[0]
	one := take(t, still, 7, "stands still")
	one.commit(t, runsOf(uid, 1), runsOf(uid, 2)) // at 2 and 3
	next := openStore(t, server.URI(), config)
	other := take(t, next, 7, "next") // at 4
	other.commit(t, runsOf(uid, 3), runsOf(uid, 4), runsOf(uid, 5))
	must(t, next.Close(t.Context()))
	wantEntries(t, database, "1", "4", "7")
	for range 2 {
		if err := one.try(t.Context(), runsOf(uid, 9)); !errors.Is(err, engine.ErrFenced) {
			t.Errorf("the owner that stood still: %v", err)
		}
	}
	must(t, still.CatchUp(t.Context()))
	wantEntries(t, database, "1", "4", "7")
	last := openStore(t, server.URI(), config)
	if third := take(t, last, 7, "third"); third.term != (engine.Term{Number: 3, Position: 8}) {
		t.Errorf("the third term is %+v", third.term)
	}
	runs, _, err := last.Runs(t.Context(), engine.RunFilter{JobUID: uid})
	if err != nil || len(runs) != 5 {
		t.Errorf("%d runs: %v", len(runs), err)
	}
	old := bson.D{{Key: "$set", Value: bson.D{{Key: "at", Value: bson.NewDateTimeFromTime(time.Now().AddDate(0, 0, -40))}}}}
	_, err = database.Collection("journal").UpdateMany(t.Context(), bson.D{{Key: "position", Value: bson.D{{Key: "$lt", Value: 5}}}}, old)
	must(t, err)
	must(t, last.Close(t.Context()))
	wantEntries(t, database, "8")
}

// TestATakeThatComesLateIsNoTake holds up a take-over until its place has been written by the owner, projected and trimmed.
func TestATakeThatComesLateIsNoTake(t *testing.T) {
	uid := uidsOf(7, 1)[0]
	var meanwhile func()
	var once sync.Once
	server := startWatched(t, func(command bson.Raw) {
		if text := command.String(); strings.HasPrefix(text, `{"insert": "journal"`) && strings.Contains(text, `"owner": "late"`) {
			once.Do(meanwhile)
		}
	})
	config := asked
	config.Database = "late"
	first, late := openStore(t, server.URI(), config), closing(t, openStore(t, server.URI(), config))
	one := take(t, first, 7, "first")
	one.commit(t, runsOf(uid, 1))
	met := false
	meanwhile = func() {
		met = true
		one.commit(t, runsOf(uid, 2), runsOf(uid, 3), runsOf(uid, 4))
		must(t, first.Close(t.Context()))
	}
	taken := take(t, late, 7, "late")
	if !met || taken.term.Position != 6 {
		t.Fatalf("the take-over is at %d, want 6", taken.term.Position)
	}
	taken.commit(t, runsOf(uid, 5))
	runs, err := late.ActiveRuns(t.Context(), []int{7}, "", 10)
	if err != nil || len(runs) != 5 {
		t.Errorf("%d runs: %v", len(runs), err)
	}
}

// TestACommitIsDoneOnceUnderFaults has owners of several shards commit together while the server loses writes, does them
// without saying so, fails and refuses to talk. Each gives a commit again until it has an answer; there is no other engine, so
// that none may be fenced.
func TestACommitIsDoneOnceUnderFaults(t *testing.T) {
	t.Parallel() // what takes time is the driver, waiting before it looks for the server again
	server := startServer(t)
	store := closing(t, openStore(t, server.URI(), mongo.Config{
		Database: "faults", PrimaryOnly: true, EntrySize: 3000, ProjectInterval: time.Millisecond, TrimInterval: time.Millisecond,
		ServerSelectionTimeout: 2 * time.Second,
	}))
	faults := server.Faults()
	inject := []func(){
		func() { faults.DropBeforeWrite(2) },
		func() { faults.DropAfterWrite(2) },
		func() { faults.ErrorAfterWrite(2) },
		func() { faults.NotPrimary(3) },
		func() { faults.DeadlockOnDuplicate(3) },
		func() { faults.ConcernErrorAfterWrite(2) },
		func() { faults.CutInWrite(3) },
	}
	owners := map[int]*owner{}
	decided := map[int][]engine.Batch{}
	shards := []int{3, 7, 8}
	for _, shard := range shards {
		ask(t, store, shard)
		owners[shard] = take(t, store, shard, "owner")
	}
	for round := range 3 * len(inject) {
		var left []engine.ShardCommit
		for _, shard := range shards {
			decision := stages(shard)[round%3]
			if round%4 == 3 { // of several parts
				decision = runsOf(uidsOf(shard, 1)[0], 20)
			}
			left = append(left, owners[shard].next(decision))
			decided[shard] = append(decided[shard], decision)
		}
		inject[round%len(inject)]()
		for tries := 0; len(left) > 0; tries++ {
			var again []engine.ShardCommit
			for n, err := range store.Commit(t.Context(), left) {
				switch {
				case err == nil:
					owners[left[n].Shard].term.Position++
				case errors.Is(err, engine.ErrFenced) || tries == 20:
					t.Fatalf("round %d, commit %d of shard %d: %v", round, left[n].Position, left[n].Shard, err)
				default:
					again = append(again, left[n])
				}
			}
			left = again
		}
	}
	must(t, store.CatchUp(t.Context()))
	differ(t, "after all faults", contents(t, connect(t, server.URI()).Database("faults")), fitting(t, server, decided))
}

// TestOneUselessCommitDoesNotHoldUpOthers gives a decision that no server takes together with a good one.
func TestOneUselessCommitDoesNotHoldUpOthers(t *testing.T) {
	server := startServer(t)
	store := closing(t, openStore(t, server.URI(), mongo.Config{PrimaryOnly: true}))
	good, bad := take(t, store, 7, "owner"), take(t, store, 8, "owner")
	large := runsOf(uidsOf(8, 1)[0], 1)
	large.Runs[0].Reason = strings.Repeat("x", 16<<20)
	fates := store.Commit(t.Context(), []engine.ShardCommit{bad.next(large), good.next(runsOf(uidsOf(7, 1)[0], 1))})
	if fates[0] == nil || errors.Is(fates[0], engine.ErrFenced) || fates[1] != nil {
		t.Errorf("the fates are %v", fates)
	}
}

// TestCommitsWaitForTheProjector bounds what is kept in memory.
func TestCommitsWaitForTheProjector(t *testing.T) {
	server := startServer(t)
	config := asked
	config.Database, config.Backlog = "backlog", 5000
	store := closing(t, openStore(t, server.URI(), config))
	database := connect(t, server.URI()).Database(config.Database)
	one := take(t, store, 7, "owner")
	one.commit(t, runsOf(uidsOf(7, 1)[0], 20))
	if got := len(contents(t, database)); got > 0 {
		t.Errorf("%d documents are projected at once", got)
	}
	one.commit(t, runsOf(uidsOf(7, 1)[0], 1))
	if got := len(contents(t, database)); got != 20 {
		t.Errorf("%d documents are projected before the next commit, want 20", got)
	}
}

// TestABackupHoldsWhatIsNotProjected reads all documents of a database whose owner has projected only a part of what it
// has committed, by pages of several sizes, and once more when it has projected all.
func TestABackupHoldsWhatIsNotProjected(t *testing.T) {
	server := startServer(t)
	store, reader := closing(t, openStore(t, server.URI(), asked)), closing(t, openStore(t, server.URI(), mongo.Config{PrimaryOnly: true}))
	ask(t, store, 7)
	one := take(t, store, 7, "owner")
	all := stages(7)
	one.commit(t, all[0])
	must(t, store.CatchUp(t.Context()))
	one.commit(t, append(all[1:], runsOf(uidsOf(7, 1)[0], 3))...)
	view := func(limit int) (found []string) {
		must(t, reader.View(t.Context(), func(pages engine.DocumentPages) error {
			for _, of := range []engine.Collection{
				engine.CollectionRuns, engine.CollectionWaves, engine.CollectionScheduledTasks, engine.CollectionSlots,
				engine.CollectionDeadLetters, engine.CollectionCommands,
			} {
				for from := ""; ; {
					page, next, err := pages(of, from, limit)
					for _, document := range page {
						found = append(found, fmt.Sprintf("%s %+v", of, document))
					}
					if err != nil {
						return err
					}
					if from = next; next == "" {
						break
					}
				}
			}
			return nil
		}))
		return found
	}
	before := [][]string{view(1), view(2), view(1000)}
	must(t, store.CatchUp(t.Context()))
	want := view(1000)
	if len(want) < 8 {
		t.Fatalf("only %d documents: %v", len(want), want)
	}
	for _, got := range before {
		if difference := cmp.Diff(want, got); difference != "" {
			t.Errorf("a backup of what is not projected (-want +got):\n%s", difference)
		}
	}
}

// TestDocumentsWrittenPerRun counts what the life of runs takes that share their commits.
func TestDocumentsWrittenPerRun(t *testing.T) {
	const runs, most = 16, 2.5
	var mutex sync.Mutex
	written, commands := map[string]int{}, 0
	server := startWatched(t, func(command bson.Raw) {
		list, collection := writesOf(command)
		if len(list) == 0 {
			return
		}
		mutex.Lock()
		defer mutex.Unlock()
		written[collection] += len(list)
		commands++
	})
	config := asked
	store := openStore(t, server.URI(), config)
	uids := uidsOf(7, runs)
	one := take(t, store, 7, "owner")
	live := func(slot int) {
		at := faultNoon.Add(time.Duration(slot) * time.Minute)
		for step := range 4 {
			var decision engine.Batch
			for _, uid := range uids {
				decision.Runs = append(decision.Runs, life(uid, at)[step])
				if step == 0 {
					task := engine.ScheduledTask{ID: uid, Shard: 7, RunAt: at, Revision: int64(slot + 1), Namespace: "default"}
					decision.Tasks = append(decision.Tasks, task)
				}
			}
			one.commit(t, decision)
		}
	}
	live(0)
	must(t, store.CatchUp(t.Context()))
	mutex.Lock()
	clear(written)
	commands = 0
	mutex.Unlock()
	live(1)
	if commands != 4 {
		t.Errorf("four commits took %d commands that write", commands)
	}
	must(t, store.Close(t.Context()))
	sum := 0
	for _, n := range written {
		sum += n
	}
	t.Logf("%d runs: %v, %.2f documents a run, %d commands", runs, written, float64(sum)/runs, commands)
	if float64(sum) > most*runs {
		t.Errorf("%.2f documents were written for each run, want at most %.2f: %v", float64(sum)/runs, most, written)
	}
}

// writesOf returns the documents that a command inserts or replaces; deletions by ranges are not among them.
func writesOf(command bson.Raw) (list []bson.RawValue, collection string) {
	name, err := command.IndexErr(0)
	if err != nil || name.Key() != "insert" && name.Key() != "update" {
		return nil, ""
	}
	collection, _ = name.Value().StringValueOK()
	for _, field := range []string{"documents", "updates"} {
		if array, is := command.Lookup(field).ArrayOK(); is {
			list, _ = array.Values()
		}
	}
	return list, collection
}
