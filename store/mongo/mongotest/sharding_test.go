package mongotest_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/store/mongo/mongotest/internal/shapes"
)

// shardKeys are the keys that docs/scale.md names.
func shardKeys(t *testing.T) map[string][]shapes.Key {
	t.Helper()
	page := scalePage(t)
	keys := map[string][]shapes.Key{}
	key := func(text string) (fields []shapes.Key) {
		for field := range strings.SplitSeq(text, ",") {
			name, _, _ := strings.Cut(strings.TrimSpace(field), ":")
			fields = append(fields, shapes.Key{Field: name})
		}
		return fields
	}
	several := regexp.MustCompile("for \\(const name of \\[([^\\]]+)\\]\\) \\{\\s+sh\\.shardCollection\\(`tidewheel\\.\\$\\{name\\}`, \\{ ([^}]+) \\}\\)")
	for _, named := range several.FindAllStringSubmatch(page, -1) {
		for name := range strings.SplitSeq(named[1], ",") {
			keys[strings.Trim(strings.TrimSpace(name), `"`)] = key(named[2])
		}
	}
	for _, named := range regexp.MustCompile(`sh\.shardCollection\("tidewheel\.(\w+)", \{ ([^}]+) \}\)`).FindAllStringSubmatch(page, -1) {
		keys[named[1]] = key(named[2])
	}
	if len(keys) != 7 || keys["runs"][0].Field != "shard" || keys["effects"][0].Field != "_id" {
		t.Fatalf("docs/scale.md does not say how collections are sharded: %v", keys)
	}
	return keys
}

// everywhere are the queries that a router sends to every shard. No engine waits for any of them, but for what is due where
// it is alone.
var everywhere = []struct {
	why  string
	does func(shape *shapes.Shape) bool
}{
	{"pages of history and of what comes next, of all jobs: each shard gives its first few, and the router merges them", func(shape *shapes.Shape) bool {
		return shape.Limited && len(shape.Sort) > 0 && shape.Sort[0].Field != "_id" && asks("namespace")(shape)
	}},
	{"the page of a job's ledger", func(shape *shapes.Shape) bool {
		return shape.Collection == "slots" && shape.Limited && asks("job_uid")(shape)
	}},
	{"counts for the overview, each with a limit", func(shape *shapes.Shape) bool { return shape.Operation == "count" }},
	{"what is due, where one engine owns all shards", asks("run_at")},
	{"what retention looks for of waves and effects; what it finds it removes by _id", func(shape *shapes.Shape) bool {
		return shape.Operation == "find" && len(shape.Sort) > 0 && slices.Contains([]string{"finished_at", "created_at", "to", "at"}, shape.Sort[0].Field) &&
			slices.Contains([]string{"waves", "effects", "slots", "dead_letters"}, shape.Collection)
	}},
	{"what retention removes of slots and dead letters, thousands at a time", func(shape *shapes.Shape) bool {
		return shape.Operation == "delete" && slices.Contains([]string{"slots", "dead_letters"}, shape.Collection)
	}},
	{"a backup reads all documents by their ids", func(shape *shapes.Shape) bool {
		return shape.Operation == "find" && shape.Limited && len(shape.Conditions) == 1 && shape.Conditions[0] == shapes.Condition{Field: "_id", Kind: shapes.Range}
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

// unique wants no sharded collection to have a unique index beside its shard key, which MongoDB refuses, but for that of _id.
func unique(t *testing.T, keys map[string][]shapes.Key, indexes []shapes.Index) {
	t.Helper()
	for i := range indexes {
		index := &indexes[i]
		if key := keys[index.Collection]; len(key) > 0 && index.Unique && index.Name != "_id_" && index.Keys[0] != key[0] {
			t.Errorf("%s is sharded by %s and has the unique index %s", index.Collection, key[0].String(), index.Name)
		}
	}
}
