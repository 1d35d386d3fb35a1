package mongotest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/mongo/mongotest"
)

// asked projects nothing and trims nothing unless it is asked to.
var asked = mongo.Config{PrimaryOnly: true, ProjectInterval: time.Hour, TrimInterval: time.Hour}

// owner commits to one shard.
type owner struct {
	store *mongo.Store
	shard int
	term  engine.Term
}

func take(t testing.TB, store *mongo.Store, shard int, name string) *owner {
	t.Helper()
	term, err := store.Take(t.Context(), shard, name)
	must(t, err)
	return &owner{store, shard, term}
}

// next gives a decision the position after the last commit.
func (o *owner) next(decision engine.Batch) engine.ShardCommit {
	return engine.ShardCommit{Shard: o.shard, Term: o.term.Number, Position: o.term.Position + 1, Batch: &decision}
}

func (o *owner) try(ctx context.Context, decision engine.Batch) error {
	err := o.store.Commit(ctx, []engine.ShardCommit{o.next(decision)})[0]
	if err == nil {
		o.term.Position++
	}
	return err
}

func (o *owner) commit(t testing.TB, decisions ...engine.Batch) {
	t.Helper()
	for _, decision := range decisions {
		must(t, o.try(t.Context(), decision))
	}
}

// uidsOf returns n uids of jobs of a shard.
func uidsOf(shard, n int) (uids []string) {
	for i := 0; len(uids) < n; i++ {
		if uid := fmt.Sprintf("job%05d", i); engine.ShardOf(uid) == shard {
			uids = append(uids, uid)
		}
	}
	return uids
}

// stages are decisions that put, replace and drop documents of every kind, put again what was dropped, and clear what was
// asked for.
func stages(shard int) []engine.Batch {
	uids := uidsOf(shard, 4)
	lives := map[string][]engine.Run{}
	for _, uid := range uids {
		lives[uid] = life(uid, faultNoon)
	}
	runs := func(revision int, of ...string) (list []engine.Run) {
		for _, uid := range of {
			list = append(list, lives[uid][revision])
		}
		return list
	}
	task := func(uid string, hour int) engine.ScheduledTask {
		at := faultNoon.Add(time.Duration(hour) * time.Hour)
		return engine.ScheduledTask{ID: uid, Shard: shard, Slot: at, RunAt: at, Revision: int64(hour + 1), Namespace: "default"}
	}
	slots := func(uid string, count int64) engine.SlotRange {
		return engine.SlotRange{
			ID: engine.SlotRangeID(uid, faultNoon), JobUID: uid, Namespace: "default", From: faultNoon, To: faultNoon.Add(time.Duration(count)),
			Count: count,
		}
	}
	letter := func(uid, text string) engine.DeadLetter {
		return engine.DeadLetter{RunID: lives[uid][0].ID, Namespace: "default", JobUID: uid, Error: text, At: faultNoon}
	}
	incident := func(uid string, count int64) engine.Incident {
		return engine.Incident{
			ID: engine.IncidentID(uid, "", spec.AlertFailed), Revision: count, Shard: shard, Namespace: "default", UID: uid, Alert: spec.AlertFailed,
			Since: faultNoon, Count: count,
		}
	}
	wave := func(revision int64, status engine.Status) engine.Wave {
		return engine.Wave{
			ID: engine.WaveID(uids[0], 1), Revision: revision, Namespace: "default", DAGUID: uids[0], Shard: shard, Epoch: 1, Status: status,
			CreatedAt: faultNoon,
		}
	}
	return []engine.Batch{
		{
			Runs: runs(0, uids...), Waves: []engine.Wave{wave(1, engine.StatusRunning)},
			Tasks: []engine.ScheduledTask{task(uids[0], 0), task(uids[1], 0)}, Slots: []engine.SlotRange{slots(uids[0], 1), slots(uids[1], 5)},
			DeadLetters: []engine.DeadLetter{letter(uids[0], "first"), letter(uids[1], "first")},
			Incidents:   []engine.Incident{incident(uids[0], 1), incident(uids[1], 1)},
		},
		{
			Runs: runs(2, uids[0], uids[1]), DropRuns: []string{lives[uids[2]][0].ID, "none"},
			Waves:     []engine.Wave{wave(2, engine.StatusSucceeded)},
			DropTasks: []string{uids[0]}, DropIncidents: []string{engine.IncidentID(uids[1], "", spec.AlertFailed)}, DropLetters: []string{lives[uids[0]][0].ID}, Slots: []engine.SlotRange{slots(uids[0], 2)},
			Handled: []engine.JobHandled{{UID: uids[0], Namespace: "default", Name: uids[0], Revision: 1}},
			Done:    []engine.CommandDone{{ID: "command-" + uids[0], At: faultNoon}},
		},
		{
			Runs: runs(3, uids[0], uids[2]), DropRuns: []string{lives[uids[1]][0].ID}, Tasks: []engine.ScheduledTask{task(uids[0], 2)},
			DropTasks: []string{uids[1]}, DropLetters: []string{lives[uids[1]][0].ID},
			DeadLetters: []engine.DeadLetter{letter(uids[0], "second")},
			Incidents:   []engine.Incident{incident(uids[0], 2)},
		},
	}
}

