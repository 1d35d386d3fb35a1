package mongotest

import (
	"go.mongodb.org/mongo-driver/bson"

	"github.com/tidewheel/tidewheel/store/mongo/mongotest/internal/engine"
)

var writeHandlers = map[string]handler{
	"insert":        insert,
	"update":        update,
	"delete":        remove,
	"findAndModify": findAndModify,
	"findandmodify": findAndModify,
}

// batch collects the outcome of a command with many writes.
type batch struct {
	faults  *Faults
	ordered bool
	errors  bson.A
}

// stop notes the outcome of one write and reports whether the rest is left undone.
func (b *batch) stop(index int, failure *engine.Error) bool {
	if failure == nil {
		return false
	}
	failure = b.faults.disguise(failure)
	item := bson.D{
		{Key: "index", Value: int32(index)},
		{Key: "code", Value: int32(failure.Code)},
		{Key: "errmsg", Value: failure.Message},
	}
	if failure.KeyPattern != nil {
		item = append(item, bson.E{Key: "keyPattern", Value: failure.KeyPattern}, bson.E{Key: "keyValue", Value: failure.KeyValue})
	}
	b.errors = append(b.errors, item)
	return b.ordered
}

func (b *batch) finish(reply bson.D, request *command) bson.D {
	if len(b.errors) > 0 {
		reply = append(reply, bson.E{Key: "writeErrors", Value: b.errors})
	}
	return withConcern(reply, request)
}

// withConcern adds an error for a client that wants more members to have a write than there are.
func withConcern(reply bson.D, request *command) bson.D {
	concern := (&reader{document: request.body}).object("writeConcern")
	if (&reader{document: concern}).value("w") == "majority" {
		return reply
	}
	if (&reader{document: concern}).number("w", 1) <= 1 {
		return reply
	}
	return append(reply, bson.E{Key: "writeConcernError", Value: bson.D{
		{Key: "code", Value: int32(engine.UnsatisfiableWriteConcern)},
		{Key: "codeName", Value: engine.UnsatisfiableWriteConcern.String()},
		{Key: "errmsg", Value: "Not enough data-bearing nodes"},
	}})
}

// disguise turns a duplicate key into a deadlock while that fault is on.
func (f *Faults) disguise(failure *engine.Error) *engine.Error {
	if failure.Code == engine.DuplicateKey && f.take(&f.deadlockOnDuplicate) {
		return engine.Errorf(engine.InternalError, "deadlock detected")
	}
	if failure.Code == engine.DuplicateKey && f.take(&f.conflictOnDuplicate) {
		return engine.Errorf(engine.WriteConflict, "Caused by :: Write conflict during plan execution and yielding is disabled. :: Please retry your operation.")
	}
	return failure
}

// writeBatch reads what insert, update and delete have in common.
func writeBatch(request *command, list string) (batch, []bson.D, *engine.Error) {
	fields := reader{document: request.body}
	b := batch{faults: request.server.faults, ordered: fields.flag("ordered", true)}
	items := fields.array(list)
	if fields.failure != nil {
		return b, nil, fields.failure
	}
	if len(items) == 0 || len(items) > maxWriteBatchSize {
		return b, nil, engine.Errorf(engine.BadValue, "Write batch sizes must be between 1 and %d. Got %d operations.", maxWriteBatchSize, len(items))
	}
	documents := make([]bson.D, len(items))
	for i, item := range items {
		document, ok := item.(bson.D)
		if !ok {
			return b, nil, engine.Errorf(engine.TypeMismatch, "%s.%d should be an object but is %T", list, i, item)
		}
		if collation := (&reader{document: document}).object("collation"); list != "documents" && len(collation) > 0 {
			return b, nil, engine.Errorf(engine.CommandNotSupported, "collations are not supported by this server")
		}
		documents[i] = document
	}
	return b, documents, nil
}

// target returns the collection to write to, made if need be.
func (c *command) target() (*engine.Collection, *engine.Error) {
	name, failure := c.collection()
	if failure != nil {
		return nil, failure
	}
	collection, _, failure := c.server.catalog.Ensure(c.database, name)
	return collection, failure
}

func insert(request *command) (bson.D, *engine.Error) {
	b, documents, failure := writeBatch(request, "documents")
	if failure != nil {
		return nil, failure
	}
	collection, failure := request.target()
	if failure != nil {
		return nil, failure
	}
	n := 0
	for i, document := range documents {
		failure := collection.Insert(document)
		if failure == nil {
			n++
		}
		if b.stop(i, failure) {
			break
		}
	}
	return b.finish(bson.D{{Key: "n", Value: int32(n)}}, request), nil
}

