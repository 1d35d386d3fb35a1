package mongotest

import (
	"fmt"
	"strings"
	"time"

	"github.com/256dpi/lungo/bsonkit"
	"go.mongodb.org/mongo-driver/bson"

	"github.com/tidewheel/tidewheel/store/mongo/mongotest/internal/engine"
)

var catalogHandlers = map[string]handler{
	"create":          create,
	"drop":            drop,
	"dropDatabase":    dropDatabase,
	"listCollections": listCollections,
	"listDatabases":   listDatabases,
	"createIndexes":   createIndexes,
	"listIndexes":     listIndexes,
	"dropIndexes":     dropIndexes,
	"collMod":         collMod,
}

func create(request *command) (bson.D, *engine.Error) {
	name, failure := request.collection()
	if failure != nil {
		return nil, failure
	}
	for _, option := range []string{"capped", "timeseries", "viewOn", "validator", "clusteredIndex", "expireAfterSeconds"} {
		if value, ok := engine.Field(request.body, option); ok && value != false {
			return nil, engine.Errorf(engine.CommandNotSupported, "collections with %s are not supported by this server", option)
		}
	}
	_, made, failure := request.server.catalog.Ensure(request.database, name)
	if failure == nil && !made {
		failure = engine.Errorf(engine.NamespaceExists, "Collection %s.%s already exists.", request.database, name)
	}
	return bson.D{}, failure
}

func drop(request *command) (bson.D, *engine.Error) {
	name, failure := request.collection()
	if failure != nil {
		return nil, failure
	}
	request.server.catalog.Drop(request.database, name)
	return bson.D{{Key: "ns", Value: request.database + "." + name}}, nil
}

func dropDatabase(request *command) (bson.D, *engine.Error) {
	if request.server.catalog.DropDatabase(request.database) {
		return bson.D{{Key: "dropped", Value: request.database}}, nil
	}
	return bson.D{}, nil
}

// filtered answers with those documents that match the command's filter.
func filtered(request *command, documents []bson.D) ([]bson.D, *engine.Error) {
	fields := reader{document: request.body}
	filter := fields.filter("filter")
	if fields.failure != nil {
		return nil, fields.failure
	}
	var kept []bson.D
	for i := range documents {
		matched, failure := filter.Match(&documents[i])
		if failure != nil {
			return nil, failure
		}
		if matched {
			kept = append(kept, documents[i])
		}
	}
	return kept, nil
}

func listCollections(request *command) (bson.D, *engine.Error) {
	var documents []bson.D
	for _, name := range request.server.catalog.Collections(request.database) {
		documents = append(documents, bson.D{
			{Key: "name", Value: name},
			{Key: "type", Value: "collection"},
			{Key: "options", Value: bson.D{}},
			{Key: "info", Value: bson.D{{Key: "readOnly", Value: false}}},
		})
	}
	documents, failure := filtered(request, documents)
	if failure != nil {
		return nil, failure
	}
	at := &cursor{namespace: request.database + ".$cmd.listCollections", documents: documents}
	return request.server.cursors.reply(at, len(documents)+1, true)
}

func listDatabases(request *command) (bson.D, *engine.Error) {
	var documents []bson.D
	for _, name := range request.server.catalog.Databases() {
		documents = append(documents, bson.D{
			{Key: "name", Value: name}, {Key: "sizeOnDisk", Value: int64(0)}, {Key: "empty", Value: false},
		})
	}
	documents, failure := filtered(request, documents)
	list := bson.A{}
	for _, document := range documents {
		list = append(list, document)
	}
	return bson.D{{Key: "databases", Value: list}, {Key: "totalSize", Value: int64(0)}}, failure
}

// idleIndexOptions change nothing in memory.
var idleIndexOptions = map[string]bool{"v": true, "background": true, "ns": true}

