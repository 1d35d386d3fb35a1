package mongotest_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/tidewheel/tidewheel/e2e"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/mongo/mongotest"
	"github.com/tidewheel/tidewheel/store/mongo/mongotest/internal/shapes"
	"github.com/tidewheel/tidewheel/store/storetest"
)

// sent are the queries that a server was asked, by their shapes, each with one command as an example.
type sent struct {
	mutex    sync.Mutex
	shapes   map[string]shapes.Shape
	examples map[string]bson.Raw
	faults   map[string]bool
}

func newSent() *sent {
	return &sent{shapes: map[string]shapes.Shape{}, examples: map[string]bson.Raw{}, faults: map[string]bool{}}
}

func (s *sent) observe(_ string, command []byte) {
	found, err := shapes.Of(command)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if err != nil {
		s.faults[err.Error()] = true
	}
	for i := range found {
		name := found[i].String()
		if _, known := s.shapes[name]; !known {
			s.shapes[name], s.examples[name] = found[i], slices.Clone(command)
		}
	}
}

// sorted returns the shapes in the order of their names.
func (s *sent) sorted() (all []shapes.Shape) {
	for _, name := range slices.Sorted(maps.Keys(s.shapes)) {
		all = append(all, s.shapes[name])
	}
	return all
}

// excuses are what may be looked at and left out all the same, and why that is little.
var excuses = []struct {
	why     string
	excused func(shape *shapes.Shape, verdict *shapes.Verdict) bool
}{
	{"a collection is emptied by a restore, which nobody waits beside", func(shape *shapes.Shape, _ *shapes.Verdict) bool {
		return shape.Operation == "delete" && len(shape.Conditions) == 0
	}},
	{"tombstones stand among the living until the engine has handled them", leaves("deleted", "jobs", "dags")},
	{"what stands among the tombstones waits for the engine, but for moments", leaves("pending", "tombstones", "dag_tombstones")},
	{"the name, the namespace and the shard of a job or a DAG follow from its uid", func(shape *shapes.Shape, verdict *shapes.Verdict) bool {
		return (names(shape, "job_uid") || names(shape, "dag_uid")) && only(verdict, "namespace", "job", "dag", "shard")
	}},
	{"a run of a DAG's name has the names of the DAG and of no job", func(shape *shapes.Shape, verdict *shapes.Verdict) bool {
		return has(shape, "dag") && has(shape, "job") && only(verdict, "dag", "job")
	}},
	{"the shard follows from the _id", func(shape *shapes.Shape, verdict *shapes.Verdict) bool {
		return only(verdict, "shard", "position") && !has(shape, "dag_uid") && !has(shape, "job_uid")
	}},
	{"most runs that have ended keep nothing beside them: what does is looked at by retention, twice", leaves("bare", "runs")},
	{"the ledger of the last day, which is asked for by its latest entries", leaves("namespace", "slots")},
	{"what stands for dropped runs and incidents is there for an hour", func(shape *shapes.Shape, verdict *shapes.Verdict) bool {
		return (shape.Collection == "runs" || shape.Collection == "incidents") && names(shape, "dropped_at") && only(verdict, "dropped_at", "shard")
	}},
	{"take-overs stand among the commits, few of them", func(shape *shapes.Shape, verdict *shapes.Verdict) bool {
		return shape.Collection == "journal" && shape.Operation == "delete" && only(verdict, "kind", "at")
	}},
	{"what runs and waits is little, however long the history", func(shape *shapes.Shape, verdict *shapes.Verdict) bool {
		return shape.Collection == "runs" && !(names(shape, "job_uid") && slices.Contains(verdict.Residual, "job_uid")) && slices.Contains(shape.Conditions, shapes.Condition{Field: "active", Kind: shapes.Equal, Value: "true"})
	}},
	{"where namespaces or jobs have a retention of their own, what others keep longer is looked at once", func(shape *shapes.Shape, verdict *shapes.Verdict) bool {
		ages := map[string]string{"runs": "ended_at", "waves": "finished_at", "slots": "to", "dead_letters": "at"}
		return names(shape, ages[shape.Collection]) && !slices.Contains(verdict.Residual, ages[shape.Collection]) && only(verdict, "namespace", "job_uid", "dag_uid", "bare", "open")
	}},
	{"of what one job or one DAG made long ago nearly all has ended, and long ago", func(shape *shapes.Shape, verdict *shapes.Verdict) bool {
		return (names(shape, "created_at") || shape.Limited) && (has(shape, "job_uid") || has(shape, "dag_uid")) && !slices.Contains(verdict.Residual, "job_uid") &&
			!slices.Contains(verdict.Residual, "dag_uid") && only(verdict, "active", "bare", "ended_at", "shard", "open", "epoch", "finished_at")
	}},
	{"the runs of a wave that has ended have ended", func(shape *shapes.Shape, verdict *shapes.Verdict) bool {
		return shape.Collection == "runs" && names(shape, "_id") && only(verdict, "active", "bare", "shard")
	}},
}

