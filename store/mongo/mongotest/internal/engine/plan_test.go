package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/256dpi/lungo/bsonkit"
	"github.com/256dpi/lungo/mongokit"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

// generator makes small random documents, queries and changes over few fields and values, so that they meet often.
type generator struct{ *rand.Rand }

func (g generator) scalar() any {
	switch g.IntN(9) {
	case 0:
		return nil
	case 1:
		return float64(g.IntN(5))
	case 2:
		return int64(g.IntN(5))
	case 3, 4:
		return string(rune('a' + g.IntN(4)))
	case 5:
		return primitive.DateTime(g.IntN(4))
	case 6:
		return g.IntN(2) == 0
	default:
		return int32(g.IntN(5))
	}
}

func (g generator) value(arrays bool) any {
	if arrays && g.IntN(6) == 0 {
		array := bson.A{}
		for range g.IntN(3) {
			array = append(array, g.scalar())
		}
		return array
	}
	return g.scalar()
}

func (g generator) path() string { return []string{"a", "b", "c", "o.k"}[g.IntN(4)] }

func (g generator) document(id int, arrays bool) bson.D {
	document := bson.D{{Key: "_id", Value: int32(id)}}
	for _, field := range []string{"a", "b", "c"} {
		if g.IntN(5) > 0 {
			// Arrays stand in one field only: two would be parallel in a compound index.
			document = append(document, bson.E{Key: field, Value: g.value(arrays && field == "a")})
		}
	}
	if g.IntN(2) == 0 {
		document = append(document, bson.E{Key: "o", Value: bson.D{{Key: "k", Value: g.scalar()}}})
	}
	return document
}

func (g generator) condition(arrays bool) any {
	expression := bson.D{}
	for range 1 + g.IntN(2) {
		switch operator := []string{"$eq", "$gt", "$gte", "$lt", "$lte", "$ne", "$in", "$exists"}[g.IntN(8)]; operator {
		case "$in":
			array := bson.A{}
			for range g.IntN(4) {
				array = append(array, g.value(arrays))
			}
			expression = append(expression, bson.E{Key: operator, Value: array})
		case "$exists":
			expression = append(expression, bson.E{Key: operator, Value: g.IntN(2) == 0})
		default:
			expression = append(expression, bson.E{Key: operator, Value: g.value(arrays)})
		}
	}
	if g.IntN(3) == 0 {
		return g.value(arrays)
	}
	return expression
}

func (g generator) query(depth int, arrays bool) bson.D {
	query := bson.D{}
	for range g.IntN(3) {
		query = append(query, bson.E{Key: g.path(), Value: g.condition(arrays)})
	}
	if depth > 0 && g.IntN(2) == 0 {
		branches := bson.A{}
		for range 1 + g.IntN(3) {
			branches = append(branches, g.query(depth-1, arrays))
		}
		query = append(query, bson.E{Key: []string{"$or", "$and", "$nor"}[g.IntN(3)], Value: branches})
	}
	if g.IntN(6) == 0 {
		query = append(query, bson.E{Key: "_id", Value: bson.D{{Key: "$gt", Value: int32(g.IntN(30))}}})
	}
	return query
}

func (g generator) order() bson.D {
	var sort bson.D
	for _, path := range []string{"a", "b", "c", "_id"} {
		if g.IntN(3) == 0 {
			sort = append(sort, bson.E{Key: path, Value: int32(1 - 2*g.IntN(2))})
		}
	}
	g.Shuffle(len(sort), func(i, j int) { sort[i], sort[j] = sort[j], sort[i] })
	return sort
}

func (g generator) index(n int) IndexSpec {
	spec := IndexSpec{Name: fmt.Sprint("i", n)}
	paths := []string{"a", "b", "c", "o.k", "_id"}
	g.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	for _, path := range paths[:1+g.IntN(3)] {
		spec.Key = append(spec.Key, bson.E{Key: path, Value: int32(1 - 2*g.IntN(2))})
	}
	spec.Unique = g.IntN(4) == 0
	if g.IntN(3) == 0 {
		spec.Partial = bson.D{{Key: "b", Value: bson.D{{Key: "$exists", Value: true}}}}
	}
	return spec
}

