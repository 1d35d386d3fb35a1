package mongotest_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

func TestInsertFindUpdateDelete(t *testing.T) {
	_, database := start(t)
	ctx, runs := t.Context(), database.Collection("runs")
	must(t, database.Client().Ping(ctx, readpref.SecondaryPreferred()))
	inserted, err := runs.InsertOne(ctx, d("name", "no id"))
	must(t, err)
	if _, ok := inserted.InsertedID.(bson.ObjectID); !ok {
		t.Errorf("inserted id is %T", inserted.InsertedID)
	}
	_, err = runs.InsertMany(ctx, []any{d("_id", "a", "n", 1, "s", "x"), d("_id", "b", "n", 2), d("_id", "c", "n", 3)})
	must(t, err)
	updated, err := runs.UpdateOne(ctx, d("_id", "a", "n", 1), d("$set", d("n", 5), "$inc", d("tries", 1)))
	must(t, err)
	if updated.MatchedCount != 1 || updated.ModifiedCount != 1 {
		t.Errorf("update: %+v", updated)
	}
	updated, err = runs.UpdateOne(ctx, d("_id", "a", "n", 1), d("$set", d("n", 6)))
	must(t, err)
	if updated.MatchedCount != 0 {
		t.Errorf("update under a condition that no longer holds: %+v", updated)
	}
	updated, err = runs.UpdateOne(ctx, d("_id", "a"), d("$set", d("n", 5)))
	must(t, err)
	if updated.MatchedCount != 1 || updated.ModifiedCount != 0 {
		t.Errorf("update to the same value: %+v", updated)
	}
	if document := one(t, runs, "a"); document["n"] != int32(5) || document["tries"] != int32(1) || document["s"] != "x" {
		t.Errorf("document %v", document)
	}
	replaced, err := runs.ReplaceOne(ctx, d("_id", "b"), d("m", 1))
	must(t, err)
	if document := one(t, runs, "b"); replaced.ModifiedCount != 1 || len(document) != 2 || document["m"] != int32(1) {
		t.Errorf("replaced %+v to %v", replaced, document)
	}
	many, err := runs.UpdateMany(ctx, d("_id", d("$in", bson.A{"a", "b"})), d("$set", d("seen", true)))
	must(t, err)
	if many.MatchedCount != 2 {
		t.Errorf("update many: %+v", many)
	}
	counted, err := runs.CountDocuments(ctx, d("seen", true))
	must(t, err)
	estimated, err := runs.EstimatedDocumentCount(ctx)
	must(t, err)
	if counted != 2 || estimated != 4 {
		t.Errorf("counted %d and %d", counted, estimated)
	}
	deleted, err := runs.DeleteMany(ctx, d("seen", true))
	must(t, err)
	if deleted.DeletedCount != 2 {
		t.Errorf("deleted %+v", deleted)
	}
	if err := runs.FindOne(ctx, d("_id", "a")).Err(); !errors.Is(err, mongo.ErrNoDocuments) {
		t.Errorf("a deleted document: %v", err)
	}
}

func TestUpsert(t *testing.T) {
	_, database := start(t)
	ctx, runs := t.Context(), database.Collection("runs")
	upsert := options.UpdateOne().SetUpsert(true)
	result, err := runs.UpdateOne(ctx, d("_id", "a", "kind", d("$eq", "k")),
		d("$setOnInsert", d("created", 1), "$inc", d("n", 1)), upsert)
	must(t, err)
	if result.UpsertedID != "a" || result.UpsertedCount != 1 {
		t.Errorf("upsert: %+v", result)
	}
	result, err = runs.UpdateOne(ctx, d("_id", "a"), d("$setOnInsert", d("created", 2), "$inc", d("n", 1)), upsert)
	must(t, err)
	document := one(t, runs, "a")
	if result.UpsertedCount != 0 || document["created"] != int32(1) || document["n"] != int32(2) || document["kind"] != "k" {
		t.Errorf("second upsert: %+v, %v", result, document)
	}
	// The document is there, only its state is another: the insert that the upsert turns to collides.
	_, err = runs.UpdateOne(ctx, d("_id", "a", "n", 7), d("$set", d("n", 8)), upsert)
	if !mongo.IsDuplicateKeyError(err) {
		t.Errorf("upsert under a condition that does not hold: %v", err)
	}
	_, err = runs.ReplaceOne(ctx, d("_id", "r"), d("x", 1), options.Replace().SetUpsert(true))
	must(t, err)
	if document := one(t, runs, "r"); document["x"] != int32(1) {
		t.Errorf("replaced %v", document)
	}
}

