package mongo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// index is one that Tidewheel needs. Each costs every insert a write, so each says what it is for.
type index struct {
	collection string
	name       string
	keys       bson.D
	unique     bool
	partial    bson.D        // only documents that match are in it
	expires    time.Duration // after the date in the one key, 0 for never
}

func ascending(fields ...string) (keys bson.D) {
	for _, field := range fields {
		keys = append(keys, bson.E{Key: field, Value: 1})
	}
	return keys
}

func descending(fields ...string) (keys bson.D) {
	for _, field := range fields {
		keys = append(keys, bson.E{Key: field, Value: -1})
	}
	return keys
}

func indexes() []index {
	active := bson.D{{Key: "active", Value: true}}
	ended := bson.D{{Key: "active", Value: false}}
	pending := bson.D{{Key: "pending", Value: true}}
	newest := descending("created_at", "_id")
	open, closed := bson.D{{Key: "open", Value: true}}, bson.D{{Key: "open", Value: false}}
	having := func(field string) bson.D {
		return bson.D{{Key: field, Value: bson.D{{Key: "$exists", Value: true}}}}
	}
	return []index{
		// An engine that takes over a shard reads the runs that have not ended, and pages show what runs and waits. These
		// are few however long the history, and so are these three indexes.
		{collection: "runs", name: "active_by_job", keys: ascending("job_uid"), partial: active},
		{collection: "runs", name: "active_by_shard", keys: ascending("shard", "_id"), partial: active},
		{collection: "runs", name: "active_newest", keys: append(ascending("namespace"), newest...), partial: active},
		// The failed among millions that succeeded. Only ended runs are in it: a run enters it once, not at each step.
		{collection: "runs", name: "history_by_status", keys: append(ascending("namespace", "status"), newest...), partial: ended},
		// Pages of history, newest first: of a job, of a job's name through all jobs that had it, all. Their keys never
		// change, so that only the insert of a run pays for them.
		{collection: "runs", name: "history_of_job", keys: append(ascending("job_uid"), newest...)},
		{collection: "runs", name: "history_of_name", keys: append(ascending("namespace", "job"), newest...)},
		{collection: "runs", name: "history", keys: append(ascending("namespace"), newest...)},
		// The same of a DAG's name, and of one task through the waves of a DAG. Runs of jobs are not in them. The runs of a
		// wave need no index: their ids stand together.
		{collection: "runs", name: "history_of_dag", keys: append(ascending("namespace", "dag"), newest...), partial: having("dag")},
		{collection: "runs", name: "history_of_task", keys: append(ascending("job_uid", "task"), newest...), partial: having("task")},
		// It holds only the runs that a user triggered, not those of a schedule.
		{collection: "runs", name: "history_by_user", keys: append(ascending("namespace", "by"), newest...), partial: having("by")},
		// Retention counts the oldest of a shard in it: only it holds when they ended.
		{collection: "runs", name: "ended_by_shard", keys: ascending("shard", "ended_at"), partial: having("ended_at")},

		// What is due in some shards, and in all of them: one engine alone asks for all, and 64 walks would be one.
		{collection: "scheduled_tasks", name: "due", keys: ascending("shard", "run_at")},
		{collection: "scheduled_tasks", name: "due_anywhere", keys: ascending("run_at")},
		// The pages of what comes next, in an order that is unique also at one instant.
		{collection: "scheduled_tasks", name: "upcoming_pages", keys: ascending("namespace", "run_at", "_id")},

		// The engine knows jobs by uid. Unique: two definitions never share runs.
		{collection: "jobs", name: "uid", keys: ascending("uid"), unique: true},
		// What users changed and the engine has not seen: nearly empty.
		{collection: "jobs", name: "pending", keys: ascending("shard"), partial: pending},
		// What other programs have edited: for each generation that Tidewheel knows of, the highest that there is.
		{collection: "jobs", name: "edited", keys: append(ascending("known"), descending("generation")...)},
		// Those with a retention of their own: few. Retention asks for them.
		{collection: "jobs", name: "retaining", keys: ascending("deleted", "_id"), partial: having("definition.retention")},
		{collection: "dags", name: "retaining", keys: ascending("deleted", "_id"), partial: having("definition.retention")},
		// What waits for the engine with its name taken: nearly empty, too.
		{collection: "tombstones", name: "by_shard", keys: ascending("shard")},
		// The earlier versions of a job.
		{collection: "generations", name: "of_job", keys: append(ascending("uid"), descending("generation")...)},

		// DAGs are kept as jobs are.
		{collection: "dags", name: "uid", keys: ascending("uid"), unique: true},
		{collection: "dags", name: "pending", keys: ascending("shard"), partial: pending},
		{collection: "dags", name: "edited", keys: append(ascending("known"), descending("generation")...)},
		{collection: "dag_tombstones", name: "by_shard", keys: ascending("shard")},
		{collection: "dag_generations", name: "of_dag", keys: append(ascending("uid"), descending("generation")...)},

		// An engine that takes over a shard reads the active and waiting waves; for one DAG, when it is loaded.
		{collection: "waves", name: "open_by_dag", keys: ascending("dag_uid"), partial: open},
		{collection: "waves", name: "open_by_shard", keys: ascending("shard", "_id"), partial: open},
		// The epoch of the next wave follows from the highest.
		{collection: "waves", name: "epochs", keys: append(ascending("dag_uid"), descending("epoch")...)},
		// Pages of history, newest first, of a DAG and of all.
		{collection: "waves", name: "history_of_dag", keys: append(ascending("dag_uid"), newest...)},
		{collection: "waves", name: "history", keys: append(ascending("namespace"), newest...)},
		// Those of some statuses among them.
		{collection: "waves", name: "history_of_dag_by_status", keys: append(ascending("dag_uid", "status"), newest...)},
		{collection: "waves", name: "history_by_status", keys: append(ascending("namespace", "status"), newest...)},
		{collection: "waves", name: "ended", keys: ascending("finished_at", "_id"), partial: closed}, // retention

		{collection: "commands", name: "by_shard", keys: ascending("shard", "at")},
		// The ledger of a job, newest first; to is in it so that a search by time need not read what does not touch it.
		{collection: "slots", name: "of_job", keys: append(ascending("job_uid"), descending("from", "to")...)},
		{collection: "slots", name: "ended", keys: ascending("to")}, // retention
		{collection: "dead_letters", name: "newest", keys: append(ascending("namespace"), descending("at", "_id")...)},
		{collection: "dead_letters", name: "oldest", keys: ascending("at")}, // retention
		// An engine that takes over a shard reads its incidents by their ids, as there are few; pages show those that have begun.
		{collection: "incidents", name: "newest", keys: append(ascending("namespace"), descending("began", "_id")...)},
		// The effects of a run stand together by their ids. Retention takes the oldest whose runs are gone.
		{collection: "effects", name: "oldest", keys: ascending("created_at", "_id")},

		{collection: "records", name: "expiring", keys: ascending("expires_at")}, // retention

		// What stands for documents that were dropped. No query uses these.
		{collection: "runs", name: "dropped", keys: ascending(droppedField), partial: having(droppedField), expires: droppedKept},
		{collection: "scheduled_tasks", name: "dropped", keys: ascending(droppedField), partial: having(droppedField), expires: droppedKept},
		{collection: "dead_letters", name: "dropped", keys: ascending(droppedField), partial: having(droppedField), expires: droppedKept},
		{collection: "incidents", name: "dropped", keys: ascending(droppedField), partial: having(droppedField), expires: droppedKept},
	}
}

