package shapes

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func command(t *testing.T, text string) bson.Raw {
	t.Helper()
	var document bson.D
	if err := bson.UnmarshalExtJSON([]byte(text), false, &document); err != nil {
		t.Fatal(err)
	}
	raw, err := bson.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func indexes(t *testing.T, texts ...string) (all []Index) {
	t.Helper()
	for _, one := range texts {
		index, err := IndexOf("runs", command(t, one))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, index)
	}
	return all
}

// The rules of MongoDB's manual, one by one.
func TestJudge(t *testing.T) {
	all := indexes(t,
		`{"name": "_id_", "key": {"_id": 1}}`,
		`{"name": "history", "key": {"namespace": 1, "at": -1, "_id": -1}}`,
		`{"name": "by_status", "key": {"namespace": 1, "status": 1, "at": -1}, "partialFilterExpression": {"active": false}}`,
		`{"name": "of_dag", "key": {"dag": 1}, "partialFilterExpression": {"dag": {"$exists": true}}}`,
		`{"name": "uid", "key": {"uid": 1}, "unique": true}`,
		`{"name": "pair", "key": {"a": 1, "b": -1}}`,
	)
	for _, test := range []struct{ name, command, want string }{
		{"one document by its _id, whatever else it must be", `{"find": "runs", "filter": {"_id": "a", "other": 1}}`, "served by _id_"},
		{"some by a unique key", `{"find": "runs", "filter": {"uid": {"$in": ["a", "b"]}, "other": 1}}`, "served by uid"},
		{"equality, then the order", `{"find": "runs", "filter": {"namespace": "n"}, "sort": {"at": -1, "_id": -1}, "limit": 1}`, "served by history"},
		{"the order backwards", `{"find": "runs", "filter": {"namespace": "n"}, "sort": {"at": 1, "_id": 1}}`, "served by history"},
		{"an order in two directions", `{"find": "runs", "filter": {"namespace": "n"}, "sort": {"at": 1, "_id": -1}}`, "what history finds is sorted"},
		{"equality, a range, and its order", `{"find": "runs", "filter": {"namespace": "n", "at": {"$lt": 1}}, "sort": {"at": -1}}`, "served by history"},
		{"a range before the order", `{"find": "runs", "filter": {"namespace": {"$gt": "n"}}, "sort": {"at": -1}}`, "what history finds is sorted"},
		{"the order goes on behind the index", `{"find": "runs", "filter": {"a": 1}, "sort": {"b": 1, "c": 1}}`, "what pair finds is sorted"},
		{"the walks of some values are merged", `{"find": "runs", "filter": {"namespace": "n", "active": false, "status": {"$in": ["a", "b"]}}, "sort": {"at": -1}}`, "served by by_status"},
		{"a partial index that does not hold all", `{"find": "runs", "filter": {"namespace": "n", "status": "a", "active": true}, "sort": {"at": -1}}`, "history finds documents that are left out for their [active status]"},
		{"a field that has a value exists", `{"find": "runs", "filter": {"dag": "d"}}`, "served by of_dag"},
		{"what no key holds", `{"find": "runs", "filter": {"namespace": "n", "tier": "light"}}`, "history finds documents that are left out for their [tier]"},
		{"a key behind one that nothing bounds", `{"find": "runs", "filter": {"status": "a"}}`, "the whole collection is looked through"},
		{"all but one value", `{"find": "runs", "filter": {"namespace": "n", "at": {"$ne": 1}}}`, "served by history"},
		{"all but one value of the first key", `{"find": "runs", "filter": {"namespace": {"$ne": "n"}}}`, "the whole collection is looked through"},
		{"everything", `{"find": "runs", "filter": {}}`, "the whole collection is looked through"},
		{"the first of an order", `{"find": "runs", "filter": {}, "sort": {"a": 1}, "limit": 1}`, "served by pair"},
		{"an alternative of two ranges", `{"find": "runs", "filter": {"$or": [{"_id": {"$gt": "a", "$lt": "b"}}, {"_id": {"$gt": "c", "$lt": "d"}}]}}`, "served by _id_"},
		{"an alternative without an index", `{"find": "runs", "filter": {"$or": [{"_id": "a"}, {"tier": "light"}]}}`, "the whole collection is looked through"},
		{"a write", `{"update": "runs", "updates": [{"q": {"_id": "a", "revision": 1}, "u": {}}]}`, "served by _id_"},
		{"a deletion", `{"delete": "runs", "deletes": [{"q": {"tier": "light"}, "limit": 0}]}`, "the whole collection is looked through"},
		{"a count", `{"aggregate": "runs", "pipeline": [{"$match": {"namespace": "n"}}, {"$limit": 10}, {"$group": {"_id": 1}}]}`, "served by history"},
	} {
		t.Run(test.name, func(t *testing.T) {
			found, err := Of(command(t, test.command))
			if err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			if verdict := found[0].Judge(all); verdict.String() != test.want {
				t.Errorf("%s: %s; want: %s", found[0].String(), verdict.String(), test.want)
			}
		})
	}
}

func TestWhatNoIndexServesIsRefused(t *testing.T) {
	for _, text := range []string{
		`{"find": "runs", "filter": {}, "skip": 100}`,
		`{"aggregate": "runs", "pipeline": [{"$match": {"a": 1}}, {"$group": {"_id": 1}}]}`,
		`{"aggregate": "runs", "pipeline": [{"$lookup": {}}]}`,
		`{"find": "runs", "filter": {"a": {"$regex": "x"}}}`,
		`{"count": "runs"}`,
	} {
		if found, err := Of(command(t, text)); err == nil {
			t.Errorf("%s: %v", text, found)
		}
	}
}

func TestTargets(t *testing.T) {
	key := []Key{{Field: "_id"}}
	for text, want := range map[string]bool{
		`{"find": "runs", "filter": {"_id": "a"}}`:                               true,
		`{"find": "runs", "filter": {"_id": {"$gt": "a"}}}`:                      true,
		`{"find": "runs", "filter": {"uid": "a"}}`:                               false,
		`{"find": "runs", "filter": {"$or": [{"_id": "a"}, {"_id": "b"}]}}`:      true,
		`{"find": "runs", "filter": {"$or": [{"_id": "a"}, {"tier": "light"}]}}`: false,
	} {
		found, err := Of(command(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if got := found[0].Targets(key); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