func TestUpdateOperators(t *testing.T) {
	_, database := start(t)
	ctx, runs := t.Context(), database.Collection("runs")
	attempts := bson.A{d("n", 1, "status", "lost"), d("n", 2, "status", "running")}
	cases := []struct {
		name    string
		update  bson.D
		filters []any
		path    string
		want    any
	}{
		{"unset", d("$unset", d("gone", "")), nil, "gone", nil},
		{"min", d("$min", d("n", 3)), nil, "n", int32(3)},
		{"max", d("$max", d("n", 30)), nil, "n", int32(30)},
		{"mul", d("$mul", d("n", 3)), nil, "n", int32(30)},
		{"rename", d("$rename", d("gone", "moved")), nil, "moved", "x"},
		{"push", d("$push", d("list", 4)), nil, "list", bson.A{int32(1), int32(2), int32(3), int32(4)}},
		{"push each slice", d("$push", d("list", d("$each", bson.A{4, 5}, "$slice", -3))), nil, "list", bson.A{int32(3), int32(4), int32(5)}},
		{"push position", d("$push", d("list", d("$each", bson.A{0}, "$position", 0))), nil, "list", bson.A{int32(0), int32(1), int32(2), int32(3)}},
		{"pull", d("$pull", d("list", d("$gte", 2))), nil, "list", bson.A{int32(1)}},
		{"add to set", d("$addToSet", d("list", d("$each", bson.A{3, 4}))), nil, "list", bson.A{int32(1), int32(2), int32(3), int32(4)}},
		{"pop", d("$pop", d("list", 1)), nil, "list", bson.A{int32(1), int32(2)}},
		{"path", d("$set", d("deep.er.value", 1)), nil, "deep", d("er", d("value", int32(1)))},
		{"index", d("$set", d("attempts.1.status", "done")), nil, "attempts", bson.A{d("n", int32(1), "status", "lost"), d("n", int32(2), "status", "done")}},
		{"array filter", d("$set", d("attempts.$[a].status", "done")), []any{d("a.n", 2)}, "attempts", bson.A{d("n", int32(1), "status", "lost"), d("n", int32(2), "status", "done")}},
		{"all elements", d("$unset", d("attempts.$[].status", "")), nil, "attempts", bson.A{d("n", int32(1)), d("n", int32(2))}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			_, err := runs.InsertOne(ctx, d("_id", test.name, "n", 10, "gone", "x", "list", bson.A{1, 2, 3}, "attempts", attempts))
			must(t, err)
			choices := options.UpdateOne()
			if test.filters != nil {
				choices.SetArrayFilters(test.filters)
			}
			result, err := runs.UpdateOne(ctx, d("_id", test.name), test.update, choices)
			must(t, err)
			if found := one(t, runs, test.name)[test.path]; result.ModifiedCount != 1 || !reflect.DeepEqual(found, test.want) {
				t.Errorf("modified %d, %s is %v, want %v", result.ModifiedCount, test.path, found, test.want)
			}
		})
	}
}