func has(shape *shapes.Shape, field string) bool {
	return slices.ContainsFunc(shape.Conditions, func(c shapes.Condition) bool { return c.Field == field && c.Kind == shapes.Equal })
}

func names(shape *shapes.Shape, field string) bool {
	return slices.ContainsFunc(shape.Conditions, func(c shapes.Condition) bool { return c.Field == field })
}

// only checks that an index serves a shape, but for these fields.
func only(verdict *shapes.Verdict, fields ...string) bool {
	return verdict.Index != "" && verdict.Sorted && !slices.ContainsFunc(verdict.Residual, func(f string) bool { return !slices.Contains(fields, f) })
}

func leaves(field string, collections ...string) func(*shapes.Shape, *shapes.Verdict) bool {
	return func(shape *shapes.Shape, verdict *shapes.Verdict) bool {
		return slices.Contains(collections, shape.Collection) && only(verdict, field)
	}
}

// How well a shape is served.
const (
	looksThrough = iota // at what it does not give
	excused
	served
)

func grade(shape *shapes.Shape, indexes []shapes.Index) (grade, excuse int) {
	verdict := shape.Judge(indexes)
	if verdict.Good() {
		return served, -1
	}
	for i := range excuses {
		if excuses[i].excused(shape, &verdict) {
			return excused, i
		}
	}
	return looksThrough, -1
}

// judge wants every query that was sent served by the indexes.
func (s *sent) judge(t *testing.T, indexes []shapes.Index) (used map[int]bool) {
	t.Helper()
	used = map[int]bool{}
	for fault := range s.faults {
		t.Error(fault)
	}
	for _, shape := range s.sorted() {
		grade, excuse := grade(&shape, indexes)
		used[excuse] = true
		if verdict := shape.Judge(indexes); grade == looksThrough {
			t.Errorf("%s: %s", shape.String(), verdict.String())
		}
	}
	return used
}

