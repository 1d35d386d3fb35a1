package mongotest_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/store/mongo/mongotest/internal/shapes"
)

// shardKeys are the keys that docs/scale.md tells.
func shardKeys(t *testing.T) map[string][]shapes.Key {
	t.Helper()
	page := scalePage(t)
	keys := map[string][]shapes.Key{}
	for _, named := range regexp.MustCompile(`for \(const name of \[([^\]]+)\]\)`).FindAllStringSubmatch(page, -1) {
		for name := range strings.SplitSeq(named[1], ",") {
			keys[strings.Trim(strings.TrimSpace(name), `"`)] = []shapes.Key{{Field: "_id"}}
		}
	}
	for _, named := range regexp.MustCompile(`sh\.shardCollection\("tidewheel\.(\w+)", \{ _id: 1 \}\)`).FindAllStringSubmatch(page, -1) {
		keys[named[1]] = []shapes.Key{{Field: "_id"}}
	}
	if !strings.Contains(page, "sh.shardCollection(`tidewheel.${name}`, { _id: 1 })") || len(keys) < 5 {
		t.Fatalf("docs/scale.md does not say how collections are sharded: %v", keys)
	}
	return keys
}

// everywhere are the queries that a router sends to every shard, and who waits for them.
var everywhere = []struct {
	why  string
	does func(shape *shapes.Shape) bool
}{
	{"pages of history and of what comes next: each shard gives its first few, and the router merges them", func(shape *shapes.Shape) bool {
		return shape.Limited && len(shape.Sort) > 0 && shape.Sort[0].Field != "_id" && slices.Contains([]string{"runs", "waves", "slots", "dead_letters", "scheduled_tasks"}, shape.Collection)
	}},
	{"counts for the overview, each with a limit", func(shape *shapes.Shape) bool { return shape.Operation == "count" }},
	{"what an engine takes up with its shards, and looks at again each minute", asks("active", "shard")},
	{"open waves of the shards that an engine takes up", asks("open", "shard")},
	{"what an engine loads with jobs and DAGs that are due, many at a time", func(shape *shapes.Shape) bool {
		return asks("active", "job_uid")(shape) || asks("open", "dag_uid")(shape)
	}},
	{"what is due, every twenty seconds", func(shape *shapes.Shape) bool {
		return shape.Collection == "scheduled_tasks" && slices.ContainsFunc(shape.Sort, func(k shapes.Key) bool { return k.Field == "run_at" })
	}},
	{"what retention looks for; what it finds it removes by _id", func(shape *shapes.Shape) bool {
		return shape.Operation == "find" && len(shape.Sort) > 0 && slices.Contains([]string{"ended_at", "finished_at", "created_at", "to"}, shape.Sort[0].Field)
	}},
	{"a collection is emptied by a restore", func(shape *shapes.Shape) bool { return shape.Operation == "delete" && len(shape.Conditions) == 0 }},
}

func asks(fields ...string) func(*shapes.Shape) bool {
	return func(shape *shapes.Shape) bool {
		for _, field := range fields {
			if !slices.ContainsFunc(shape.Conditions, func(c shapes.Condition) bool { return c.Field == field }) {
				return false
			}
		}
		return shape.Operation == "find"
	}
}

// aimed wants every write to name the documents by the shard key, so that a router sends it to their shards alone, and
// every read that does not to be one that nothing waits for all the time.
func (s *sent) aimed(t *testing.T, keys map[string][]shapes.Key) {
	t.Helper()
	used := map[int]bool{}
	for _, shape := range s.sorted() {
		if shape.Targets(keys[shape.Collection]) {
			continue
		}
		at := slices.IndexFunc(everywhere, func(e struct {
			why  string
			does func(shape *shapes.Shape) bool
		}) bool {
			return e.does(&shape)
		})
		if used[at] = true; at < 0 {
			t.Errorf("%s goes to every shard", shape.String())
		}
	}
	for i := range everywhere {
		if !used[i] {
			t.Errorf("nothing goes to every shard for %s", everywhere[i].why)
		}
	}
}

// unique wants no sharded collection to have a unique index beside its shard key, which MongoDB refuses.
func unique(t *testing.T, keys map[string][]shapes.Key, indexes []shapes.Index) {
	t.Helper()
	for i := range indexes {
		index := &indexes[i]
		if key := keys[index.Collection]; len(key) > 0 && index.Unique && index.Keys[0] != key[0] {
			t.Errorf("%s is sharded by %s and has the unique index %s", index.Collection, key[0].String(), index.Name)
		}
	}
}
