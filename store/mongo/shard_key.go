package mongo

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/tidewheel/tidewheel/engine"
)

// On a sharded cluster runs, waves and scheduled tasks are sharded by {shard, _id}: what an engine reads and writes of its shards
// is where these are, and no router asks all. The shard follows from the uid that each _id begins with, so that documents of one
// _id are always on one shard of MongoDB, which keeps _id unique there. All other collections are sharded by _id or not at
// all; see docs/scale.md.

// byShard reports whether a collection is sharded by {shard, _id}.
func byShard(collection *mongo.Collection) bool {
	return slices.Contains([]string{"runs", "waves", "scheduled_tasks"}, collection.Name())
}

// shardOf is the shard of a run, a wave or a scheduled task.
func shardOf(id string) int {
	uid, _, _ := strings.Cut(id, "-")
	return engine.ShardOf(uid)
}

// inShardsOf is the condition that documents are in the shards of these ids, or of the jobs or DAGs with these uids.
func inShardsOf(ids []string) bson.D {
	shards := make([]int, len(ids))
	for i, id := range ids {
		shards[i] = shardOf(id)
	}
	slices.Sort(shards)
	return among("shard", slices.Compact(shards))
}

// keyOf is the condition that a document has this _id, with its shard where it is sharded by it.
func keyOf(in *mongo.Collection, id string) bson.D { return keysOf(in, []string{id}) }

// keysOf is the same for several.
func keysOf(in *mongo.Collection, ids []string) bson.D {
	if !byShard(in) {
		return byIDs(ids)
	}
	return append(byIDs(ids), inShardsOf(ids)...)
}
