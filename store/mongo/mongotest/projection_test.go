package mongotest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/mongo/mongotest"
)

// TestTheProjectionEqualsTheJournalAfterAnyCrash kills the owner of two shards at each of its writes: before it is done,
// when half of it is, and when all of it is and the answer is lost. The next owner finds all that was committed, and
// nothing else.
func TestTheProjectionEqualsTheJournalAfterAnyCrash(t *testing.T) {
	for _, torn := range []mongotest.Torn{mongotest.TornNone, mongotest.TornHalf, mongotest.TornAll} {
		t.Run(fmt.Sprint("torn ", torn), func(t *testing.T) {
			t.Parallel() // what takes time are the waits between tries
			world := &crashes{server: startServer(t), fitting: map[string]map[string]string{}}
			crashes := 0
			for world.at(t, crashes, torn) {
				crashes++
			}
			if crashes < 20 {
				t.Errorf("only %d crashes", crashes)
			}
		})
	}
}

type crashes struct {
	server  *mongotest.Server
	fitting map[string]map[string]string
}

// after is fitting for so many stages of each shard.
func (c *crashes) after(t *testing.T, decided map[int][]engine.Batch) map[string]string {
	t.Helper()
	key := fmt.Sprint(len(decided[7]), len(decided[8]))
	if c.fitting[key] == nil {
		c.fitting[key] = fitting(t, c.server, decided)
	}
	return c.fitting[key]
}