func TestRefusedUpdatesSayWhy(t *testing.T) {
	_, database := start(t)
	ctx, runs := t.Context(), database.Collection("runs")
	_, err := runs.InsertOne(ctx, d("_id", "a", "n", 1, "s", "text", "list", bson.A{d("x", 1)}))
	must(t, err)
	cases := []struct {
		name   string
		update any
		code   int
	}{
		{"unknown operator", d("$frob", d("n", 1)), 9},
		{"conflict", d("$set", d("n", 1), "$inc", d("n", 1)), 40},
		{"conflict with a parent", d("$set", d("o", 1, "o.p", 1)), 40},
		{"conflict with $setOnInsert", d("$set", d("n", 1), "$setOnInsert", d("n", 1)), 40},
		{"text incremented", d("$inc", d("s", 1)), 14},
		{"push to text", d("$push", d("s", 1)), 2},
		{"_id changed", d("$set", d("_id", "b")), 66},
		{"pipeline", mongo.Pipeline{d("$set", d("n", 1))}, 115},
		{"positional operator", d("$set", d("list.$.x", 1)), 115},
		{"array filter missing", d("$set", d("list.$[e].x", 1)), 2},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			_, err := runs.UpdateOne(ctx, d("_id", "a"), test.update)
			wantCode(t, err, test.code)
		})
	}
	if document := one(t, runs, "a"); document["n"] != int32(1) || document["s"] != "text" {
		t.Errorf("refused updates left %v", document)
	}
}

func TestQueries(t *testing.T) {
	_, database := start(t)
	ctx, c := t.Context(), database.Collection("c")
	_, err := c.InsertMany(ctx, []any{
		d("_id", "a", "n", 1, "s", "alpha", "tags", bson.A{"x", "y"}, "o", d("k", 1)),
		d("_id", "b", "n", 2.0, "s", "beta", "tags", bson.A{"y"}),
		d("_id", "c", "n", int64(3), "s", nil, "list", bson.A{d("p", 1, "q", 2), d("p", 2, "q", 1)}),
		d("_id", "d", "n", "4"),
	})
	must(t, err)
	for _, indexed := range []bool{false, true} {
		if indexed {
			for _, path := range []string{"n", "s", "tags", "o.k", "list.p"} {
				_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: d(path, 1)})
				must(t, err)
			}
		}
		wantIDs(t, c, d(), "a", "b", "c", "d")
		wantIDs(t, c, d("n", 2), "b")
		wantIDs(t, c, d("n", d("$gt", 1)), "b", "c")
		wantIDs(t, c, d("n", d("$gte", 1, "$lt", 3)), "a", "b")
		wantIDs(t, c, d("n", d("$ne", 1)), "b", "c", "d")
		wantIDs(t, c, d("n", d("$in", bson.A{1, 3, 9, 1})), "a", "c")
		wantIDs(t, c, d("n", d("$nin", bson.A{1, 3})), "b", "d")
		wantIDs(t, c, d("n", d("$lt", "9")), "d")
		wantIDs(t, c, d("s", nil), "c", "d")
		wantIDs(t, c, d("s", d("$exists", true)), "a", "b", "c")
		wantIDs(t, c, d("s", d("$regex", "^AL", "$options", "i")), "a")
		wantIDs(t, c, d("s", bson.Regex{Pattern: "eta$"}), "b")
		wantIDs(t, c, d("s", d("$not", bson.Regex{Pattern: "a$"})), "c", "d")
		wantIDs(t, c, d("n", d("$type", "string")), "d")
		wantIDs(t, c, d("tags", "y"), "a", "b")
		wantIDs(t, c, d("tags", bson.A{"y"}), "b")
		wantIDs(t, c, d("tags", d("$all", bson.A{"x", "y"})), "a")
		wantIDs(t, c, d("tags", d("$size", 1)), "b")
		wantIDs(t, c, d("tags", d("$gt", "x", "$lt", "y")), "a") // each condition may be met by another element
		wantIDs(t, c, d("o.k", 1), "a")
		wantIDs(t, c, d("o", d("k", 1)), "a")
		wantIDs(t, c, d("list.p", 2), "c")
		wantIDs(t, c, d("list", d("$elemMatch", d("p", 1, "q", 1))))
		wantIDs(t, c, d("list", d("$elemMatch", d("p", 1, "q", 2))), "c")
		wantIDs(t, c, d("$or", bson.A{d("n", 1), d("n", d("$gt", 2))}), "a", "c")
		wantIDs(t, c, d("$and", bson.A{d("n", d("$gt", 1)), d("n", d("$lt", 3))}), "b")
		wantIDs(t, c, d("$nor", bson.A{d("n", 1), d("n", 2)}), "c", "d")
	}
	for name, filter := range map[string]bson.D{
		"where": d("$where", "true"), "expr": d("$expr", true), "operator": d("n", d("$frob", 1)), "or": d("$or", bson.A{}),
		"in": d("n", d("$in", 1)),
	} {
		_, err := database.Collection("empty "+name).Find(ctx, filter)
		wantCode(t, err, 2)
	}
}

