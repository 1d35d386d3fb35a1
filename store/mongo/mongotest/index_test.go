package mongotest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/store/mongo/mongotest"
)

func TestUniqueIndex(t *testing.T) {
	_, database := start(t)
	ctx, c := t.Context(), database.Collection("c")
	name, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: d("ns", 1, "name", 1), Options: options.Index().SetUnique(true)})
	must(t, err)
	if name != "ns_1_name_1" {
		t.Errorf("name %s", name)
	}
	_, err = c.InsertMany(ctx, []any{d("_id", 1, "ns", "a", "name", "x"), d("_id", 2, "ns", "a", "name", "y"), d("_id", 3, "ns", "b", "name", "x")})
	must(t, err)
	_, err = c.InsertOne(ctx, d("_id", 4, "ns", "a", "name", "x"))
	wantCode(t, err, 11000)
	// The refused document left nothing behind in any index.
	_, err = c.InsertOne(ctx, d("_id", 4, "ns", "a", "name", "z"))
	must(t, err)
	_, err = c.UpdateOne(ctx, d("_id", 4), d("$set", d("name", "y", "other", 1)))
	wantCode(t, err, 11000)
	if document := one(t, c, 4); document["name"] != "z" || document["other"] != nil {
		t.Errorf("a refused update left %v", document)
	}
	wantIDs(t, c, d("ns", "a", "name", "z"), "4")
	_, err = c.UpdateOne(ctx, d("_id", 2), d("$set", d("name", "w")))
	must(t, err)
	_, err = c.UpdateOne(ctx, d("_id", 4), d("$set", d("name", "y")))
	must(t, err)
	_, err = c.DeleteOne(ctx, d("_id", 1))
	must(t, err)
	_, err = c.InsertOne(ctx, d("_id", 5, "ns", "a", "name", "x"))
	must(t, err)
	_, err = c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: d("ns", 1), Options: options.Index().SetUnique(true)})
	wantCode(t, err, 11000)
}

func TestPartialIndex(t *testing.T) {
	_, database := start(t)
	ctx, c := t.Context(), database.Collection("c")
	model := mongo.IndexModel{Keys: d("job", 1), Options: options.Index().SetName("one_running").SetUnique(true).
		SetPartialFilterExpression(d("status", "running"))}
	_, err := c.Indexes().CreateOne(ctx, model)
	must(t, err)
	_, err = c.InsertMany(ctx, []any{d("_id", 1, "job", "j", "status", "done"), d("_id", 2, "job", "j", "status", "done"), d("_id", 3, "job", "j", "status", "running")})
	must(t, err)
	_, err = c.UpdateOne(ctx, d("_id", 1), d("$set", d("status", "running")))
	wantCode(t, err, 11000)
	_, err = c.UpdateOne(ctx, d("_id", 3), d("$set", d("status", "done")))
	must(t, err)
	_, err = c.UpdateOne(ctx, d("_id", 1), d("$set", d("status", "running")))
	must(t, err)
	wantIDs(t, c, d("job", "j"), "1", "2", "3")
	wantIDs(t, c, d("job", "j", "status", "running"), "1")
	for _, filter := range []bson.D{d("a", d("$ne", 1)), d("a", d("$exists", false)), d("$nor", bson.A{d("a", 1)})} {
		_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: d("x", 1), Options: options.Index().SetPartialFilterExpression(filter)})
		wantCode(t, err, 67)
	}
}

func TestIndexesAreListedAndDropped(t *testing.T) {
	_, database := start(t)
	ctx, c := t.Context(), database.Collection("c")
	if specs, err := c.Indexes().ListSpecifications(ctx); err != nil || len(specs) != 0 {
		t.Errorf("indexes of a missing collection: %v, %v", specs, err)
	}
	models := []mongo.IndexModel{
		{Keys: d("a", 1, "b", -1)},
		{Keys: d("at", 1), Options: options.Index().SetName("ttl").SetExpireAfterSeconds(60)},
	}
	for range 2 { // the second time changes nothing
		_, err := c.Indexes().CreateMany(ctx, models)
		must(t, err)
	}
	_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: d("at", 1), Options: options.Index().SetExpireAfterSeconds(9)})
	wantCode(t, err, 85)
	_, err = c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: d("b", 1), Options: options.Index().SetName("ttl")})
	wantCode(t, err, 86)
	must(t, database.RunCommand(ctx, d("collMod", "c", "index", d("name", "ttl", "expireAfterSeconds", 30))).Err())
	specs, err := c.Indexes().ListSpecifications(ctx)
	must(t, err)
	if len(specs) != 3 || specs[1].Name != "a_1_b_-1" || *specs[2].ExpireAfterSeconds != 30 {
		t.Errorf("specs %+v", specs)
	}
	must(t, c.Indexes().DropOne(ctx, "ttl"))
	wantCode(t, c.Indexes().DropOne(ctx, "ttl"), 27)
	must(t, c.Indexes().DropAll(ctx))
	names, err := database.ListCollectionNames(ctx, d())
	must(t, err)
	if fmt.Sprint(names) != "[c]" {
		t.Errorf("collections %v", names)
	}
	wantCode(t, database.CreateCollection(ctx, "c"), 48)
	must(t, database.Drop(ctx))
	databases, err := database.Client().ListDatabaseNames(ctx, d())
	must(t, err)
	if len(databases) != 0 {
		t.Errorf("databases %v", databases)
	}
}