// at lets an owner do n writes, and reports whether it had more to do.
func (c *crashes) at(t *testing.T, n int, torn mongotest.Torn) (met bool) {
	server, name := c.server, fmt.Sprint("crashed", n)
	config := asked
	config.Database, config.Attempts, config.EntrySize = name, 2, 700
	store := openStore(t, server.URI(), config)
	decided := map[int][]engine.Batch{}
	var uncertain []int // shards whose last commit has no answer
	owners := map[int]*owner{}
	for _, shard := range []int{7, 8} {
		ask(t, store, shard)
		owners[shard] = take(t, store, shard, "killed")
		decided[shard] = nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	server.Faults().HaltWrites(n, torn)
stages:
	for stage := range stages(7) {
		for _, shard := range []int{7, 8} {
			decision := stages(shard)[stage]
			err := owners[shard].try(ctx, decision)
			if err != nil && errors.Is(err, engine.ErrFenced) {
				t.Fatalf("no other engine is there: %v", err)
			}
			decided[shard] = append(decided[shard], decision)
			if err != nil {
				uncertain = append(uncertain, shard)
				break stages
			}
		}
		if stage == 1 {
			continue // with what comes next
		}
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		err := store.CatchUp(short)
		cancel()
		if err != nil {
			break
		}
	}
	closed, cancelClose := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancelClose()
	_ = store.Close(closed) // as far as it gets
	met = server.Faults().ResumeWrites()

	config = asked
	config.Database = name
	next := closing(t, openStore(t, server.URI(), config))
	for _, shard := range []int{7, 8} {
		take(t, next, shard, "next")
	}
	got := contents(t, connect(t, server.URI()).Database(name))
	want := c.after(t, decided)
	for _, shard := range uncertain {
		if !cmp.Equal(got, want) { // it was not written then
			decided[shard] = decided[shard][:len(decided[shard])-1]
			want = c.after(t, decided)
		}
	}
	differ(t, fmt.Sprintf("after a crash at write %d, torn %d", n, torn), got, want)
	return met
}

// TestALateProjectorChangesNothing lets an owner that has lost its shard project what it had committed after the next
// owner has replaced it, dropped it and put it again.
func TestALateProjectorChangesNothing(t *testing.T) {
	for upto := range stages(7) {
		t.Run(fmt.Sprint("after stage ", upto+1), func(t *testing.T) {
			server := startServer(t)
			config := asked
			config.Database = "late"
			late := closing(t, openStore(t, server.URI(), config))
			config.ProjectInterval, config.TrimInterval = time.Millisecond, time.Millisecond
			next := closing(t, openStore(t, server.URI(), config))
			ask(t, late, 7)
			all := stages(7)
			before := take(t, late, 7, "late")
			before.commit(t, all[0])
			if upto > 0 { // then the rest of what it commits replaces
				must(t, late.CatchUp(t.Context()))
				before.commit(t, all[1:upto+1]...)
			}
			owner := take(t, next, 7, "next")
			database := connect(t, server.URI()).Database(config.Database)
			differ(t, "the next owner finds", contents(t, database), fitting(t, server, map[int][]engine.Batch{7: all[:upto+1]}))
			owner.commit(t, all[upto+1:]...)
			last := engine.Batch{DropRuns: []string{life(uidsOf(7, 4)[3], faultNoon)[0].ID}, DropTasks: []string{uidsOf(7, 1)[0]}}
			owner.commit(t, last)
			must(t, next.CatchUp(t.Context()))
			want := fitting(t, server, map[int][]engine.Batch{7: append(all, last)})
			differ(t, "the next owner projects", contents(t, database), want)
			must(t, late.CatchUp(t.Context()))
			differ(t, "the late one projects", contents(t, database), want)
		})
	}
}

// TestAStalledProjectorBringsNothingBack holds up the insert of a run until its owner has dropped it, and the next owner has
// taken the shard over: in what that projects there is no run any more.
func TestAStalledProjectorBringsNothingBack(t *testing.T) {
	var held atomic.Int64 // writes to runs, as far as they are held up
	var stalled, resume [2]chan struct{}
	for n := range stalled {
		stalled[n], resume[n] = make(chan struct{}), make(chan struct{})
	}
	var watched atomic.Bool
	server := startWatched(t, func(command bson.Raw) {
		name, err := command.IndexErr(0)
		if collection, _ := name.Value().StringValueOK(); err != nil || collection != "runs" || name.Key() == "find" || !watched.Load() {
			return
		}
		n := held.Add(1) - 1
		close(stalled[n])
		<-resume[n]
	})
	first, second := closing(t, openStore(t, server.URI(), asked)), closing(t, openStore(t, server.URI(), asked))
	one := take(t, first, 7, "first")
	run := life(uidsOf(7, 1)[0], faultNoon)[0]
	one.commit(t, engine.Batch{Runs: []engine.Run{run}})
	watched.Store(true)
	var flush sync.WaitGroup
	project := func() {
		if err := first.CatchUp(t.Context()); err != nil {
			t.Error(err)
		}
	}
	flush.Go(project)
	<-stalled[0]
	one.commit(t, engine.Batch{DropRuns: []string{run.ID}})
	watched.Store(false)
	take(t, second, 7, "second")
	watched.Store(true)
	flush.Go(project)
	close(resume[0])
	<-stalled[1] // the run's insert is over, and the first owner is about to project the drop
	watched.Store(false)
	if left := contents(t, connect(t, server.URI()).Database(mongo.DefaultDatabase)); len(left) > 0 {
		t.Errorf("it is back: %v", left)
	}
	close(resume[1])
	flush.Wait()
}

// TestManyProjectorsAtOnce has a shard go from store to store while each of them projects.
func TestManyProjectorsAtOnce(t *testing.T) {
	server := startServer(t)
	var stores []*mongo.Store
	for range 3 {
		config := mongo.Config{
			Database: "shared", PrimaryOnly: true, ProjectInterval: time.Microsecond, TrimInterval: time.Millisecond, BulkSize: 3,
		}
		stores = append(stores, closing(t, openStore(t, server.URI(), config)))
	}
	ask(t, stores[0], 7)
	var decided []engine.Batch
	var flushes sync.WaitGroup
	for turn := range 30 {
		store := stores[turn%len(stores)]
		one := take(t, store, 7, fmt.Sprint("owner ", turn))
		for stage := range 1 + turn%3 {
			decision := stages(7)[(turn+stage)%3]
			one.commit(t, decision)
			decided = append(decided, decision)
		}
		flushes.Go(func() {
			if err := store.CatchUp(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	flushes.Wait()
	database := connect(t, server.URI()).Database("shared")
	differ(t, "they leave", contents(t, database), fitting(t, server, map[int][]engine.Batch{7: decided}))
}

// TestReadsOfAnOwnerWait wants what an owner reads to hold what it has committed, and a page not to wait for it.
func TestReadsOfAnOwnerWait(t *testing.T) {
	server := startServer(t)
	store := closing(t, openStore(t, server.URI(), asked))
	uid := uidsOf(7, 1)[0]
	one := take(t, store, 7, "owner")
	run := life(uid, faultNoon)[0]
	one.commit(t, engine.Batch{Runs: []engine.Run{run}})
	if page, _, err := store.Runs(t.Context(), engine.RunFilter{JobUID: uid}); err != nil || len(page) > 0 {
		t.Errorf("a page shows %d runs: %v", len(page), err)
	}
	if active, err := store.ActiveRuns(t.Context(), []int{7}, "", 10); err != nil || len(active) != 1 || cmp.Diff(run, active[0]) != "" {
		t.Errorf("the owner reads %+v: %v", active, err)
	}
	one.commit(t, engine.Batch{DropRuns: []string{run.ID}})
	if found, err := store.RunsByID(t.Context(), []string{run.ID}); err != nil || len(found) > 0 {
		t.Errorf("the owner reads %d runs that it has dropped: %v", len(found), err)
	}
	if _, err := store.Run(t.Context(), run.ID); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a run that was dropped: %v", err)
	}
}

// TestAPageOfAWaveIsFullAroundWhatWasDropped wants what stands for a dropped run not to count.
func TestAPageOfAWaveIsFullAroundWhatWasDropped(t *testing.T) {
	server := startServer(t)
	store := closing(t, openStore(t, server.URI(), asked))
	wave := engine.WaveID(uidsOf(7, 1)[0], 1)
	var decision engine.Batch
	for _, task := range []string{"extract", "load", "report"} {
		run := life(uidsOf(7, 1)[0], faultNoon)[0]
		run.ID, run.Wave, run.Task = engine.TaskRunID(wave, task), wave, task
		decision.Runs = append(decision.Runs, run)
	}
	one := take(t, store, 7, "owner")
	one.commit(t, decision, engine.Batch{DropRuns: []string{decision.Runs[1].ID}})
	page, err := store.RunsOfWave(t.Context(), wave, "", 2)
	if err != nil || len(page) != 2 || page[1].ID != decision.Runs[2].ID {
		t.Errorf("a page of two holds %+v: %v", page, err)
	}
}