func TestProjection(t *testing.T) {
	_, database := start(t)
	ctx, c := t.Context(), database.Collection("c")
	_, err := c.InsertOne(ctx, d("_id", 1, "a", 1, "o", d("p", 1, "q", 2), "list", bson.A{d("p", 1, "q", 2), 5, d("p", 3)}))
	must(t, err)
	for _, test := range []struct {
		projection bson.D
		want       string
	}{
		{d("a", 1), `{"_id":1,"a":1}`},
		{d("a", 1, "_id", 0), `{"a":1}`},
		{d("o.p", 1, "list.p", true), `{"_id":1,"o":{"p":1},"list":[{"p":1},{"p":3}]}`},
		{d("list", 0, "o.p", 0), `{"_id":1,"a":1,"o":{"q":2}}`},
		{d("_id", 0, "list", d("$slice", -1), "o", 0), `{"a":1,"list":[{"p":3}]}`},
		{d("_id", 1), `{"_id":1}`},
		{d(), `{"_id":1,"a":1,"o":{"p":1,"q":2},"list":[{"p":1,"q":2},5,{"p":3}]}`},
	} {
		raw, err := c.FindOne(ctx, d(), options.FindOne().SetProjection(test.projection)).Raw()
		must(t, err)
		text, err := bson.MarshalExtJSON(raw, false, false)
		must(t, err)
		if string(text) != test.want {
			t.Errorf("%v gives %s, want %s", test.projection, text, test.want)
		}
	}
	_, err = c.Find(ctx, d(), options.Find().SetProjection(d("a", 1, "o", 0)))
	wantCode(t, err, 2)
}

func TestDuplicateKeysAndUnorderedFailures(t *testing.T) {
	_, database := start(t)
	ctx, runs := t.Context(), database.Collection("runs")
	_, err := runs.InsertOne(ctx, d("_id", "b"))
	must(t, err)
	models := []mongo.WriteModel{
		mongo.NewInsertOneModel().SetDocument(d("_id", "a")),
		mongo.NewInsertOneModel().SetDocument(d("_id", "b")),
		mongo.NewInsertOneModel().SetDocument(d("_id", "c")),
		mongo.NewUpdateOneModel().SetFilter(d("_id", "c")).SetUpdate(d("$inc", d("n", 1))),
		mongo.NewUpdateOneModel().SetFilter(d("_id", "c")).SetUpdate(d("$set", d("_id", "d"))),
		mongo.NewDeleteOneModel().SetFilter(d("_id", "b")),
	}
	result, err := runs.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	var failure mongo.BulkWriteException
	if !errors.As(err, &failure) || len(failure.WriteErrors) != 2 {
		t.Fatalf("bulk: %v", err)
	}
	if first := failure.WriteErrors[0]; first.Index != 1 || first.Code != 11000 || !strings.Contains(first.Message, "tidewheel.runs index: _id_") {
		t.Errorf("first error %+v", first)
	}
	if second := failure.WriteErrors[1]; second.Index != 4 || second.Code != 66 {
		t.Errorf("second error %+v", second)
	}
	if result.InsertedCount != 2 || result.ModifiedCount != 1 || result.DeletedCount != 1 {
		t.Errorf("result %+v", result)
	}
	wantIDs(t, runs, d(), "a", "c")
	_, err = runs.InsertMany(ctx, []any{d("_id", "x"), d("_id", "a"), d("_id", "y")})
	if !mongo.IsDuplicateKeyError(err) {
		t.Errorf("ordered insert: %v", err)
	}
	wantIDs(t, runs, d(), "a", "c", "x")
}