func TestExpiry(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var mutex sync.Mutex
	server, err := mongotest.Start(context.Background(), mongotest.Config{
		ExpireInterval: time.Hour, // only Expire, below
		Now: func() time.Time {
			mutex.Lock()
			defer mutex.Unlock()
			return now
		},
	})
	must(t, err)
	t.Cleanup(func() { must(t, server.Close()) })
	c := connect(t, server.URI()).Database("x").Collection("c")
	ctx := t.Context()
	_, err = c.Indexes().CreateMany(ctx, []mongo.IndexModel{
		{Keys: d("at", 1), Options: options.Index().SetExpireAfterSeconds(60)},
		{Keys: d("until", 1), Options: options.Index().SetExpireAfterSeconds(0)},
	})
	must(t, err)
	_, err = c.InsertMany(ctx, []any{
		d("_id", "old", "at", now.Add(-time.Minute)),
		d("_id", "new", "at", now.Add(-59*time.Second)),
		d("_id", "none"),
		d("_id", "text", "at", "2020"),
		d("_id", "until", "until", now.Add(time.Second)),
	})
	must(t, err)
	expire := func(want int) {
		t.Helper()
		removed, err := server.Expire()
		must(t, err)
		if removed != want {
			t.Errorf("expired %d, want %d", removed, want)
		}
	}
	expire(1)
	wantIDs(t, c, d(), "new", "none", "text", "until")
	mutex.Lock()
	now = now.Add(time.Second)
	mutex.Unlock()
	expire(2)
	wantIDs(t, c, d(), "none", "text")
	expire(0)
}

func TestCursorsKeepTheirSnapshot(t *testing.T) {
	_, database := start(t)
	ctx, c := t.Context(), database.Collection("c")
	var documents []any
	for i := range 1000 {
		documents = append(documents, d("_id", i))
	}
	_, err := c.InsertMany(ctx, documents)
	must(t, err)
	for _, size := range []int32{0, 1, 7, 1000, 5000} {
		choices := options.Find().SetSort(d("_id", -1)).SetSkip(10)
		if size > 0 {
			choices.SetBatchSize(size)
		}
		cursor, err := c.Find(ctx, d(), choices)
		must(t, err)
		_, err = c.UpdateOne(ctx, d("_id", 0), d("$inc", d("n", 1)))
		must(t, err)
		var found []struct {
			ID int `bson:"_id"`
		}
		must(t, cursor.All(ctx, &found))
		if len(found) != 990 || found[0].ID != 989 || found[989].ID != 0 {
			t.Errorf("batch size %d: %d documents", size, len(found))
		}
	}
	cursor, err := c.Find(ctx, d(), options.Find().SetBatchSize(2))
	must(t, err)
	cursor.Next(ctx)
	must(t, cursor.Close(ctx))
	wantCode(t, database.RunCommand(ctx, d("getMore", cursor.ID()+1, "collection", "c")).Err(), 43)
}

// Pages by key, as a history is read: newest first, equal times ordered by _id.
func TestKeysetPagesFollowAnIndex(t *testing.T) {
	_, database := start(t)
	ctx, c := t.Context(), database.Collection("runs")
	_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: d("job", 1, "at", -1, "_id", -1)})
	must(t, err)
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var documents []any
	for i := range 500 {
		documents = append(documents, d("_id", fmt.Sprintf("r%03d", (i*7)%500), "job", fmt.Sprint("j", i%2), "at", base.Add(time.Duration(i/10)*time.Second)))
	}
	_, err = c.InsertMany(ctx, documents)
	must(t, err)
	sort := d("at", -1, "_id", -1)
	whole := ids(t, c, d("job", "j1"), options.Find().SetSort(sort))
	if len(whole) != 250 {
		t.Fatalf("%d documents", len(whole))
	}
	var paged []string
	filter := d("job", "j1")
	for {
		cursor, err := c.Find(ctx, filter, options.Find().SetSort(sort).SetLimit(17))
		must(t, err)
		var page []struct {
			ID string `bson:"_id"`
			At time.Time
		}
		must(t, cursor.All(ctx, &page))
		for _, run := range page {
			paged = append(paged, run.ID)
		}
		if len(page) < 17 {
			break
		}
		last := page[len(page)-1]
		filter = d("job", "j1", "$or", bson.A{d("at", d("$lt", last.At)), d("at", last.At, "_id", d("$lt", last.ID))})
	}
	if fmt.Sprint(paged) != fmt.Sprint(whole) {
		t.Errorf("pages differ:\n%v\n%v", paged, whole)
	}
	var plan struct {
		QueryPlanner struct {
			WinningPlan struct {
				Stage      string
				InputStage struct{ Stage, IndexName string }
			} `bson:"winningPlan"`
		} `bson:"queryPlanner"`
		ExecutionStats struct {
			Examined int `bson:"totalDocsExamined"`
		} `bson:"executionStats"`
	}
	command := d("explain", d("find", "runs", "filter", filter, "sort", sort, "limit", 17))
	must(t, database.RunCommand(ctx, command).Decode(&plan))
	if plan.QueryPlanner.WinningPlan.Stage != "FETCH" || plan.ExecutionStats.Examined > 40 {
		t.Errorf("plan %+v", plan)
	}
}