// Whatever the indexes, a query finds what looking at every document finds, in the asked order; and every index holds
// exactly the keys of the documents, whether changes were made or refused.
func TestIndexesNeverChangeAnAnswer(t *testing.T) {
	for seed := range uint64(100) {
		g := generator{rand.New(rand.NewPCG(seed, 1))}
		arrays := seed%2 == 0
		c := NewCollection("test.c")
		for n := range 3 {
			if _, err := c.CreateIndex(g.index(n)); err != nil && err.Code != IndexOptionsConflict {
				t.Fatalf("seed %d: %s", seed, err)
			}
		}
		for step := range 120 {
			g.change(t, c, step, arrays)
		}
		checkIndexes(t, seed, c)
		for range 60 {
			query, sort := g.query(2, arrays), g.order()
			skip, limit := g.IntN(4), g.IntN(8)
			compare(t, seed, c, query, sort, skip, limit)
		}
		if t.Failed() {
			return
		}
	}
}

// change makes a random change, which a unique index may refuse.
func (g generator) change(t *testing.T, c *Collection, step int, arrays bool) {
	t.Helper()
	filter := func() *Filter {
		filter, err := NewFilter(bson.D{{Key: "_id", Value: int32(g.IntN(step + 1))}})
		if err != nil {
			t.Fatal(err)
		}
		return filter
	}
	var failure *Error
	switch g.IntN(4) {
	case 0, 1:
		failure = c.Insert(g.document(step, arrays))
	case 2:
		field := []string{"a", "b", "c"}[g.IntN(3)]
		change, err := NewChange(bson.D{{Key: "$set", Value: bson.D{{Key: field, Value: g.value(arrays && field == "a")}}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, failure = c.Update(filter(), change, UpdateOptions{})
	case 3:
		_, failure = c.Delete(filter(), nil, 1)
	}
	if failure != nil && failure.Code != DuplicateKey {
		t.Fatal(failure)
	}
}

func checkIndexes(t *testing.T, seed uint64, c *Collection) {
	t.Helper()
	for _, ix := range c.indexes {
		want, held := map[string]int{}, map[string]int{}
		claimed := map[bsonkit.Doc]bool{}
		c.records.Scan(func(_ uint64, record *record) bool {
			keys, err := ix.keys(record.document)
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range keys {
				want[fmt.Sprint(key, record.sequence)] = 1 // equal elements of an array make one entry
				claimed[&record.document] = true
			}
			return true
		})
		ix.tree.Scan(func(at entry) bool {
			held[fmt.Sprint(at.keys, at.record.sequence)]++
			return true
		})
		if len(want) != len(held) {
			t.Errorf("seed %d: index %s holds %d entries, want %d", seed, ix.spec.Name, len(held), len(want))
		}
		if ix.rule != nil {
			listed := ix.rule.List()
			if len(listed) != len(claimed) {
				t.Errorf("seed %d: unique index %s holds %d documents, want %d", seed, ix.spec.Name, len(listed), len(claimed))
			}
			for _, document := range listed {
				if !claimed[document] {
					t.Errorf("seed %d: unique index %s holds %v", seed, ix.spec.Name, *document)
				}
			}
		}
	}
}

func compare(t *testing.T, seed uint64, c *Collection, query, sort bson.D, skip, limit int) {
	t.Helper()
	filter, failure := NewFilter(query)
	if failure != nil {
		t.Fatal(failure)
	}
	columns, err := mongokit.Columns(&sort)
	if err != nil {
		t.Fatal(err)
	}
	var all bsonkit.List
	c.records.Scan(func(_ uint64, record *record) bool {
		if matched, err := filter.Match(&record.document); err != nil {
			t.Fatal(err)
		} else if matched {
			all = append(all, &record.document)
		}
		return true
	})
	whole, explanation, failure := c.Find(filter, sort, 0, 0)
	if failure != nil {
		t.Fatal(failure)
	}
	if !slices.Equal(idsOf(whole), idsOf(values(all))) {
		t.Errorf("seed %d: query %v by index %q found %v, want %v", seed, query, explanation.Index, idsOf(whole), idsOf(values(all)))
	}
	for i := 1; i < len(whole); i++ {
		if bsonkit.Order(&whole[i-1], &whole[i], columns, false) > 0 {
			t.Errorf("seed %d: query %v sort %v by index %q: %v comes before %v", seed, query, sort, explanation.Index, whole[i-1], whole[i])
		}
	}
	part, _, failure := c.Find(filter, sort, skip, limit)
	if failure != nil {
		t.Fatal(failure)
	}
	want := whole[min(skip, len(whole)):]
	if limit > 0 {
		want = want[:min(limit, len(want))]
	}
	if fmt.Sprint(part) != fmt.Sprint(want) {
		t.Errorf("seed %d: query %v sort %v skip %d limit %d found %v, want %v", seed, query, sort, skip, limit, part, want)
	}
}

func values(list bsonkit.List) []bson.D {
	documents := make([]bson.D, len(list))
	for i := range list {
		documents[i] = *list[i]
	}
	return documents
}

func idsOf(documents []bson.D) []int32 {
	found := make([]int32, len(documents))
	for i, document := range documents {
		id, _ := Field(document, "_id")
		found[i] = id.(int32)
	}
	slices.Sort(found)
	return found
}

// What the product asks most must not look at every document.
func TestPlansAvoidScans(t *testing.T) {
	c := NewCollection("test.c")
	for _, spec := range []IndexSpec{
		{Name: "due", Key: bson.D{{Key: "shard", Value: int32(1)}, {Key: "run_at", Value: int32(1)}}},
		{Name: "history", Key: bson.D{{Key: "job", Value: int32(1)}, {Key: "at", Value: int32(-1)}, {Key: "_id", Value: int32(-1)}}},
	} {
		if _, err := c.CreateIndex(spec); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1000 {
		document := bson.D{
			{Key: "_id", Value: int32(i)}, {Key: "shard", Value: int32(i % 64)}, {Key: "run_at", Value: primitive.DateTime(i)},
			{Key: "job", Value: fmt.Sprint("j", i%10)}, {Key: "at", Value: primitive.DateTime(i / 20)},
		}
		if err := c.Insert(document); err != nil {
			t.Fatal(err)
		}
	}
	field := func(name string, value any) bson.D { return bson.D{{Key: name, Value: value}} }
	both := func(left, right bson.D) bson.D { return append(slices.Clone(left), right...) }
	newest := bson.D{{Key: "at", Value: int32(-1)}, {Key: "_id", Value: int32(-1)}}
	for _, test := range []struct {
		name        string
		query, sort bson.D
		limit       int
		index       string
		examined    int
	}{
		{"by _id", field("_id", int32(7)), nil, 0, "_id_", 1},
		{"by _id under a condition", both(field("_id", int32(7)), field("job", "j7")), nil, 0, "_id_", 1},
		{"by several _id", field("_id", field("$in", bson.A{int32(1), int32(5), int32(9999)})), nil, 0, "_id_", 2},
		{"page by _id", field("_id", field("$gt", int32(500))), field("_id", int32(1)), 10, "_id_", 11},
		{"due", both(field("shard", int32(3)), field("run_at", field("$lte", primitive.DateTime(200)))), field("run_at", int32(1)), 0, "due", 4},
		{"between", field("_id", bson.D{{Key: "$lt", Value: int32(20)}, {Key: "$gte", Value: int32(10)}}), nil, 0, "_id_", 11},
		{"due in many shards", both(field("shard", field("$in", bson.A{int32(1), int32(2)})), field("run_at", field("$lte", primitive.DateTime(200)))), field("run_at", int32(1)), 0, "due", 32},
		{"newest of a job", field("job", "j3"), newest, 5, "history", 5},
		{"next page of a job", both(field("job", "j3"), bson.D{{Key: "$or", Value: bson.A{
			field("at", field("$lt", primitive.DateTime(30))),
			both(field("at", primitive.DateTime(30)), field("_id", field("$lt", int32(603)))),
		}}}), newest, 5, "history", 7},
	} {
		filter, err := NewFilter(test.query)
		if err != nil {
			t.Fatal(err)
		}
		found, explanation, err := c.Find(filter, test.sort, 0, test.limit)
		if err != nil {
			t.Fatal(err)
		}
		if explanation.Index != test.index || explanation.Examined > test.examined || len(found) == 0 {
			t.Errorf("%s: %+v, want index %s and at most %d examined", test.name, explanation, test.index, test.examined)
		}
	}
}

// A document with an array may meet each condition by another element, so a range that looks like one value is none.
func TestArraysMeetConditionsByDifferentElements(t *testing.T) {
	documents := []bson.D{
		{{Key: "_id", Value: int32(1)}, {Key: "tags", Value: bson.A{"a", "c"}}, {Key: "list", Value: bson.A{bson.D{{Key: "p", Value: int32(1)}}, bson.D{}}}},
		{{Key: "_id", Value: int32(2)}, {Key: "tags", Value: "b"}, {Key: "list", Value: bson.A{bson.D{}}}},
		{{Key: "_id", Value: int32(3)}, {Key: "tags", Value: bson.A{}}, {Key: "list", Value: bson.A{}}},
	}
	queries := []bson.D{
		{{Key: "tags", Value: bson.D{{Key: "$gte", Value: "b"}, {Key: "$lte", Value: "b"}}}},
		{{Key: "tags", Value: bson.D{{Key: "$in", Value: bson.A{"a", "b"}}, {Key: "$gte", Value: "b"}}}},
		{{Key: "$and", Value: bson.A{bson.D{{Key: "tags", Value: "a"}}, bson.D{{Key: "tags", Value: "c"}}}}},
		{{Key: "tags", Value: nil}},
		{{Key: "tags", Value: bson.A{}}},
		{{Key: "tags", Value: bson.A{"a", "c"}}},
		{{Key: "list.p", Value: nil}},
		{{Key: "list.p", Value: int32(1)}},
	}
	plain, indexed := NewCollection("test.plain"), NewCollection("test.indexed")
	for _, path := range []string{"tags", "list.p"} {
		if _, err := indexed.CreateIndex(IndexSpec{Name: path, Key: bson.D{{Key: path, Value: int32(1)}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, document := range documents {
		if err := errors.Join(asError(plain.Insert(document)), asError(indexed.Insert(document))); err != nil {
			t.Fatal(err)
		}
	}
	for _, query := range queries {
		filter, err := NewFilter(query)
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := plain.Find(filter, nil, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		found, explanation, err := indexed.Find(filter, nil, 0, 0)
		if err != nil || !slices.Equal(idsOf(found), idsOf(want)) {
			t.Errorf("%v by index %q found %v, want %v (%v)", query, explanation.Index, idsOf(found), idsOf(want), err)
		}
	}
}

func asError(failure *Error) error {
	if failure == nil {
		return nil
	}
	return failure
}

// A change that one of several unique indexes refuses leaves the others as they were.
func TestARefusedChangeIsUndoneInAllIndexes(t *testing.T) {
	c := NewCollection("test.c")
	document := func(id, a, b int32) bson.D {
		return bson.D{{Key: "_id", Value: id}, {Key: "a", Value: a}, {Key: "b", Value: b}}
	}
	for _, path := range []string{"a", "b"} {
		if _, err := c.CreateIndex(IndexSpec{Name: path, Key: bson.D{{Key: path, Value: int32(1)}}, Unique: true}); err != nil {
			t.Fatal(err)
		}
	}
	for id := range int32(2) {
		if err := c.Insert(document(id, id, id)); err != nil {
			t.Fatal(err)
		}
	}
	filter, _ := NewFilter(bson.D{{Key: "_id", Value: int32(1)}})
	change, err := NewChange(bson.D{{Key: "a", Value: int32(7)}, {Key: "b", Value: int32(0)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Update(filter, change, UpdateOptions{}); err == nil || err.Code != DuplicateKey {
		t.Fatalf("an update to a taken value: %v", err)
	}
	checkIndexes(t, 0, c)
	if err := c.Insert(document(2, 1, 2)); err == nil {
		t.Error("the value that the refused update would have left was free")
	}
	if err := c.Insert(document(3, 7, 3)); err != nil {
		t.Errorf("the value that the refused update wanted was taken: %s", err)
	}
}