func indexSpec(document bson.D) (engine.IndexSpec, *engine.Error) {
	fields := reader{document: document}
	spec := engine.IndexSpec{
		Name:    fields.text("name"),
		Key:     fields.object("key"),
		Unique:  fields.flag("unique", false),
		Partial: fields.object("partialFilterExpression"),
	}
	if seconds := fields.number("expireAfterSeconds", -1); seconds >= 0 {
		after := time.Duration(seconds) * time.Second
		spec.ExpireAfter = &after
	}
	if fields.failure != nil {
		return spec, fields.failure
	}
	for _, element := range document {
		switch element.Key {
		case "name", "key", "unique", "partialFilterExpression", "expireAfterSeconds":
		default:
			if !idleIndexOptions[element.Key] && element.Value != false && !empty(element.Value) {
				return spec, engine.Errorf(engine.CannotCreateIndex, "index option %s is not supported by this server", element.Key)
			}
		}
	}
	if spec.Name == "" {
		return spec, engine.Errorf(engine.FailedToParse, "The 'name' field is a required property of an index specification")
	}
	return spec, nil
}

func createIndexes(request *command) (bson.D, *engine.Error) {
	name, failure := request.collection()
	if failure != nil {
		return nil, failure
	}
	fields := reader{document: request.body}
	items := fields.array("indexes")
	if len(items) == 0 {
		return nil, engine.Errorf(engine.BadValue, "Must specify at least one index to create")
	}
	var specs []engine.IndexSpec
	for _, item := range items {
		document, _ := item.(bson.D)
		spec, failure := indexSpec(document)
		if failure != nil {
			return nil, failure
		}
		specs = append(specs, spec)
	}
	collection, made, failure := request.server.catalog.Ensure(request.database, name)
	if failure != nil {
		return nil, failure
	}
	before, added := len(collection.Indexes()), 0
	for _, spec := range specs {
		isNew, failure := collection.CreateIndex(spec)
		if failure != nil {
			return nil, failure
		}
		if isNew {
			added++
		}
	}
	reply := bson.D{
		{Key: "numIndexesBefore", Value: int32(before)},
		{Key: "numIndexesAfter", Value: int32(before + added)},
		{Key: "createdCollectionAutomatically", Value: made},
	}
	if added == 0 {
		reply = append(reply, bson.E{Key: "note", Value: "all indexes already exist"})
	}
	return reply, nil
}

func (c *command) present() (*engine.Collection, string, *engine.Error) {
	name, failure := c.collection()
	if failure != nil {
		return nil, "", failure
	}
	found := c.server.catalog.Lookup(c.database, name)
	if found == nil {
		return nil, "", engine.Errorf(engine.NamespaceNotFound, "ns does not exist: %s.%s", c.database, name)
	}
	return found, fmt.Sprintf("%s.%s", c.database, name), nil
}

func listIndexes(request *command) (bson.D, *engine.Error) {
	collection, namespace, failure := request.present()
	if failure != nil {
		return nil, failure
	}
	var documents []bson.D
	for _, spec := range collection.Indexes() {
		documents = append(documents, indexDocument(spec))
	}
	return request.server.cursors.reply(&cursor{namespace: namespace, documents: documents}, len(documents)+1, true)
}

// indexDocument is an index as clients ask for it and see it.
func indexDocument(spec engine.IndexSpec) bson.D {
	document := bson.D{{Key: "v", Value: int32(2)}, {Key: "key", Value: spec.Key}, {Key: "name", Value: spec.Name}}
	if spec.Unique && spec.Name != "_id_" {
		document = append(document, bson.E{Key: "unique", Value: true})
	}
	if spec.Partial != nil {
		document = append(document, bson.E{Key: "partialFilterExpression", Value: spec.Partial})
	}
	if spec.ExpireAfter != nil {
		document = append(document, bson.E{Key: "expireAfterSeconds", Value: int32(*spec.ExpireAfter / time.Second)})
	}
	return document
}

// indexName finds the index that a name or a key pattern means.
func indexName(collection *engine.Collection, value any) (string, *engine.Error) {
	switch value := value.(type) {
	case string:
		return value, nil
	case bson.D:
		for _, spec := range collection.Indexes() {
			if bsonkit.Compare(spec.Key, value) == 0 {
				return spec.Name, nil
			}
		}
		return "", engine.Errorf(engine.IndexNotFound, "can't find index with key: %v", value)
	}
	return "", engine.Errorf(engine.TypeMismatch, "an index is named by a string or its key")
}