// record returns what the store's suite sends, and what the whole product sends while it runs and a user opens all its pages.
func record(t *testing.T) *sent {
	t.Helper()
	all := newSent()
	uri := startObserved(t, all)
	var databases atomic.Int64
	t.Run("suite", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) storetest.Store {
			return openStore(t, uri, mongo.Config{Database: fmt.Sprintf("test%d", databases.Add(1))})
		})
	})
	t.Run("edits", func(t *testing.T) {
		if _, err := closing(t, openStore(t, uri, mongo.Config{Database: "edits"})).Edits().Adopt(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("product", func(t *testing.T) { e2e.Tour(t, buildProduct(t), "--mongodb-uri", uri) })
	if len(all.shapes) < 100 {
		t.Fatalf("only %d shapes of queries were sent", len(all.shapes))
	}
	return all
}

func startObserved(t *testing.T, all *sent) string {
	t.Helper()
	server, err := mongotest.Start(context.WithoutCancel(t.Context()), mongotest.Config{
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})), Observe: all.observe,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server.URI()
}

// declared are the indexes that the store makes in an empty database.
func declared(t *testing.T, database *driver.Database) (all []shapes.Index) {
	t.Helper()
	collections, err := database.ListCollectionNames(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	collections = append(collections, "binaries", "journal", "shards") // which have no index but that of _id, once they are there
	for _, collection := range collections {
		all = append(all, shapes.Index{Collection: collection, Name: "_id_", Keys: []shapes.Key{{Field: "_id"}}, Unique: true})
		cursor, err := database.Collection(collection).Indexes().List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for cursor.Next(t.Context()) {
			index, err := shapes.IndexOf(collection, cursor.Current)
			if err != nil {
				t.Fatal(err)
			}
			if index.Name != "_id_" {
				all = append(all, index)
			}
		}
		if err := cursor.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func emptyDatabase(t *testing.T, uri string) *driver.Database {
	t.Helper()
	closing(t, openStore(t, uri, mongo.Config{Database: "empty"}))
	return connect(t, uri).Database("empty")
}

// TestEveryQueryIsServedByAnIndex judges all that the store and the product send, by MongoDB's rules: nothing looks at
// more documents than it gives, but for what is excused. And every index and every excuse is needed by something. With
// the shard keys of docs/scale.md every write goes to the shards of its documents alone.
func TestEveryQueryIsServedByAnIndex(t *testing.T) {
	all := record(t)
	database := emptyDatabase(t, startServer(t).URI())
	indexes := declared(t, database)
	used := all.judge(t, indexes)
	for i := range excuses {
		if !used[i] {
			t.Errorf("nothing needs the excuse that %s", excuses[i].why)
		}
	}
	for i, index := range indexes {
		without := slices.Delete(slices.Clone(indexes), i, i+1)
		if !slices.ContainsFunc(all.sorted(), func(shape shapes.Shape) bool {
			before, _ := grade(&shape, indexes)
			after, _ := grade(&shape, without)
			return after < before
		}) && index.Name != "_id_" && index.Name != "dropped" { // which expires documents
			t.Errorf("nothing needs index %s of %s", index.Name, index.Collection)
		}
	}
	keys := shardKeys(t)
	all.aimed(t, keys)
	unique(t, keys, indexes)
	all.explain(t, database, indexes, false)
	for _, shape := range all.sorted() {
		t.Log("sent:", shape.String())
	}
}

// TestEveryQueryIsServedByAnIndexOfAServer asks whatever server TIDEWHEEL_TEST_MONGODB_URI names how it would answer.
func TestEveryQueryIsServedByAnIndexOfAServer(t *testing.T) {
	uri := os.Getenv("TIDEWHEEL_TEST_MONGODB_URI")
	if uri == "" {
		t.Skip("TIDEWHEEL_TEST_MONGODB_URI is not set")
	}
	const name = "tidewheel_test_explained"
	drop(t, uri, name)
	closing(t, openStore(t, uri, mongo.Config{Database: name}))
	database := connect(t, uri).Database(name)
	record(t).explain(t, database, declared(t, database), true)
}

// explain asks a server for its plans of the queries that an index should serve. Its own order of things counts only
// where it merges the walks of several values.
func (s *sent) explain(t *testing.T, database *driver.Database, indexes []shapes.Index, merges bool) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(s.shapes)) {
		shape := s.shapes[name]
		if verdict := shape.Judge(indexes); !verdict.Good() || shape.Operation == "count" && !merges {
			continue
		}
		var answer bson.Raw
		command := bson.D{{Key: "explain", Value: explainable(s.examples[name], &shape)}, {Key: "verbosity", Value: "queryPlanner"}}
		if err := database.RunCommand(t.Context(), command).Decode(&answer); err != nil {
			t.Errorf("explain %s: %v", name, err)
			continue
		}
		plan := answer.String()
		if winning, err := answer.LookupErr("queryPlanner", "winningPlan"); err == nil {
			plan = winning.String()
		}
		if strings.Contains(plan, "COLLSCAN") || merges && strings.Contains(plan, `"SORT"`) {
			t.Errorf("%s: the server plans %s", name, plan)
		}
	}
}

// explainable is an example of a shape without what belongs to its session, and with one of its writes.
func explainable(example bson.Raw, shape *shapes.Shape) (command bson.D) {
	var all bson.D
	_ = bson.Unmarshal(example, &all) // the server has read it
	for _, element := range all {
		switch element.Key {
		case "find", "filter", "sort", "limit", "projection", "aggregate", "pipeline", "cursor", "update", "delete":
			command = append(command, element)
		case "updates", "deletes":
			writes, _ := element.Value.(bson.A)
			for _, write := range writes {
				one, _ := bson.Marshal(bson.D{{Key: shape.Operation, Value: shape.Collection}, {Key: element.Key, Value: bson.A{write}}})
				if found, err := shapes.Of(one); err == nil && len(found) == 1 && found[0].String() == shape.String() {
					return append(command, bson.E{Key: element.Key, Value: bson.A{write}})
				}
			}
		}
	}
	return command
}