// ask puts what the decisions of a shard clear.
func ask(t testing.TB, store *mongo.Store, shard int) {
	t.Helper()
	for _, uid := range uidsOf(shard, 2) {
		job := engine.Job{UID: uid, Namespace: "default", Name: uid, Shard: shard, Revision: 1, Generation: 1, Pending: true}
		must(t, store.Jobs().Create(t.Context(), job))
		must(t, store.PutCommand(t.Context(), engine.Command{ID: "command-" + uid, Shard: shard, JobUID: uid, At: faultNoon}))
	}
}

// contents returns what the collections hold, without what the journal adds.
func contents(t testing.TB, database *driver.Database) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range []string{"runs", "waves", "scheduled_tasks", "slots", "dead_letters", "incidents", "jobs", "commands"} {
		cursor, err := database.Collection(name).Find(t.Context(), bson.D{})
		must(t, err)
		for cursor.Next(t.Context()) {
			var document bson.D
			must(t, cursor.Decode(&document))
			if document[1].Key == "dropped_at" {
				continue
			}
			document = slices.DeleteFunc(document, func(e bson.E) bool { return e.Key == "position" })
			all[fmt.Sprint(name, "/", document[0].Value)] = document.String()
		}
		must(t, cursor.Err())
	}
	return all
}

// fitting returns what a healthy store holds after decisions about shards, one after the other, as contents does.
func fitting(t testing.TB, server *mongotest.Server, decided map[int][]engine.Batch) map[string]string {
	t.Helper()
	name := fmt.Sprintf("healthy%d", len(databasesOf(t, server)))
	store := closing(t, openStore(t, server.URI(), mongo.Config{Database: name, PrimaryOnly: true, ProjectInterval: time.Millisecond}))
	for shard, decisions := range decided {
		ask(t, store, shard)
		one := take(t, store, shard, "healthy")
		for _, decision := range decisions {
			one.commit(t, decision)
			must(t, store.CatchUp(t.Context())) // each by itself
		}
	}
	return contents(t, connect(t, server.URI()).Database(name))
}

func databasesOf(t testing.TB, server *mongotest.Server) []string {
	t.Helper()
	names, err := connect(t, server.URI()).ListDatabaseNames(t.Context(), bson.D{})
	must(t, err)
	return names
}

func differ(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("%s (-want +got):\n%s", what, difference)
	}
}

// startWatched starts a server that shows each command before it is done, and ends with the test.
func startWatched(t testing.TB, watch func(command bson.Raw)) *mongotest.Server {
	t.Helper()
	config := mongotest.Config{Logger: logger(t), Observe: func(_ string, command []byte) { watch(command) }}
	server, err := mongotest.Start(context.WithoutCancel(t.Context()), config)
	must(t, err)
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}