func dropIndexes(request *command) (bson.D, *engine.Error) {
	collection, _, failure := request.present()
	if failure != nil {
		return nil, failure
	}
	before := len(collection.Indexes())
	asked, _ := engine.Field(request.body, "index")
	targets, many := asked.(bson.A)
	if !many {
		targets = bson.A{asked}
	}
	if asked == "*" {
		targets = nil
		for _, spec := range collection.Indexes() {
			if spec.Name != "_id_" {
				targets = append(targets, spec.Name)
			}
		}
	}
	for _, target := range targets {
		name, failure := indexName(collection, target)
		if failure != nil {
			return nil, failure
		}
		if failure := collection.DropIndex(name); failure != nil {
			return nil, failure
		}
	}
	return bson.D{{Key: "nIndexesWas", Value: int32(before)}}, nil
}

// collMod changes when a TTL index expires its documents, and nothing else.
func collMod(request *command) (bson.D, *engine.Error) {
	collection, _, failure := request.present()
	if failure != nil {
		return nil, failure
	}
	fields := reader{document: request.body}
	index := reader{document: fields.object("index")}
	seconds := index.number("expireAfterSeconds", -1)
	if len(index.document) == 0 || seconds < 0 {
		return nil, engine.Errorf(engine.CommandNotSupported, "collMod changes only an index's expireAfterSeconds on this server")
	}
	target := index.value("keyPattern")
	if name := index.text("name"); name != "" {
		target = name
	}
	name, failure := indexName(collection, target)
	if failure != nil {
		return nil, failure
	}
	return bson.D{}, collection.SetExpiry(name, time.Duration(seconds)*time.Second)
}

// faultHandlers let the client of another process use the faults, as in
// {mongotestFault: "dropAfterWrite", times: 3} and {mongotestFault: "pause", milliseconds: 500}.
var faultHandlers = map[string]handler{"mongotestFault": fault}

// slowCommand is how long each command takes while the server is slow.
const slowCommand = 200 * time.Millisecond

func fault(request *command) (bson.D, *engine.Error) {
	fields := reader{document: request.body}
	kind, times := fields.text("mongotestFault"), int(fields.number("times", 1))
	duration := time.Duration(fields.number("milliseconds", 0)) * time.Millisecond
	if fields.failure != nil {
		return nil, fields.failure
	}
	faults := request.server.faults
	counted := map[string]func(int){
		"dropBeforeWrite":        faults.DropBeforeWrite,
		"dropAfterWrite":         faults.DropAfterWrite,
		"errorAfterWrite":        faults.ErrorAfterWrite,
		"deadlockOnDuplicate":    faults.DeadlockOnDuplicate,
		"conflictOnDuplicate":    faults.ConflictOnDuplicate,
		"notPrimary":             faults.NotPrimary,
		"concernErrorAfterWrite": faults.ConcernErrorAfterWrite,
		"cutInWrite":             faults.CutInWrite,
	}
	if set, ok := counted[kind]; ok {
		set(times)
		return bson.D{}, nil
	}
	if duration <= 0 {
		return nil, engine.Errorf(engine.BadValue, "fault %q is unknown or needs milliseconds", strings.TrimSpace(kind))
	}
	switch kind {
	case "pause":
		faults.Pause()
		faults.later(duration, faults.Resume)
	case "slow":
		faults.Slow(slowCommand)
		faults.later(duration, func() { faults.Slow(0) })
	case "refuse":
		request.after = func() {
			faults.later(duration, func() {
				if err := faults.Accept(); err != nil {
					request.server.config.Logger.Error("accept again", "error", err)
				}
			})
			faults.Refuse()
		}
	default:
		return nil, engine.Errorf(engine.BadValue, "fault %q is unknown", kind)
	}
	return bson.D{}, nil
}
