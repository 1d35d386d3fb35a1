package mongotest_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/storetest"
)

// shardOf is the shard of what begins with the uid of a job or a DAG.
func shardOf(id string) int {
	uid, _, _ := strings.Cut(id, "-")
	return engine.ShardOf(uid)
}

// oldTask is a scheduled task as version 1 wrote it.
func oldTask(id string, slot, runAt time.Time, more ...bson.E) bson.D {
	return append(bson.D{
		{Key: "_id", Value: id}, {Key: "shard", Value: shardOf(id)}, {Key: "slot", Value: slot}, {Key: "run_at", Value: runAt},
		{Key: "generation", Value: int64(2)}, {Key: "revision", Value: int64(5)}, {Key: "namespace", Value: "default"}, {Key: "job", Value: "report"},
		{Key: "writer", Value: int64(77)},
	}, more...)
}

// oldRun is a prepared run as version 1 wrote it.
func oldRun(uid string, slot time.Time, more ...bson.E) bson.D {
	return append(bson.D{
		{Key: "_id", Value: engine.SlotRunID(uid, slot)}, {Key: "revision", Value: int64(2)}, {Key: "active", Value: true},
		{Key: "namespace", Value: "default"}, {Key: "job_uid", Value: uid}, {Key: "job", Value: "report"}, {Key: "shard", Value: shardOf(uid)},
		{Key: "generation", Value: int64(2)}, {Key: "trigger", Value: "schedule"}, {Key: "slot", Value: slot}, {Key: "status", Value: "scheduled"},
		{Key: "tier", Value: "light"}, {Key: "class", Value: "standard"}, {Key: "binary", Value: "report"}, {Key: "created_at", Value: slot},
		{Key: "attempt", Value: 0},
	}, more...)
}

func oldSlots(uid string, from, to time.Time, count int64) bson.D {
	return bson.D{
		{Key: "_id", Value: engine.SlotRangeID(uid, from)}, {Key: "job_uid", Value: uid}, {Key: "namespace", Value: "default"}, {Key: "job", Value: "report"},
		{Key: "from", Value: from}, {Key: "to", Value: to}, {Key: "count", Value: count}, {Key: "outcome", Value: "skipped"}, {Key: "reason", Value: "paused"},
	}
}

// fillOld makes a database of version 1, with what a crash could leave half done.
func fillOld(t *testing.T, database *driver.Database, now time.Time) {
	t.Helper()
	past, ahead := now.Add(-time.Hour), now.Add(time.Hour)
	insert := func(collection string, documents ...bson.D) {
		t.Helper()
		for _, document := range documents {
			_, err := database.Collection(collection).InsertOne(t.Context(), document)
			must(t, err)
		}
	}
	insert("meta", bson.D{{Key: "_id", Value: "schema"}, {Key: "version", Value: 1}, {Key: "created_at", Value: past}})
	noting := bson.E{Key: "noting", Value: bson.D{
		{Key: "slots", Value: bson.A{oldSlots("uidnoting", past, past.Add(time.Minute), 2)}}, {Key: "run_at", Value: engine.Parked},
	}}
	insert("scheduled_tasks",
		oldTask("uidahead", ahead, ahead), oldTask("uiddue", past, past), oldTask("uidparked", past, engine.Parked), oldTask("uidnoting", past, now, noting),
		oldTask("uiddag-fetch", ahead, ahead, bson.E{Key: "epoch", Value: int64(4)}), oldTask("uiddag-_", time.Time{}, engine.Parked),
		oldTask("uidactive", past, past), oldTask("uidgiven", past, past),
	)
	givenUp := func(slots bson.D) bson.E { return bson.E{Key: "given_up", Value: slots} }
	insert("runs",
		oldRun("uidactive", past),
		oldRun("uidgiven", past, givenUp(oldSlots("uidgiven", past.Add(-time.Minute), past, 2))),
		oldRun("uidother", past, givenUp(oldSlots("uidother", past.Add(-time.Minute), past.Add(-time.Minute), 1))), // of the run before it
	)
	insert("slots", oldSlots("uidnoting", past, past, 1))
}