func update(request *command) (bson.D, *engine.Error) {
	b, items, failure := writeBatch(request, "updates")
	if failure != nil {
		return nil, failure
	}
	collection, failure := request.target()
	if failure != nil {
		return nil, failure
	}
	n, modified, upserted := 0, 0, bson.A{}
	for i, item := range items {
		result, failure := updateOne(collection, item)
		n += result.Matched
		modified += result.Modified
		if result.Upserted != nil {
			n++
			id, _ := engine.Field(result.Upserted, "_id")
			upserted = append(upserted, bson.D{{Key: "index", Value: int32(i)}, {Key: "_id", Value: id}})
		}
		if b.stop(i, failure) {
			break
		}
	}
	reply := bson.D{{Key: "n", Value: int32(n)}, {Key: "nModified", Value: int32(modified)}}
	if len(upserted) > 0 {
		reply = append(reply, bson.E{Key: "upserted", Value: upserted})
	}
	return b.finish(reply, request), nil
}

func updateOne(collection *engine.Collection, item bson.D) (engine.UpdateResult, *engine.Error) {
	fields := reader{document: item}
	filter := fields.filter("q")
	options := engine.UpdateOptions{
		Multi:  fields.flag("multi", false),
		Upsert: fields.flag("upsert", false),
	}
	filters := fields.array("arrayFilters")
	if len(fields.object("c")) > 0 {
		return engine.UpdateResult{}, engine.Errorf(engine.CommandNotSupported, "update constants are not supported by this server")
	}
	if fields.value("sort") != nil {
		return engine.UpdateResult{}, engine.Errorf(engine.CommandNotSupported, "sorted updates need MongoDB 8.0; this server speaks %s", Version)
	}
	if fields.failure != nil {
		return engine.UpdateResult{}, fields.failure
	}
	change, failure := engine.NewChange(fields.value("u"), filters)
	if failure != nil {
		return engine.UpdateResult{}, failure
	}
	return collection.Update(filter, change, options)
}

func remove(request *command) (bson.D, *engine.Error) {
	b, items, failure := writeBatch(request, "deletes")
	if failure != nil {
		return nil, failure
	}
	collection, failure := request.target()
	if failure != nil {
		return nil, failure
	}
	n := 0
	for i, item := range items {
		fields := reader{document: item}
		filter, limit := fields.filter("q"), fields.number("limit", 0)
		failure := fields.failure
		if failure == nil && limit != 0 && limit != 1 {
			failure = engine.Errorf(engine.FailedToParse, "The limit field in delete objects must be 0 or 1. Got %d", limit)
		}
		if failure == nil {
			var deleted []bson.D
			deleted, failure = collection.Delete(filter, nil, int(limit))
			n += len(deleted)
		}
		if b.stop(i, failure) {
			break
		}
	}
	return b.finish(bson.D{{Key: "n", Value: int32(n)}}, request), nil
}

func findAndModify(request *command) (bson.D, *engine.Error) {
	fields := reader{document: request.body}
	filter, sort := fields.filter("query"), fields.object("sort")
	removing, after, upsert := fields.flag("remove", false), fields.flag("new", false), fields.flag("upsert", false)
	filters, changeValue := fields.array("arrayFilters"), fields.value("update")
	projectionDocument := fields.object("fields")
	if fields.failure != nil {
		return nil, fields.failure
	}
	projection, failure := engine.NewProjection(projectionDocument)
	if failure != nil {
		return nil, failure
	}
	collection, failure := request.target()
	if failure != nil {
		return nil, failure
	}
	if removing {
		if changeValue != nil || after || upsert {
			return nil, engine.Errorf(engine.FailedToParse, "Cannot specify update, new or upsert with remove")
		}
		deleted, failure := collection.Delete(filter, sort, 1)
		if failure != nil {
			return nil, failure
		}
		var value bson.D
		if len(deleted) > 0 {
			value = deleted[0]
		}
		return modified(request, projection, value, bson.D{{Key: "n", Value: int32(len(deleted))}})
	}
	change, failure := engine.NewChange(changeValue, filters)
	if failure != nil {
		return nil, failure
	}
	result, failure := collection.Update(filter, change, engine.UpdateOptions{Sort: sort, Upsert: upsert})
	if failure != nil {
		return nil, request.server.faults.disguise(failure)
	}
	value, n := result.Before, result.Matched
	if after {
		value = result.After
	}
	outcome := bson.D{{Key: "updatedExisting", Value: result.Matched > 0}}
	if result.Upserted != nil {
		n = 1
		if after {
			value = result.Upserted
		}
		id, _ := engine.Field(result.Upserted, "_id")
		outcome = append(outcome, bson.E{Key: "upserted", Value: id})
	}
	return modified(request, projection, value, append(bson.D{{Key: "n", Value: int32(n)}}, outcome...))
}

func modified(request *command, projection *engine.Projection, value, outcome bson.D) (bson.D, *engine.Error) {
	reply := bson.D{{Key: "lastErrorObject", Value: outcome}}
	if value == nil {
		return withConcern(append(reply, bson.E{Key: "value", Value: nil}), request), nil
	}
	projected, failure := projection.Apply(value)
	return withConcern(append(reply, bson.E{Key: "value", Value: projected}), request), failure
}