func TestFindAndModify(t *testing.T) {
	_, database := start(t)
	ctx, c := t.Context(), database.Collection("c")
	for i := range 5 {
		_, err := c.InsertOne(ctx, d("_id", i, "state", "new", "rank", 10-i))
		must(t, err)
	}
	var taken struct {
		ID    int `bson:"_id"`
		State string
		Rank  int // projected away
	}
	document := bson.M{}
	after := options.FindOneAndUpdate().SetReturnDocument(options.After).SetSort(d("rank", 1)).SetProjection(d("state", 1))
	must(t, c.FindOneAndUpdate(ctx, d("state", "new"), d("$set", d("state", "taken")), after).Decode(&taken))
	if fmt.Sprint(taken) != "{4 taken 0}" {
		t.Errorf("after: %v", taken)
	}
	must(t, c.FindOneAndReplace(ctx, d("_id", 1), d("state", "other")).Decode(&document))
	if document["state"] != "new" || one(t, c, 1)["state"] != "other" {
		t.Errorf("before: %v", document)
	}
	must(t, c.FindOneAndDelete(ctx, d("_id", 1)).Err())
	err := c.FindOneAndUpdate(ctx, d("_id", 1), d("$set", d("state", "x"))).Err()
	if !errors.Is(err, mongo.ErrNoDocuments) {
		t.Errorf("missing: %v", err)
	}
	document = bson.M{}
	must(t, c.FindOneAndUpdate(ctx, d("_id", 9), d("$inc", d("n", 1)), after.SetUpsert(true).SetProjection(d())).Decode(&document))
	if document["n"] != int32(1) {
		t.Errorf("upserted: %v", document)
	}
}

func TestAggregateAndDistinct(t *testing.T) {
	_, database := start(t)
	ctx, c := t.Context(), database.Collection("c")
	for i := range 10 {
		_, err := c.InsertOne(ctx, d("_id", i, "job", fmt.Sprint("j", i%3), "took", i))
		must(t, err)
	}
	cursor, err := c.Aggregate(ctx, mongo.Pipeline{
		d("$match", d("took", d("$gt", 0))),
		d("$group", d("_id", "$job", "n", d("$sum", 1), "took", d("$sum", "$took"), "max", d("$max", "$took"))),
		d("$sort", d("_id", 1)),
		d("$project", d("max", 0)),
		d("$limit", 2),
	})
	must(t, err)
	var groups []struct {
		ID           string `bson:"_id"`
		N, Took, Max int
	}
	must(t, cursor.All(ctx, &groups))
	if fmt.Sprint(groups) != "[{j0 3 18 0} {j1 3 12 0}]" {
		t.Errorf("groups %v", groups)
	}
	var names []string
	must(t, c.Distinct(ctx, "job", d("took", d("$lt", 2))).Decode(&names))
	if fmt.Sprint(names) != "[j0 j1]" {
		t.Errorf("distinct %v", names)
	}
	_, err = c.Aggregate(ctx, mongo.Pipeline{d("$lookup", d("from", "x"))})
	wantCode(t, err, 115)
}

func TestCommandsThatAreRefused(t *testing.T) {
	_, database := start(t)
	ctx, c := t.Context(), database.Collection("c")
	wantCode(t, database.RunCommand(ctx, d("frobnicate", 1)).Err(), 59)
	_, err := c.Find(ctx, d(), options.Find().SetCollation(&options.Collation{Locale: "de"}))
	wantCode(t, err, 115)
	_, err = c.Watch(ctx, mongo.Pipeline{})
	wantCode(t, err, 115)
	session, err := database.Client().StartSession()
	must(t, err)
	defer session.EndSession(ctx)
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) { return c.InsertOne(ctx, d("_id", 1)) })
	wantCode(t, err, 115)
	_, err = c.InsertOne(ctx, d("_id", bson.MinKey{}))
	wantCode(t, err, 2)
	wantIDs(t, c, d())
}