// A database whose decisions were several writes is brought forward by the nodes that start first, and by no later one.
func TestADatabaseOfVersionOneIsBroughtForward(t *testing.T) {
	server := startServer(t)
	database := connect(t, server.URI()).Database("before")
	now := time.Now().UTC().Truncate(time.Millisecond)
	past, ahead := now.Add(-time.Hour), now.Add(time.Hour)
	fillOld(t, database, now)
	open := func() (*mongo.Store, error) {
		return mongo.Open(t.Context(), server.URI(), mongo.Config{Database: "before", PrimaryOnly: true, BulkSize: 3, ActiveServersWait: 100 * time.Millisecond, Logger: logger(t)})
	}
	stores := make([]*mongo.Store, 3)
	var nodes sync.WaitGroup
	for node := range stores {
		nodes.Go(func() {
			var err error
			if stores[node], err = open(); err != nil {
				t.Error(err)
			}
		})
	}
	nodes.Wait()
	if t.Failed() {
		return
	}
	for _, store := range stores {
		closing(t, store)
	}
	brought := time.Now()
	for range 2 {
		if schema := one(t, database.Collection("meta"), "schema"); fmt.Sprint(schema["version"]) != "3" || schema["from"] != nil {
			t.Errorf("the schema is %v", schema)
		}
		wantBroughtForward(t, stores[0], past, ahead, now, brought)
		// Once more, as after a crash before the end.
		_, err := database.Collection("meta").UpdateOne(t.Context(), d("_id", "schema"), d("$set", d("version", 1)))
		must(t, err)
		again, err := open()
		must(t, err)
		closing(t, again)
	}
	owner := take(t, stores[0], 7, "owner")
	if owner.term.Number != 1 {
		t.Errorf("the first term is %d", owner.term.Number)
	}
	tasks, err := stores[0].TasksByID(t.Context(), []string{"uidactive"})
	must(t, err)
	tasks[0].Revision = 6
	drops := engine.Batch{DropRuns: []string{engine.SlotRunID("uidactive", past)}, Tasks: tasks, DropTasks: []string{"uiddue"}}
	must(t, storetest.Write(t.Context(), stores[0], drops))
	wantRuns(t, stores[0], "uidother")
	left, err := stores[0].TasksByID(t.Context(), []string{"uidactive", "uiddue"})
	if difference := cmp.Diff(tasks, left); err != nil || difference != "" {
		t.Errorf("tasks after a commit: %v (-want +got):\n%s", err, difference)
	}
}

// wantBroughtForward wants what fillOld leaves, brought forward at an instant between two.
func wantBroughtForward(t *testing.T, store *mongo.Store, past, ahead, from, until time.Time) {
	t.Helper()
	wantRuns(t, store, "uidactive", "uidother")
	task := func(id string, slot, runAt, accounted time.Time, taken ...time.Time) engine.ScheduledTask {
		return engine.ScheduledTask{
			ID: id, Shard: shardOf(id), Slot: slot, RunAt: runAt, Generation: 2, Revision: 5, Namespace: "default", Job: "report", Accounted: accounted, Taken: taken,
		}
	}
	before := past.Add(-time.Millisecond)
	root := task("uiddag-fetch", ahead, ahead, time.Time{})
	root.Epoch = 4
	for _, want := range []engine.ScheduledTask{
		task("uidactive", past, past, before, past), task("uidahead", ahead, ahead, time.Time{}), root, task("uiddue", past, past, before),
		task("uidgiven", past, past, before), task("uidnoting", past, engine.Parked, time.Time{}), task("uidparked", past, engine.Parked, time.Time{}),
	} {
		tasks, err := store.TasksByID(t.Context(), []string{want.ID})
		if err != nil || len(tasks) != 1 {
			t.Fatalf("%s: %+v, %v", want.ID, tasks, err)
		}
		if want.Accounted.IsZero() { // until when it was brought forward
			if at := tasks[0].Accounted; at.Before(from) || at.After(until) {
				t.Errorf("%s is accounted for until %s", want.ID, at)
			}
			want.Accounted = tasks[0].Accounted
		}
		if difference := cmp.Diff(want, tasks[0]); difference != "" {
			t.Errorf("%s (-want +got):\n%s", want.ID, difference)
		}
	}
	if turns, err := store.TasksByID(t.Context(), []string{"uiddag-_"}); err != nil || len(turns) > 0 {
		t.Errorf("what said which wave opened last is there: %+v, %v", turns, err)
	}
	for uid, want := range map[string]int64{"uidnoting": 2, "uidgiven": 2, "uidother": 0} {
		ranges, _, err := store.Slots(t.Context(), engine.SlotFilter{JobUID: uid})
		var got int64
		for i := range ranges {
			got += ranges[i].Count
		}
		if err != nil || got != want {
			t.Errorf("%d slots of %s are in the ledger: %+v, %v", got, uid, ranges, err)
		}
	}
}

// wantRuns wants the active runs to be those of these jobs.
func wantRuns(t *testing.T, store *mongo.Store, want ...string) {
	t.Helper()
	var shards []int
	for shard := range engine.Shards {
		shards = append(shards, shard)
	}
	runs, err := store.ActiveRuns(t.Context(), shards, "", 10)
	must(t, err)
	var uids []string
	for i := range runs {
		uids = append(uids, runs[i].JobUID)
	}
	if difference := cmp.Diff(want, uids); difference != "" {
		t.Errorf("active runs (-want +got):\n%s", difference)
	}
}