// retired are indexes of earlier versions that nothing needs any more.
var retired = []index{{collection: "scheduled_tasks", name: "upcoming"}, {collection: "runs", name: "ended"}}

// dropRetired removes them, last of all: until then they serve nodes of the version before.
func (s *Store) dropRetired(ctx context.Context) error {
	for _, index := range retired {
		err := s.database.Collection(index.collection).Indexes().DropOne(ctx, index.name)
		if codes := mongo.ErrorCodes(err); err != nil && !slices.Contains(codes, codeIndexNotFound) && !slices.Contains(codes, codeNamespaceNotFound) {
			return s.failed("drop index "+index.name+" of "+index.collection, err)
		}
	}
	return nil
}

func (i index) model(partial bool) mongo.IndexModel {
	opts := options.Index().SetName(i.name)
	if i.unique {
		opts.SetUnique(true)
	}
	if i.expires > 0 {
		opts.SetExpireAfterSeconds(int32(i.expires / time.Second))
	}
	if partial && i.partial != nil {
		opts.SetPartialFilterExpression(i.partial)
	}
	return mongo.IndexModel{Keys: i.keys, Options: opts}
}

// createIndexes makes what is not there. An index that is there costs nothing.
func (s *Store) createIndexes(ctx context.Context) error {
	for _, index := range indexes() {
		_, err := s.database.Collection(index.collection).Indexes().CreateOne(ctx, index.model(true))
		if err != nil && index.expires > 0 && refuses(err) {
			// No query needs it.
			s.config.Logger.Warn("the server does not expire documents: what stands for dropped ones stays", "collection", index.collection)
			continue
		}
		if err != nil && index.partial != nil && refuses(err) {
			// Some imitations have no partial indexes. A whole one answers the same queries; it is only larger.
			if twin(index) {
				continue
			}
			_, err = s.database.Collection(index.collection).Indexes().CreateOne(ctx, index.model(false))
			if err == nil {
				s.config.Logger.Warn("the server has no partial indexes: a whole one takes its place", "collection", index.collection, "index", index.name)
			}
		}
		if err != nil {
			return s.indexFailed(index, err)
		}
	}
	return s.dropRetired(ctx)
}

// twin reports whether another index has the same keys and holds all documents.
func twin(of index) bool {
	return slices.ContainsFunc(indexes(), func(other index) bool {
		return other.collection == of.collection && other.partial == nil && slices.Equal(other.keys, of.keys)
	})
}

// refuses reports whether a server has no such index.
func refuses(err error) bool {
	unknown := []int{codeNotImplemented, codeCommandNotSupported, codeInvalidOptions, codeCannotCreateIndex, codeBadValue, codeFailedToParse}
	return slices.ContainsFunc(mongo.ErrorCodes(err), func(code int) bool { return slices.Contains(unknown, code) })
}

func (s *Store) indexFailed(index index, err error) error {
	codes := mongo.ErrorCodes(err)
	if len(codes) == 0 || slices.Contains(codes, codeUnauthorized) {
		return s.failed("create index "+index.name+" of "+index.collection, err)
	}
	return fmt.Errorf("mongo: %w", &IndexError{
		Database: s.database.Name(), Collection: index.collection, Index: index.name, Err: err,
		Conflict: slices.Contains(codes, codeIndexOptionsConflict) || slices.Contains(codes, codeIndexKeySpecsConflict),
	})
}
